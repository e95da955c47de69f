"""The scales on which loss of privacy is counted."""

from enum import Enum


class Measure(Enum):
    """What an amount of loss means.

    One is fixed when a budget is made, because sums of it are what the proof adds up.
    """

    PURE = "epsilon"
    APPROXIMATE = "epsilon with delta"
    ZCDP = "rho with delta"

    @property
    def symbol(self) -> str:
        """The letter of its amount."""
        return "ρ" if self is Measure.ZCDP else "ε"
