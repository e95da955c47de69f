"""How often an answer about a population was late, failed, or was run once more.

Whoever asked saw it, and it can depend on one person's row. So it is counted for the people
that a question was about, under whatever name: a population that takes the tables of another
one inherits these counts with what was spent.
"""

from typing import NamedTuple

RETRIES = 3
"""Every so many that are run once more, an owner looks."""


class Troubles(NamedTuple):
    """The counts of one population.

    Example:
        >>> Troubles(late=1, retried=4).marks
        2
        >>> Troubles(2, 1, 0) | Troubles(1, 3, 0)
        Troubles(late=2, failed=3, retried=0)
    """

    late: int = 0
    failed: int = 0
    retried: int = 0

    @property
    def marks(self) -> int:
        """How often an owner had reason to look: late, failed, and every third retry."""
        return self.late + self.failed + self.retried // RETRIES

    def plus(self, other: "Troubles") -> "Troubles":
        """Both together."""
        return Troubles(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def beyond(self, known: "Troubles") -> "Troubles":
        """The part that is not in ``known``."""
        return Troubles(*(max(mine - his, 0) for mine, his in zip(self, known, strict=True)))

    def __or__(self, other: "Troubles") -> "Troubles":
        """The larger of each."""
        return Troubles(*map(max, self, other))


NO_TROUBLES = Troubles()
