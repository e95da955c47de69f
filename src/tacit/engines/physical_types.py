"""Which types of an engine may stand behind a kind: those for which nothing printed fails."""

import re
from collections.abc import Mapping
from fractions import Fraction

from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset
from tacit.core.public_table import PublicTable
from tacit.errors import InvalidValue

Types = Mapping[Kind, re.Pattern[str]]
"""The names of the types behind each kind; a decimal's tells its ``digits`` and ``after``.

A kind that is not there is one that the engine lacks: it is refused, and never approximated.
"""

MOST_BEFORE, MOST_AFTER = 20, 18
"""Digits of a decimal around its point: 38 hold any two of them side by side."""


def check_types(dataset: Dataset | PublicTable, types: Mapping[str, str], known: Types) -> None:
    """Refuse a dataset whose kinds are not those of the table, by the types of its columns.

    Any other type would let an engine fail on one row and not on another.
    """
    for column in dataset.schema.columns:
        if column.kind not in known:
            raise InvalidValue(
                f"{dataset.name}.{column.name} is declared as {column.kind.value}, for which "
                "this engine has no type; leave the column out of the dataset."
            )
        physical = types[column.name]
        if not _holds(column.kind, physical, known):
            raise InvalidValue(
                f"{dataset.name}.{column.name} is declared as {column.kind.value}, and is "
                f"{physical} in the table."
            )


def kinds(types: Mapping[str, str], known: Types) -> tuple[Column, ...]:
    """The columns whose types stand behind a kind, with nothing declared; others are left out.

    Example:
        >>> kinds({"age": "BIGINT", "photo": "BLOB"}, {Kind.INTEGER: re.compile("BIGINT")})
        (Column(name='age', kind=<Kind.INTEGER: 'integer'>, bounds=None, keys=None, step=None),)
    """
    found = []
    for name, physical in types.items():
        kind = next((kind for kind in known if _holds(kind, physical, known)), None)
        if kind is Kind.DECIMAL:
            match = known[kind].fullmatch(physical)
            after = int(match["after"]) if match else 0
            found.append(Column(name, kind, step=Fraction(1, 10**after)))
        elif kind is not None:
            found.append(Column(name, kind))
    return tuple(found)


def _holds(kind: Kind, physical: str, known: Types) -> bool:
    match = known[kind].fullmatch(physical)
    if match is None or kind is not Kind.DECIMAL:
        return match is not None
    digits, after = int(match["digits"]), int(match["after"])
    return after <= MOST_AFTER and digits - after <= MOST_BEFORE
