"""The one-run audit: a lower bound on epsilon from a single release about many canaries.

Fair coins decide which canaries are in a table. One release is used to guess all coins, and
the number of correct guesses gives a lower bound on epsilon.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tacit.audit.lower_bound import one_run_lower_bound
from tacit.core import Budget, Loss, Release
from tacit.engines.duckdb import make_duckdb
from tacit.errors import InvalidValue
from tacit.numeric import Number, exact
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.session import open_session


@dataclass(frozen=True, slots=True)
class OneRun:
    """The number of coins that were guessed from one release, and the epsilon that it claims.

    Guarantee: a release whose loss is at most the claimed ``epsilon`` is reported as a
    violation with probability at most ``1 - confidence``.

    Example:
        >>> print(OneRun(100_000, 73_106, Fraction(1), 0.999))
        73,106 of 100,000 guessed: ε >= 0.978 at 99.9% confidence, and 1 is claimed
        >>> OneRun(100_000, 75_235, Fraction(1), 0.999).convicts
        True
    """

    people: int
    right: int
    epsilon: Fraction
    confidence: float

    @property
    def lower_bound(self) -> float:
        """The lower bound on epsilon."""
        return one_run_lower_bound(self.right, self.people, self.confidence)

    @property
    def convicts(self) -> bool:
        """Whether the lower bound is above the claimed epsilon: the guarantee is violated."""
        return self.lower_bound > self.epsilon

    def __str__(self) -> str:
        return (
            f"{self.right:,} of {self.people:,} guessed: ε >= {self.lower_bound:.3f} at "
            f"{self.confidence:.1%} confidence, and {float(self.epsilon):g} is claimed"
        )


# ------------------------------------------------------------------ canaries
# Each canary is a synthetic person with an address of their own, and a fair coin decides
# whether the canary is in the table. One question counts people by address. Each canary
# changes one public group by one, so that the released count of that group is the best
# evidence for the coin.

HOUSES = 100
"""Number of houses in a street. An address is two keys, so that few keys must be declared."""

TABLE, UNIT = "canaries", "person"
QUESTION = "SELECT street, house, COUNT(*) AS people FROM canaries GROUP BY street, house"


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """Canaries: for each synthetic person, whether the person is in the table."""

    present: NDArray[np.bool_]

    @classmethod
    def draw(cls, people: int, entropy: Entropy) -> Self:
        """Return ``people`` canaries, each of which is present by a fair coin.

        Example:
            >>> from tacit.numeric.entropy import SystemEntropy
            >>> Canaries.draw(200, SystemEntropy(b"an audit")).keys["street"]
            [0, 1]
        """
        if people < HOUSES or people % HOUSES:
            raise InvalidValue(
                f"The number of synthetic people must be a multiple of {HOUSES}, such as "
                f"100000, but {people} was given."
            )
        return cls((entropy.words(people) & np.uint64(1)).astype(np.bool_))

    @property
    def keys(self) -> dict[str, list[int]]:
        """The public keys: all streets and houses."""
        return {
            "street": list(range(self.present.size // HOUSES)),
            "house": list(range(HOUSES)),
        }

    def write(self, path: Path) -> None:
        """Write the canaries that are present to a table of a new DuckDB file."""
        make_duckdb(str(path), self._statements())

    def guess(self, release: Release, epsilon: Number, confidence: float) -> OneRun:
        """Guess from the released counts whether each canary is present.

        By the likelihood ratio, the guess is "present" if the released count is 1 or more.
        """
        streets, houses, counts = (
            np.array([int(value or 0) for value in release[name].values])
            for name in ("street", "house", "people")
        )
        guesses = np.zeros(self.present.size, dtype=np.bool_)
        guesses[streets * HOUSES + houses] = counts >= 1
        right = int(np.count_nonzero(guesses == self.present))
        return OneRun(self.present.size, right, exact(epsilon), confidence)

    def _statements(self) -> Iterator[str]:
        yield f"CREATE TABLE {TABLE} ({UNIT} BIGINT, street BIGINT, house BIGINT)"
        named = np.flatnonzero(self.present).tolist()
        yield (
            f"INSERT INTO {TABLE} SELECT p, p // {HOUSES}, p % {HOUSES} "  # noqa: S608
            f"FROM (SELECT UNNEST({named}) AS p)"
        )


# ------------------------------------------------------------------ audit of a session


def audit_session(people: int, epsilon: Number, confidence: float = 0.999) -> OneRun:
    """Run the one-run audit on one answer of a real session, with a pure epsilon budget.

    The table, the ledger and all other parts are real. They are in a temporary folder, which is
    removed afterwards.

    Example:
        >>> audit_session(1000, 1).people
        1000
    """
    canaries = Canaries.draw(people, SystemEntropy(b"a one-run audit"))
    with TemporaryDirectory(prefix="tacit-audit-") as folder:
        place = Path(folder)
        canaries.write(place / "canaries.duckdb")
        with open_session(
            str(place / "canaries.duckdb"),
            table=TABLE,
            population="made-up people",
            unit=UNIT,
            max_groups=1,
            max_rows=1,
            keys=canaries.keys,
            budget=Budget(Loss.pure(epsilon)),
            folder=place / ".tacit",
        ) as session:
            answer = session.sql(QUESTION).ask(epsilon=epsilon)
    return canaries.guess(answer, epsilon, confidence)
