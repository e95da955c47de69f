"""All populations, datasets and public tables that an owner has declared."""

from dataclasses import dataclass, replace

from tacit.core.column import Column
from tacit.core.dataset import Dataset, Link
from tacit.core.population import Population
from tacit.core.public_table import PublicTable
from tacit.core.schema import Schema
from tacit.errors import InvalidValue, UnknownName

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
