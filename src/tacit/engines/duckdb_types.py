"""Which types of DuckDB may stand behind a kind: those for which nothing printed fails."""

import re
from collections.abc import Mapping

from tacit.core.column import Kind
from tacit.core.dataset import Dataset
from tacit.core.public_table import PublicTable
from tacit.errors import InvalidValue

TYPES: dict[Kind, re.Pattern[str]] = {
    Kind.BOOLEAN: re.compile("BOOLEAN"),
    Kind.INTEGER: re.compile("U?(TINYINT|SMALLINT|INTEGER|BIGINT)|HUGEINT"),
    Kind.DECIMAL: re.compile(r"DECIMAL\((?P<digits>\d+),(?P<after>\d+)\)"),
    Kind.FLOAT: re.compile("FLOAT|DOUBLE"),
    Kind.TEXT: re.compile("VARCHAR"),
    Kind.DATE: re.compile("DATE"),
    Kind.TIMESTAMP: re.compile("TIMESTAMP"),
}
"""Not UHUGEINT, whose values do not fit beside a negative number; no labels, no time zones."""

MOST_BEFORE, MOST_AFTER = 20, 18
"""Digits of a decimal around its point: 38 hold any two of them side by side."""


def check_types(dataset: Dataset | PublicTable, types: Mapping[str, str]) -> None:
    """Refuse a dataset whose kinds are not those of the table, by the types of its columns.

    Any other type would let an engine fail on one row and not on another.
    """
    for column in dataset.schema.columns:
        physical = types[column.name]
        if not _holds(column.kind, physical):
            raise InvalidValue(
                f"{dataset.name}.{column.name} is declared as {column.kind.value}, and is "
                f"{physical} in the table."
            )


def _holds(kind: Kind, physical: str) -> bool:
    match = TYPES[kind].fullmatch(physical)
    if match is None or kind is not Kind.DECIMAL:
        return match is not None
    digits, after = int(match["digits"]), int(match["after"])
    return after <= MOST_AFTER and digits - after <= MOST_BEFORE
