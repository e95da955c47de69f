"""Numbers for the owner's eyes: they describe the data, and no mechanism takes them."""

from dataclasses import dataclass
from typing import NoReturn

from tacit.core.sensitivity import Norm
from tacit.errors import SecretMisuse


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostic:
    """A property of the very data at hand, such as a gross error sensitivity.

    It is exact, so it stays with the owner: it prints no number. And it holds for these data
    and not for their neighbours, so noise that follows it tells who is there (E03, E05, E07 of
    ``docs/privacy/errata.md``). Every mechanism asks for its sensitivity in a norm: there this
    one refuses.

    Example:
        >>> found = Diagnostic("gross error sensitivity", 1.8)
        >>> print(found)
        gross error sensitivity: a diagnostic for the owner, not a sensitivity
        >>> found.for_the_owner
        1.8
    """

    name: str
    for_the_owner: float

    def __repr__(self) -> str:
        return f"{self.name}: a diagnostic for the owner, not a sensitivity"

    __str__ = __repr__

    def in_norm(self, norm: Norm) -> NoReturn:
        """Refuse to be the sensitivity of a mechanism."""
        raise SecretMisuse(
            f"The {self.name} describes the data at hand, and a sensitivity in {norm.name} "
            "must hold for all data: noise that follows it would tell who is there. Use a "
            "mechanism of tacit.robust, such as Location, whose noise does not look at it."
        )

    def __float__(self) -> float:
        raise SecretMisuse(
            f"The {self.name} is exact, and for the owner alone; for_the_owner holds it."
        )
