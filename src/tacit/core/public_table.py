"""A table that is about nobody: it has no unit and no budget, and may be joined to others."""

from dataclasses import dataclass

from tacit.core.dataset import Epoch, Location, ValidatedCopy
from tacit.core.schema import Schema
from tacit.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table whose every row the public may know, such as the regions of a country.

    That it says nothing about the people of any population is the owner's word. It is read with
    the private tables beside it, and so never before a charge.

    Example:
        >>> from tacit.core.column import Column, Kind
        >>> regions = PublicTable(
        ...     name="regions",
        ...     schema=Schema((Column("ward", Kind.TEXT), Column("region", Kind.TEXT))),
        ...     location=Location("warehouse", ("hospital", "regions")),
        ...     epoch=Epoch("2026"),
        ... )
        >>> regions.schema.names
        ('ward', 'region')
    """

    name: str
    schema: Schema
    location: Location
    epoch: Epoch
    copy: ValidatedCopy | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue("A public table needs a name.")
