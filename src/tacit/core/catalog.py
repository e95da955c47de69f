"""The public declarations about tables: datasets, public tables and the catalog.

A `Dataset` describes a private table: its columns, how its rows belong to privacy units, and
its contribution limits. A `PublicTable` describes a table about nobody. The `Catalog` holds
all of them and checks that they fit together.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date

from tacit.core.contributions import Limits, PublicMost, RowsProfile, TailAssumption
from tacit.core.domain import Column, Kind, Schema
from tacit.core.privacy_unit import Population
from tacit.errors import InvalidValue, UnknownName

NAMING = (Kind.TEXT, Kind.INTEGER)
"""Kinds of columns that can identify a unit: all engines agree on which values are equal."""

LONGEST_NAME = 63
"""Maximum length of a table name in bytes, because PostgreSQL cuts longer names."""


@dataclass(frozen=True, slots=True)
class UnitColumn:
    """The column that identifies the unit of each row.

    Rows where it is NULL belong to no unit and are dropped. If a unit is declared to have
    ``one_row``, its contributions need no further bound. A prepared copy holds one row of each
    unit. For a table that is read in place, this is an assumption, which is printed in the
    guarantee, unless the engine keeps the column unique by a constraint.
    """

    column: str
    one_row: bool = False
    unique_by_constraint: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A column that refers to ``parent_column`` of another dataset, which leads to the unit.

    If neither the engine nor a prepared copy keeps ``parent_column`` unique, its uniqueness is
    an assumption, which is printed in the guarantee.
    """

    column: str
    parent: str
    parent_column: str
    unique_by_constraint: bool = False


@dataclass(frozen=True, slots=True)
class Location:
    """The location of a table: the name of an engine, and the parts of the table's name."""

    engine: str
    table: tuple[str, ...]
    plugin: str | None = None
    """The plug-in with its version that reads the table; None for an engine of Tacit's own."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """The state of the data that an answer is about.

    The owner declares this label. It is never a hash or a time that depends on the content.
    """

    label: str


COPY = re.compile(r"tacit_.+_([0-9a-f]{16}([0-9a-f]{12})?(_\d+)?|\d+)")
"""Pattern of the names of tables that `tacit prepare` makes: parts of copies and records."""


def is_copy(table: str) -> bool:
    """Return whether the name of a table is one that `tacit prepare` gives.

    Example:
        >>> is_copy("tacit_visits_0123456789abcdef_0"), is_copy("visits")
        (True, False)
    """
    return COPY.fullmatch(table) is not None


@dataclass(frozen=True, slots=True)
class ValidatedCopy:
    """A prepared copy of a table, in which every value has its declared type or is NULL.

    Each of its ``tables`` holds all rows of some of the units. An ``ordered`` copy numbers the
    rows of each unit, so that a question can read it in one pass.

    A copy is identified by its ``declaration``, a hash of the ``facts`` under which it was
    made, and by its ``order``, a public mark of the salt of the ledger that made it. Both are
    part of its table names, so that a copy for another unit, link, epoch, declaration or
    ledger has other names. A copy that is made again has other names as well. It was ``made``
    on a day, and has no later rows. In the ``unique`` columns, no value occurs in two rows.

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
        """Return a copy of the table ``name``, in the schema ``where``."""
        ending = f"_{mark}" if mark else ""
        last = f"{ending}_{parts - 1}"
        room = LONGEST_NAME - len(f"tacit_{last}")
        if parts < 1 or (mark is None and len(name.encode()) > room):
            # two names that an engine cuts could be equal, and units would count twice
            raise InvalidValue(
                f"A copy must have 1 part or more, and table names of at most "
                f"{LONGEST_NAME} bytes, but {parts} parts of {name!r} were given."
            )
        # the mark keeps names distinct that are cut
        short = name.encode()[:room].decode(errors="ignore")
        names = (f"tacit_{short}{ending}_{part}" for part in range(parts))
        return cls(tuple((*where, each) for each in names), epoch)

    @property
    def record(self) -> tuple[str, ...]:
        """The name of the table that records what this is a copy of."""
        *where, first = self.tables[0]
        return (*where, first.rpartition("_")[0])

    @property
    def database(self) -> str | None:
        """The database of the copy, or None if it is the database of the table."""
        first = self.tables[0]
        return first[0] if len(first) > len(("schema", "table")) else None


@dataclass(frozen=True, slots=True)
class Dataset:
    """The declaration of a private table.

    It has a population, a public schema, a column or link to the unit, contribution limits, a
    location and an epoch. It may have a ``row_key``, a column that identifies the rows of a
    unit, and a prepared copy, which is read in place of the table. A table that is declared
    ``in_place`` has no copy: the guarantee then prints the assumption that no question fails,
    or takes longer, because of one person's row. Where it is public that nobody has more than
    some number of rows, ``most_rows`` says so. A ``profile`` says how many people were measured
    to have more rows than a limit, and ``tail`` is an assumption about how many more.

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
    most_rows: PublicMost | None = None
    profile: RowsProfile | None = None
    tail: TailAssumption | None = None
    min_people: int | None = None
    """The least number of people in a cell of an answer, which is otherwise left empty."""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidValue("A dataset needs a name, such as 'visits'.")
        if self.min_people is not None and self.min_people < 1:
            raise InvalidValue(
                f"The least number of people in a cell of {self.name!r} must be 1 or more; "
                f"{self.min_people} was given."
            )
        if self.row_key is not None:
            _can_name(self, self.row_key, "identifies the rows of a unit")
        if self.copy is not None:
            self._check_copy(self.copy)
        _can_name(self, self.unit.column, "leads to the unit")

    def _check_copy(self, copy: ValidatedCopy) -> None:
        """Raise for a copy of another epoch, or an ordered copy without a row key."""
        if copy.epoch != self.epoch:
            raise InvalidValue(
                f"The copy of {self.name!r} is of epoch {copy.epoch.label!r}, but the dataset "
                f"is of epoch {self.epoch.label!r}. Make the copy again: "
                f"tacit prepare {self.name}"
            )
        if self.in_place:
            raise InvalidValue(
                f"{self.name!r} is declared in_place, but it has a copy. Remove in_place, or "
                f"drop the copy: tacit prepare {self.name} --drop"
            )
        if copy.ordered and (self.row_key is None or not isinstance(self.unit, UnitColumn)):
            raise InvalidValue(
                f"The copy of {self.name!r} is ordered by its unit and its row_key, but the "
                "dataset has no row_key, or no column that identifies the unit. Declare them."
            )


def keeps_order(dataset: Dataset) -> bool:
    """Return whether a copy of ``dataset`` is ordered.

    The unit must have its own column and several rows, and there must be a row key and a limit
    on all rows of a unit.
    """
    way = dataset.unit
    bounded = isinstance(way, UnitColumn) and not way.one_row
    return (
        bounded and dataset.row_key is not None and dataset.limits.max_rows_in_all is not None
    )


def kept_unique(dataset: Dataset, linked: Collection[str]) -> tuple[str, ...]:
    """Return the columns in which a copy of ``dataset`` holds each value only once.

    They are the unit's column, if a unit has one row, and the one column that links of other
    tables refer to. A unit with one row has one such key. It can share it only with one other
    unit, and leaving out both changes an answer by the contribution of one unit. With several
    linked columns, a unit could share keys with many others; then nothing is left out for them.

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
    """Raise for a column that is not declared, or whose kind cannot identify rows or units."""
    column = dataset.schema[name]
    if column.kind not in NAMING:
        # Some engines take all NaN as equal and some do not, and limits apply to each value.
        raise InvalidValue(
            f"{dataset.name}.{name} {what}, so it must hold text or whole numbers, but it is "
            f"declared as {column.kind.value}."
        )


# ------------------------------------------------------------------ public table

MOST_FAN_OUT = 16
"""Maximum number of rows of a public table that a join may add to one private row."""


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table whose every row may be public, such as the regions of a country.

    It has no unit and no budget. The owner is responsible that it says nothing about the people
    of any population.

    A question may join the table only by its ``lookup`` columns. Each value of such a column
    occurs in at most ``fan_out`` rows, which limits the number of rows that a join makes from
    one person's row. Without this limit, the time of a question could reveal one person's rows.
    Engines check the limit when they are opened, and statements enforce it.

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
            raise InvalidValue("A public table needs a name, such as 'regions'.")
        for column in self.lookup:
            _ = self.schema[column]  # raises if it is not declared
        if not 1 <= self.fan_out <= MOST_FAN_OUT:
            raise InvalidValue(
                f"The fan_out of {self.name!r} is {self.fan_out}; it must be from 1 to "
                f"{MOST_FAN_OUT}, the most rows that a join may add to one row."
            )


# ------------------------------------------------------------------ catalog

RESERVED = "below"
"""Name that plans use for the rows of an aggregating subquery."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """All populations, datasets and public tables that the owners have declared.

    It is public: it holds declarations, and nothing that was learned from data.

    Guarantee: every dataset belongs to a declared population, and its links lead to the unit
    without a cycle, inside that population.
    """

    populations: tuple[Population, ...]
    datasets: tuple[Dataset, ...]
    public: tuple[PublicTable, ...] = ()

    def __post_init__(self) -> None:
        for names in ([p.name for p in self.populations], [t.name for t in self.tables]):
            if len(set(names)) != len(names):
                raise InvalidValue(
                    f"Names must be distinct; the given names are {', '.join(names)}."
                )
        for table in self.tables:
            if "." in table.name or table.name == RESERVED:
                # a column is called table.column, and a column of a subquery below.column
                raise InvalidValue(
                    f"{table.name!r} cannot be the name of a table: a name must not contain a "
                    f"dot, and must not be {RESERVED!r}."
                )
        naming: dict[str, Column] = {}
        for dataset in self.datasets:
            self.population(dataset.population)
            last = self.path_to_unit(dataset.name)[-1]
            unit = last.schema[last.unit.column]
            if naming.setdefault(dataset.population, unit).kind is not unit.kind:
                raise InvalidValue(
                    f"The units of {dataset.population!r} are identified by text in one "
                    "dataset and by whole numbers in another. Use the same kind in all."
                )

    def population(self, name: str | None) -> Population:
        """Return the population of that name, or the only population if no name is given."""
        if name is None and len(self.populations) == 1:
            return self.populations[0]
        for population in self.populations:
            if population.name == name:
                return population
        known = ", ".join(population.name for population in self.populations)
        if name is None:
            raise InvalidValue(f"Name the population; there are: {known}.")
        raise UnknownName(f"There is no population {name!r}; there are: {known}.")

    def dataset(self, name: str) -> Dataset:
        """Return the dataset of that name."""
        for dataset in self.datasets:
            if dataset.name == name:
                return dataset
        if self.is_public(name):
            raise InvalidValue(
                f"{name!r} is a public table, and not a dataset. Query it in its own database, "
                "or join it to a dataset, which must come first."
            )
        known = ", ".join(dataset.name for dataset in self.datasets)
        raise UnknownName(f"There is no dataset {name!r}; there are: {known}.")

    @property
    def tables(self) -> tuple[Dataset | PublicTable, ...]:
        """All datasets and public tables."""
        return (*self.datasets, *self.public)

    def with_tables(self, *changed: Dataset | PublicTable) -> "Catalog":
        """Return a catalog in which these tables replace the tables of the same names."""
        private = {each.name: each for each in changed if isinstance(each, Dataset)}
        public = {each.name: each for each in changed if isinstance(each, PublicTable)}
        return replace(
            self,
            datasets=tuple(private.get(each.name, each) for each in self.datasets),
            public=tuple(public.get(each.name, each) for each in self.public),
        )

    def is_public(self, name: str) -> bool:
        """Return whether there is a public table of that name."""
        return any(table.name == name for table in self.public)

    def table(self, name: str) -> Dataset | PublicTable:
        """Return the dataset or the public table of that name."""
        found = (table for table in self.public if table.name == name)
        return next(found, None) or self.dataset(name)

    def as_if_unknown(self, name: str, column: str) -> "Catalog":
        """Return a catalog without the bounds and the keys of one column."""
        dataset = self.dataset(name)
        bare = replace(dataset.schema[column], bounds=None, keys=None)
        columns = tuple(bare if c.name == column else c for c in dataset.schema.columns)
        changed = replace(dataset, schema=Schema(columns))
        datasets = tuple(changed if each is dataset else each for each in self.datasets)
        return replace(self, datasets=datasets)

    def with_limits(self, name: str, limits: Limits) -> "Catalog":
        """Return a catalog in which one dataset has other limits, and no profile."""
        return self.with_tables(replace(self.dataset(name), limits=limits, profile=None))

    def epochs_of(self, name: str) -> str:
        """Return the epochs of a dataset and of the tables on its path to the unit.

        It is one label if all have the same one.
        """
        labels = [each.epoch.label for each in self.path_to_unit(name)]
        return labels[0] if len(set(labels)) == 1 else " / ".join(labels)

    def without_profiles(self) -> "Catalog":
        """Return a catalog without profiles, for rows that arrive after these were measured."""
        return self.with_tables(*map(_without_profiles, self.datasets))

    def without_rules(self) -> "Catalog":
        """Return a catalog in which all cells are shown, for the estimates of an owner."""
        return self.with_tables(*(replace(each, min_people=None) for each in self.datasets))

    def linked_columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of ``name`` that links of other datasets refer to, sorted."""
        links = [each.unit for each in self.datasets if isinstance(each.unit, Link)]
        return tuple(sorted({way.parent_column for way in links if way.parent == name}))

    def path_to_unit(self, name: str) -> tuple[Dataset, ...]:
        """Return the datasets from ``name`` to the one with the unit's column, inclusive."""
        path = [self.dataset(name)]
        while isinstance(path[-1].unit, Link):
            link, child = path[-1].unit, path[-1]
            parent = self.dataset(link.parent)
            above = parent.schema[link.parent_column]  # raises if it is not declared
            if above.kind is not child.schema[link.column].kind:
                # an engine would cast one to the other, and fail on some rows
                raise InvalidValue(
                    f"{child.name}.{link.column} links to {parent.name}.{above.name}, which is "
                    f"{above.kind.value}; the two columns of a link must be of the same kind."
                )
            if parent in path:
                raise InvalidValue(
                    f"The links of {name!r} form a cycle through {parent.name!r}."
                )
            if parent.population != child.population:
                raise InvalidValue(
                    f"{child.name!r} of {child.population!r} links to {parent.name!r} "
                    f"of {parent.population!r}; linked tables must be in one population."
                )
            path.append(parent)
        return tuple(path)


def _without_profiles(dataset: Dataset) -> Dataset:
    columns = tuple(replace(each, total_profile=None) for each in dataset.schema.columns)
    return replace(dataset, profile=None, schema=Schema(columns))
