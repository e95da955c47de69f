"""A named private table of one population, and all that may be said of it in public."""

from dataclasses import dataclass

from tacit.core.column import Kind
from tacit.core.schema import Schema
from tacit.errors import InvalidValue

NAMING = (Kind.TEXT, Kind.INTEGER)
"""Kinds that a unit can be named by: those of which all engines know which are equal."""


@dataclass(frozen=True, slots=True)
class UnitColumn:
    """The column that names the unit a row belongs to.

    Rows where it is NULL count for nobody and are dropped.
    """

    column: str


@dataclass(frozen=True, slots=True)
class Link:
    """A column that leads to the unit by way of ``parent_column`` of another dataset.

    Where the engine itself does not keep ``parent_column`` unique, that it is becomes an
    assumption, printed in the guarantee.
    """

    column: str
    parent: str
    parent_column: str
    unique_by_constraint: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """To how many groups of an answer one unit may contribute, with how many rows in each."""

    max_groups: int
    max_rows: int

    def __post_init__(self) -> None:
        if self.max_groups < 1 or self.max_rows < 1:
            raise InvalidValue(
                "Limits are at least 1, and "
                f"max_groups={self.max_groups}, max_rows={self.max_rows} were given."
            )


@dataclass(frozen=True, slots=True)
class Location:
    """Where a table lives: an engine's name, and the table's own there, part by part."""

    engine: str
    table: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Epoch:
    """Which state of the data an answer speaks of.

    The owner declares this label; it is never a hash or a time of the content.
    """

    label: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A private table.

    Its population, public schema, the way to the unit, limits, place and epoch.

    Example:
        >>> from tacit.core.column import Column, Kind
        >>> visits = Dataset(
        ...     name="visits",
        ...     population="patients",
        ...     schema=Schema((Column("patient", Kind.TEXT), Column("ward", Kind.TEXT))),
        ...     unit=UnitColumn("patient"),
        ...     limits=Limits(max_groups=3, max_rows=10),
        ...     location=Location("warehouse", ("hospital", "visits")),
        ...     epoch=Epoch("2026-W46"),
        ... )
        >>> visits.schema.names
        ('patient', 'ward')
    """

    name: str
    population: str
    schema: Schema
    unit: UnitColumn | Link
    limits: Limits
    location: Location
    epoch: Epoch

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue("A dataset needs a name.")
        column = self.schema[self.unit.column]  # refuses a column that is not declared
        if column.kind not in NAMING:
            # NaN is one name to some engines and many to others, and bounds hold for each
            raise InvalidValue(
                f"{self.name}.{column.name} leads to the unit and is {column.kind.value}; "
                "units are named by text or by whole numbers."
            )
