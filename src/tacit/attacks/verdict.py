"""What a measured success means, in words."""

from enum import Enum


class Verdict(Enum):
    """How an attack ended, from the reader's side."""

    TOLD = "tells nearly everything"
    LEAKS = "tells more than a guess"
    HELD = "tells no more than the guarantee allows"
    GUESS = "no better than a guess"
    BROKEN = "tells more than the guarantee allows"
    FACT = "true with or without you: no privacy prevents it"

    @property
    def good(self) -> bool:
        """Whether a person in the data has nothing to complain of."""
        return self in {Verdict.HELD, Verdict.GUESS}
