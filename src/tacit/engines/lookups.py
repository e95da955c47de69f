"""Whether public tables are joined as declared: each value of a lookup column in few rows."""

from collections.abc import Callable, Sequence
from typing import Any

from tacit.core.catalog import Catalog
from tacit.core.public_table import MOST_FAN_OUT
from tacit.engines.print.join import most_rows
from tacit.engines.print.sql_dialect import Dialect
from tacit.errors import InvalidValue

Find = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement about public tables, and gives its rows."""


def check_lookups(catalog: Catalog, dialect: Dialect, find: Find) -> None:
    """Refuse a public table whose lookup columns hold a value in more rows than is declared.

    The table is public, so its rows may be counted before any charge, and the count be told.
    Statements keep to the declared number in any case (`tacit.engines.print.join`); without
    this check an answer would leave out the rows beyond it, and say nothing.
    """
    for table in catalog.public:
        for column in table.lookup:
            [(most,)] = find(most_rows(table.name, column, catalog, dialect))
            if int(most) > table.fan_out:
                raise InvalidValue(
                    f"{table.name}.{column} holds one value in {most} rows, and a join by it "
                    f"puts at most {table.fan_out} beside a row. Make its values unique, or "
                    f"declare [public.{table.name}] fan_out = {min(int(most), MOST_FAN_OUT)}; "
                    f"{MOST_FAN_OUT} is the most."
                )
