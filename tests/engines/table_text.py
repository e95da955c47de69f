"""A declared table as text: its name, and its columns with the types of an engine."""

from collections.abc import Mapping

from tacit.core.catalog import Dataset, PublicTable
from tacit.core.domain import Kind


def written(table: Dataset | PublicTable, types: Mapping[Kind, str]) -> tuple[str, list[str]]:
    """The name, quoted, and each column, for CREATE TABLE."""
    columns = [f"{quoted(column.name)} {types[column.kind]}" for column in table.schema.columns]
    return ".".join(map(quoted, table.location.table)), columns


def quoted(name: str) -> str:
    """A name as it stands in a statement."""
    return '"' + name.replace('"', '""') + '"'
