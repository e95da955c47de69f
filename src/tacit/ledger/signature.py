"""Who did something to a budget, and when."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signature:
    """An owner's name, as the caller has verified it, and the time in milliseconds."""

    by: str
    at: int
