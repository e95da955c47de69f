"""A part of the units: which fold a unit is in is a function of its own name and a salt."""

from dataclasses import dataclass

from tacit.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class Fold:
    """The units of one of ``folds`` parts, counted from 0 on, or those ``outside`` of it.

    Guarantee: a unit is in one fold, with all its rows, whoever else is in the table: with it,
    nothing changes inside of other folds, nor outside of its own.

    Example:
        >>> Fold(4, 5).others
        Fold(number=4, folds=5, outside=True)
    """

    number: int
    folds: int
    outside: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.folds or self.folds < 2:  # noqa: PLR2004 - parts
            raise InvalidValue(
                f"There are 2 folds or more, counted from 0 on, and fold {self.number} of "
                f"{self.folds} was given."
            )

    @property
    def others(self) -> "Fold":
        """All units that are not in it."""
        return Fold(self.number, self.folds, not self.outside)
