"""A named private table of one population, and all that may be said of it in public."""

from dataclasses import dataclass

from tacit.core.column import Kind
from tacit.core.schema import Schema
from tacit.errors import InvalidValue

NAMING = (Kind.TEXT, Kind.INTEGER)
"""Kinds that a unit can be named by: those of which all engines know which are equal."""

LONGEST_NAME = 63
"""Bytes of a table's name that all engines keep; PostgreSQL cuts off what is beyond."""


@dataclass(frozen=True, slots=True)
class UnitColumn:
    """The column that names the unit a row belongs to.

    Rows where it is NULL count for nobody and are dropped. Where a unit is said to have
    ``one_row`` nothing has to be bounded, and that it has no more is an assumption, printed in
    the guarantee, unless the engine keeps the column unique.
    """

    column: str
    one_row: bool = False
    unique_by_constraint: bool = False


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
    """To how many groups of an answer one unit may contribute, with how many rows in each.

    With ``max_rows_in_all`` no more rows of a unit are looked at in all, which is fast. Without
    it all of them are, and more of a unit's groups are found.
    """

    max_groups: int
    max_rows: int
    max_rows_in_all: int | None = None

    def __post_init__(self) -> None:
        in_all = 1 if self.max_rows_in_all is None else self.max_rows_in_all
        if min(self.max_groups, self.max_rows, in_all) < 1:
            raise InvalidValue(
                f"Limits are at least 1, and max_groups={self.max_groups}, "
                f"max_rows={self.max_rows}, max_rows_in_all={self.max_rows_in_all} were given."
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
class OrderedCopy:
    """A copy of a table's rows in the order in which a unit's rows are kept.

    Each of its ``tables`` holds all rows of some of the units. The ``order`` is a public mark
    of the salt that they are ordered by, where somebody keeps it.

    Example:
        >>> OrderedCopy.of("visits", ("main",), 2, Epoch("1")).tables
        (('main', 'tacit_visits_0'), ('main', 'tacit_visits_1'))
    """

    tables: tuple[tuple[str, ...], ...]
    epoch: Epoch
    order: str | None = None

    @classmethod
    def of(cls, name: str, where: tuple[str, ...], parts: int, epoch: Epoch) -> "OrderedCopy":
        """The copy of the dataset ``name`` under a schema, of this or another database."""
        tables = tuple((*where, f"tacit_{name}_{part}") for part in range(parts))
        if parts < 1 or len(tables[-1][-1].encode()) > LONGEST_NAME:
            # names that an engine cuts off would be one table, whose units count twice
            raise InvalidValue(
                f"A copy has 1 part or more, and tables whose names have at most "
                f"{LONGEST_NAME} bytes; {parts} parts of {name!r} were given."
            )
        return cls(tables, epoch)

    @property
    def database(self) -> str | None:
        """The database that it lies in, where that is one of its own."""
        first = self.tables[0]
        return first[0] if len(first) > len(("schema", "table")) else None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A private table.

    Its population, public schema, the way to the unit, limits, place and epoch; a column that
    tells a unit's rows apart, where there is one; and an ordered copy, where there is one.

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
    row_key: str | None = None
    copy: OrderedCopy | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue("A dataset needs a name.")
        if self.row_key is not None:
            _can_name(self, self.row_key, "tells a unit's rows apart")
        if self.copy is not None:
            self._check_copy(self.copy)
        _can_name(self, self.unit.column, "leads to the unit")

    def _check_copy(self, copy: OrderedCopy) -> None:
        """Refuse a copy of other data than the dataset's, or one that nothing orders."""
        if copy.epoch != self.epoch:
            raise InvalidValue(
                f"The ordered copy of {self.name!r} is of epoch {copy.epoch.label!r}, and the "
                f"dataset of {self.epoch.label!r}; make it anew: tacit prepare {self.name}"
            )
        if self.row_key is None or not isinstance(self.unit, UnitColumn):
            raise InvalidValue(
                f"A copy of {self.name!r} is ordered by its unit and its row_key, and it has "
                "no row_key, or no column of its own that names the unit; declare them."
            )


def _can_name(dataset: Dataset, name: str, what: str) -> None:
    """Refuse a column that is not declared, or of which engines disagree what is equal."""
    column = dataset.schema[name]
    if column.kind not in NAMING:
        # NaN is one name to some engines and many to others, and bounds hold for each
        raise InvalidValue(
            f"{dataset.name}.{name} {what} and is {column.kind.value}; that is done by text or "
            "by whole numbers."
        )
