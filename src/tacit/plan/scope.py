"""Which columns can be named: those of the datasets that a question reads, or its answer's."""

from dataclasses import dataclass, replace

from tacit.core.catalog import Catalog
from tacit.core.column import Column
from tacit.core.schema import Schema
from tacit.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Scope(Schema):
    """Columns under the names that engines know them by, dataset.column.

    A column is found by that name, or by its own where no other dataset has one of that name.
    """

    def __getitem__(self, name: str) -> Column:
        found = [
            column
            for column in self.columns
            if column.name == name or column.name.partition(".")[2] == name
        ]
        if len(found) == 1:
            return found[0]
        if found:
            choices = ", ".join(column.name for column in found)
            raise UnknownName(f"{name!r} can be any of {choices}; write which.")
        known = ", ".join(column.name for column in self.columns)
        raise UnknownName(f"There is no column {name!r}; there are {known}.")


@dataclass(frozen=True, slots=True)
class Released(Schema):
    """Columns that were released: what is computed of them looks at nothing else."""


def scope_of(names: tuple[str, ...], catalog: Catalog) -> Scope:
    """The columns of the tables ``names``."""
    return Scope(
        tuple(
            replace(column, name=f"{name}.{column.name}")
            for name in names
            for column in catalog.table(name).schema.columns
        )
    )
