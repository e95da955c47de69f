"""A table that is about nobody: it has no unit and no budget, and may be joined to others."""

from dataclasses import dataclass

from tacit.core.dataset import Epoch, Location, ValidatedCopy
from tacit.core.schema import Schema
from tacit.errors import InvalidValue

MOST_FAN_OUT = 16
"""Rows of a public table that a join may put beside one row of a private table."""


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table whose every row the public may know, such as the regions of a country.

    That it says nothing about the people of any population is the owner's word.

    A question may join the table by its ``lookup`` columns alone. Each value of such a column
    stands in at most ``fan_out`` rows, so that a join makes no more rows of a person's row: a
    table that multiplies rows without limit would turn one person's rows into seconds, and
    time is seen. Engines look at this when they are opened, and statements keep no more rows
    than that whatever the table holds.

    Example:
        >>> from tacit.core.column import Column, Kind
        >>> regions = PublicTable(
        ...     name="regions",
        ...     schema=Schema((Column("ward", Kind.TEXT), Column("region", Kind.TEXT))),
        ...     location=Location("warehouse", ("hospital", "regions")),
        ...     epoch=Epoch("2026"),
        ...     lookup=("ward",),
        ... )
        >>> regions.schema.names
        ('ward', 'region')
    """

    name: str
    schema: Schema
    location: Location
    epoch: Epoch
    lookup: tuple[str, ...] = ()
    fan_out: int = 1
    copy: ValidatedCopy | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue("A public table needs a name.")
        for column in self.lookup:
            _ = self.schema[column]  # refuses a column that is not declared
        if not 1 <= self.fan_out <= MOST_FAN_OUT:
            raise InvalidValue(
                f"The fan_out of {self.name!r} is {self.fan_out}; it must be from 1 to "
                f"{MOST_FAN_OUT}, the most rows that a join may put beside one row."
            )
