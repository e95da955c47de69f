"""What one release shows of the loss that was claimed for it."""

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
    """How many coins of made-up people were guessed from one release, beside its claim.

    Guarantee: a release of no more than the ``epsilon`` claimed is convicted with probability
    ``1 - confidence`` at most.

    Example:
        >>> print(OneRun(100_000, 73_106, Fraction(1), 0.999))
        73,106 of 100,000 guessed: ε >= 0.978 with 99.9%, and 1 is claimed
        >>> OneRun(100_000, 75_235, Fraction(1), 0.999).convicts
        True
    """

    people: int
    right: int
    epsilon: Fraction
    confidence: float

    @property
    def lower_bound(self) -> float:
        """The epsilon that the guesses show at least."""
        return one_run_lower_bound(self.right, self.people, self.confidence)

    @property
    def convicts(self) -> bool:
        """Whether more is lost than was claimed."""
        return self.lower_bound > self.epsilon

    def __str__(self) -> str:
        return (
            f"{self.right:,} of {self.people:,} guessed: ε >= {self.lower_bound:.3f} with "
            f"{self.confidence:.1%}, and {float(self.epsilon):g} is claimed"
        )


# ------------------------------------------------------------------ canaries
# Made-up people, each at an address of their own, of whom fair coins put half in a table.
#
# One question counts who lives where, so each person moves one public group by one, and what
# is released about it tells their coin as well as anything can.

HOUSES = 100
"""In a street: public keys are a product, so that a hundred thousand are soon declared."""

TABLE, UNIT = "canaries", "person"
QUESTION = "SELECT street, house, COUNT(*) AS people FROM canaries GROUP BY street, house"


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """For each made-up person, whether they are in the table."""

    present: NDArray[np.bool_]

    @classmethod
    def drawn(cls, people: int, entropy: Entropy) -> Self:
        """So many people, each there or not by a fair coin.

        Example:
            >>> from tacit.numeric.entropy import SystemEntropy
            >>> Canaries.drawn(200, SystemEntropy(b"an audit")).keys["street"]
            [0, 1]
        """
        if people < HOUSES or people % HOUSES:
            raise InvalidValue(
                f"Made-up people live {HOUSES} to a street: 100000 are a good number, and "
                f"{people} were asked for."
            )
        return cls((entropy.words(people) & np.uint64(1)).astype(np.bool_))

    @property
    def keys(self) -> dict[str, list[int]]:
        """All addresses, which are public."""
        return {
            "street": list(range(self.present.size // HOUSES)),
            "house": list(range(HOUSES)),
        }

    def write(self, path: Path) -> None:
        """Those who are there, as a table of a new DuckDB file."""
        make_duckdb(str(path), self._statements())

    def guessed(self, release: Release, epsilon: Number, confidence: float) -> OneRun:
        """Whether each is there, guessed from what was released about their address.

        The guess is that of the likelihood ratio: one person or more is somebody.
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


# ------------------------------------------------------------------ through session
# The one-run audit through the one door: a session over made-up people, and one question.


def audit_session(people: int, epsilon: Number, confidence: float = 0.999) -> OneRun:
    """What one answer of a session shows of the pure epsilon that its budget promises.

    The table, the ledger and all else are real, in a folder that is gone afterwards.

    Example:
        >>> audit_session(1000, 1).people
        1000
    """
    canaries = Canaries.drawn(people, SystemEntropy(b"a one-run audit"))
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
    return canaries.guessed(answer, epsilon, confidence)
