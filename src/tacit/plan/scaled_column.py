"""A column less a mean, in units of a deviation, both of which were released before."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from tacit.core.bounds import Bounds
from tacit.core.column import Column, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledColumn(Column):
    """What a model sees of a column after a scaler: no bounds are declared of it.

    ``within`` are the public bounds of the column itself.

    Example:
        >>> age = Column("age", Kind.INTEGER)
        >>> ScaledColumn.of(age, Bounds.of(0, 120), Fraction(40), Fraction(20)).bounds is None
        True
    """

    own: Column
    within: Bounds
    mean: Fraction
    scale: Fraction

    @classmethod
    def of(cls, own: Column, within: Bounds, mean: Fraction, scale: Fraction) -> Self:
        """``own``, whose values lie ``within`` bounds, less a mean and divided by a scale."""
        return cls(own.name, Kind.FLOAT, own=own, within=within, mean=mean, scale=scale)
