"""A named private table of one population, and all that may be said of it in public."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date

from tacit.core.domain import Column, Kind, Schema
from tacit.core.privacy_unit import Population
from tacit.errors import InvalidValue, UnknownName

NAMING = (Kind.TEXT, Kind.INTEGER)
"""Kinds that a unit can be named by: those of which all engines know which are equal."""

LONGEST_NAME = 63
"""Bytes of a table's name that all engines keep; PostgreSQL cuts off what is beyond."""


@dataclass(frozen=True, slots=True)
class UnitColumn:
    """The column that names the unit a row belongs to.

    Rows where it is NULL count for nobody and are dropped. Where a unit is said to have
    ``one_row`` nothing has to be bounded. A validated copy holds one row of each unit; where a
    table is read in place, that it has no more is an assumption, printed in the guarantee,
    unless the engine keeps the column unique.
    """

    column: str
    one_row: bool = False
    unique_by_constraint: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A column that leads to the unit by way of ``parent_column`` of another dataset.

    Where neither the engine itself nor a validated copy keeps ``parent_column`` unique, that it
    is becomes an assumption, printed in the guarantee.
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
    plugin: str | None = None
    """The plug-in with its version that reads the table; None for an engine of Tacit's own."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """Which state of the data an answer speaks of.

    The owner declares this label; it is never a hash or a time of the content.
    """

    label: str


COPY = re.compile(r"tacit_.+_([0-9a-f]{16}([0-9a-f]{12})?(_\d+)?|\d+)")
"""Names of tables that `tacit prepare` makes: parts of copies, and what is written of them."""


def is_copy(table: str) -> bool:
    """Whether a table is called as `tacit prepare` calls those that it makes.

    Example:
        >>> is_copy("tacit_visits_0123456789abcdef_0"), is_copy("visits")
        (True, False)
    """
    return COPY.fullmatch(table) is not None


@dataclass(frozen=True, slots=True)
class ValidatedCopy:
    """A copy of a table in which every value is of its declared type, in range, or NULL.

    Each of its ``tables`` holds all rows of some of the units. An ``ordered`` copy says of each
    row which of its unit's rows it is, so that a question reads it in one pass.

    Whose copy it is follows from its ``declaration``, a digest of the ``facts`` that it was
    made by, and from its ``order``, a public mark of the salt of the ledger that made it. Both
    are part of its tables' names, so that a copy of another unit, link, epoch, declaration or
    maker is another table; and so is a copy of the same that is made again. It was ``made`` on
    a day: of later ones it knows nothing. Of the ``unique`` columns no value is in two of its
    rows, whatever the table holds.

    Example:
        >>> ValidatedCopy.of("visits", ("main",), 2, Epoch("1")).tables
        (('main', 'tacit_visits_0'), ('main', 'tacit_visits_1'))
    """

    tables: tuple[tuple[str, ...], ...]
    epoch: Epoch
    order: str | None = None
    declaration: str | None = None
    ordered: bool = True
    facts: tuple[str, ...] = ()
    made: date | None = None
    unique: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        where: tuple[str, ...],
        parts: int,
        epoch: Epoch,
        mark: str | None = None,
    ) -> "ValidatedCopy":
        """The copy of the table ``name`` under a schema, of this or another database."""
        ending = f"_{mark}" if mark else ""
        last = f"{ending}_{parts - 1}"
        room = LONGEST_NAME - len(f"tacit_{last}")
        if parts < 1 or (mark is None and len(name.encode()) > room):
            # names that an engine cuts off would be one table, whose units count twice
            raise InvalidValue(
                f"A copy has 1 part or more, and tables whose names have at most "
                f"{LONGEST_NAME} bytes; {parts} parts of {name!r} were given."
            )
        # the mark tells names apart that are cut
        short = name.encode()[:room].decode(errors="ignore")
        names = (f"tacit_{short}{ending}_{part}" for part in range(parts))
        return cls(tuple((*where, each) for each in names), epoch)

    @property
    def record(self) -> tuple[str, ...]:
        """The table beside its parts that says what it is a copy of."""
        *where, first = self.tables[0]
        return (*where, first.rpartition("_")[0])

    @property
    def database(self) -> str | None:
        """The database that it lies in, where that is one of its own."""
        first = self.tables[0]
        return first[0] if len(first) > len(("schema", "table")) else None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A private table.

    Its population, public schema, the way to the unit, limits, place and epoch; a column that
    tells a unit's rows apart, where there is one; and a copy that is read in its place, where
    there is one. A table that is said to be served ``in_place`` has none: the guarantee then
    prints the assumption that no question fails, or takes longer, by one person's row.

    Example:
        >>> from tacit.core.domain import Column, Kind
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
    copy: ValidatedCopy | None = None
    in_place: bool = False

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue("A dataset needs a name.")
        if self.row_key is not None:
            _can_name(self, self.row_key, "tells a unit's rows apart")
        if self.copy is not None:
            self._check_copy(self.copy)
        _can_name(self, self.unit.column, "leads to the unit")

    def _check_copy(self, copy: ValidatedCopy) -> None:
        """Refuse a copy of other data, or an ordered one that nothing orders."""
        if copy.epoch != self.epoch:
            raise InvalidValue(
                f"The copy of {self.name!r} is of epoch {copy.epoch.label!r}, and the dataset "
                f"of {self.epoch.label!r}; make it anew: tacit prepare {self.name}"
            )
        if self.in_place:
            raise InvalidValue(
                f"{self.name!r} is said to be read in place, and has a copy; take in_place "
                f"out, or drop the copy: tacit prepare {self.name} --drop"
            )
        if copy.ordered and (self.row_key is None or not isinstance(self.unit, UnitColumn)):
            raise InvalidValue(
                f"The copy of {self.name!r} is ordered by its unit and its row_key, and it has "
                "no row_key, or no column of its own that names the unit; declare them."
            )


def keeps_order(dataset: Dataset) -> bool:
    """Whether a copy of ``dataset`` is ordered: by whom, by what, and up to how many rows."""
    way = dataset.unit
    bounded = isinstance(way, UnitColumn) and not way.one_row
    return (
        bounded and dataset.row_key is not None and dataset.limits.max_rows_in_all is not None
    )


def kept_unique(dataset: Dataset, linked: Collection[str]) -> tuple[str, ...]:
    """The columns of which a copy of ``dataset`` holds each value in one row.

    These are the unit's, where it has one row, and the one that other tables are linked by. A
    unit with one row has one such key, and can share it with the rows of one other unit alone:
    leaving out both moves an answer by what one unit contributes. With more rows or more linked
    columns it could share keys with many, and nothing is left out.

    Example:
        >>> from tacit.core.domain import Column, Kind
        >>> columns = Schema((Column("who", Kind.TEXT), Column("id", Kind.INTEGER)))
        >>> place, epoch = Location("here", ("people",)), Epoch("1")
        >>> unit, limits = UnitColumn("who", one_row=True), Limits(1, 1)
        >>> people = Dataset("people", "all", columns, unit, limits, place, epoch)
        >>> kept_unique(people, ["id"]), kept_unique(people, ["id", "who"])
        (('who', 'id'), ('who', 'id'))
    """
    way = dataset.unit
    if not isinstance(way, UnitColumn) or not way.one_row:
        return ()
    others = tuple(sorted({*linked} - {way.column}))
    return (way.column, *(others if len(others) == 1 else ()))


def _can_name(dataset: Dataset, name: str, what: str) -> None:
    """Refuse a column that is not declared, or of which engines disagree what is equal."""
    column = dataset.schema[name]
    if column.kind not in NAMING:
        # NaN is one name to some engines and many to others, and bounds hold for each
        raise InvalidValue(
            f"{dataset.name}.{name} {what} and is {column.kind.value}; that is done by text or "
            "by whole numbers."
        )


# ------------------------------------------------------------------ public table
# A table that is about nobody: it has no unit and no budget, and may be joined to others.

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
        >>> from tacit.core.domain import Column, Kind
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


# ------------------------------------------------------------------ catalog
# All populations, datasets and public tables that an owner has declared.

RESERVED = "below"
"""What questions call the rows of a query below that aggregates."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """What may be asked about.

    It is public: it holds what the owner declared, and nothing learned from data.

    Guarantee: every dataset belongs to a declared population, and its way to the unit ends,
    inside that population.
    """

    populations: tuple[Population, ...]
    datasets: tuple[Dataset, ...]
    public: tuple[PublicTable, ...] = ()

    def __post_init__(self) -> None:
        for names in ([p.name for p in self.populations], [t.name for t in self.tables]):
            if len(set(names)) != len(names):
                raise InvalidValue(f"Names are distinct; these are {', '.join(names)}.")
        for table in self.tables:
            if "." in table.name or table.name == RESERVED:
                # columns are called table.column, and those of a query below below.column
                raise InvalidValue(
                    f"A table is called {table.name!r}; names have no dot, and are not "
                    f"{RESERVED!r}."
                )
        naming: dict[str, Column] = {}
        for dataset in self.datasets:
            self.population(dataset.population)
            last = self.path_to_unit(dataset.name)[-1]
            unit = last.schema[last.unit.column]
            if naming.setdefault(dataset.population, unit).kind is not unit.kind:
                raise InvalidValue(
                    f"The units of {dataset.population!r} are named by text in one dataset and "
                    "by whole numbers in another; name them in one way."
                )

    def population(self, name: str | None) -> Population:
        """The population of that name; without a name, the only one."""
        if name is None and len(self.populations) == 1:
            return self.populations[0]
        for population in self.populations:
            if population.name == name:
                return population
        known = ", ".join(population.name for population in self.populations)
        if name is None:
            raise InvalidValue(f"Say which population it is about; there are: {known}.")
        raise UnknownName(f"There is no population {name!r}; there are: {known}.")

    def dataset(self, name: str) -> Dataset:
        """The dataset of that name."""
        for dataset in self.datasets:
            if dataset.name == name:
                return dataset
        if self.is_public(name):
            raise InvalidValue(
                f"{name!r} is a public table, with nobody to protect: ask the database that "
                "holds it, or join it to a dataset, which comes first."
            )
        known = ", ".join(dataset.name for dataset in self.datasets)
        raise UnknownName(f"There is no dataset {name!r}; there are: {known}.")

    @property
    def tables(self) -> tuple[Dataset | PublicTable, ...]:
        """All that may be read: datasets and public tables."""
        return (*self.datasets, *self.public)

    def with_tables(self, *changed: Dataset | PublicTable) -> "Catalog":
        """The same, with these tables in place of those of their names."""
        private = {each.name: each for each in changed if isinstance(each, Dataset)}
        public = {each.name: each for each in changed if isinstance(each, PublicTable)}
        return replace(
            self,
            datasets=tuple(private.get(each.name, each) for each in self.datasets),
            public=tuple(public.get(each.name, each) for each in self.public),
        )

    def is_public(self, name: str) -> bool:
        """Whether a public table is called so."""
        return any(table.name == name for table in self.public)

    def table(self, name: str) -> Dataset | PublicTable:
        """The dataset or the public table of that name."""
        found = (table for table in self.public if table.name == name)
        return next(found, None) or self.dataset(name)

    def as_if_unknown(self, name: str, column: str) -> "Catalog":
        """The same, with nothing known of the values of one column."""
        dataset = self.dataset(name)
        bare = replace(dataset.schema[column], bounds=None, keys=None)
        columns = tuple(bare if c.name == column else c for c in dataset.schema.columns)
        changed = replace(dataset, schema=Schema(columns))
        datasets = tuple(changed if each is dataset else each for each in self.datasets)
        return replace(self, datasets=datasets)

    def linked_columns(self, name: str) -> tuple[str, ...]:
        """The columns of ``name`` that links of other datasets lead to, in order."""
        links = [each.unit for each in self.datasets if isinstance(each.unit, Link)]
        return tuple(sorted({way.parent_column for way in links if way.parent == name}))

    def path_to_unit(self, name: str) -> tuple[Dataset, ...]:
        """The datasets from ``name`` to the one whose rows name the unit, both included."""
        path = [self.dataset(name)]
        while isinstance(path[-1].unit, Link):
            link, child = path[-1].unit, path[-1]
            parent = self.dataset(link.parent)
            above = parent.schema[link.parent_column]  # refuses a column that is not declared
            if above.kind is not child.schema[link.column].kind:
                # an engine would cast one to the other, and fail on some rows
                raise InvalidValue(
                    f"{child.name}.{link.column} links to {parent.name}.{above.name}, which is "
                    f"{above.kind.value}; the two ends of a link are of one kind."
                )
            if parent in path:
                raise InvalidValue(
                    f"The links of {name!r} lead in a circle through {parent.name!r}."
                )
            if parent.population != child.population:
                raise InvalidValue(
                    f"{child.name!r} of {child.population!r} links to {parent.name!r} "
                    f"of {parent.population!r}; tables of the same people share one population."
                )
            path.append(parent)
        return tuple(path)
