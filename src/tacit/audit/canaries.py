"""Made-up people, each at an address of their own, of whom fair coins put half in a table.

One question counts who lives where, so each person moves one public group by one, and what is
released about it tells their coin as well as anything can.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tacit.audit.one_run import OneRun
from tacit.core.release import Release
from tacit.engines.duckdb import make_duckdb
from tacit.errors import InvalidValue
from tacit.numeric.entropy import Entropy
from tacit.numeric.exact import Number, exact

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
