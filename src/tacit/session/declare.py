"""One table of one population, in the words of whoever opens it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from typing import cast

from tacit.core.bounds import Bounds
from tacit.core.column import Column
from tacit.core.keys import Key, Keys
from tacit.core.population import Population
from tacit.core.schema import Schema
from tacit.core.unit import PrivacyUnit
from tacit.errors import InvalidValue, UnknownName
from tacit.numeric.exact import Number

Ends = Bounds | tuple[Number, Number] | tuple[date, date]
"""Bounds, or their two ends."""

Values = Keys | Iterable[Key]
"""Keys, or their values in order."""


def population_of(name: str | Population) -> Population:
    """A population by its name: its unit is one person, who may be there or not."""
    return name if isinstance(name, Population) else Population(name, PrivacyUnit("person"))


def bounds_of(ends: Ends) -> Bounds:
    """Bounds from two numbers or two days."""
    if isinstance(ends, Bounds):
        return ends
    lower, upper = ends
    if isinstance(lower, date) and isinstance(upper, date):
        return Bounds.days(lower, upper)
    return Bounds.of(cast("Number", lower), cast("Number", upper))


def schema_of(
    found: tuple[Column, ...], bounds: Mapping[str, Ends], keys: Mapping[str, Values]
) -> Schema:
    """The columns of a table with what is publicly known of their values."""
    schema = Schema(found)
    for name in (*bounds, *keys):
        if name not in schema:
            raise UnknownName(
                f"There is no column {name!r} that can be asked about; there are "
                f"{', '.join(schema.names)}."
            )
    return Schema(tuple(_known(column, bounds, keys) for column in found))


def _known(column: Column, bounds: Mapping[str, Ends], keys: Mapping[str, Values]) -> Column:
    name = column.name
    if name in bounds:
        column = replace(column, bounds=bounds_of(bounds[name]))
    if name in keys:
        given = keys[name]
        if isinstance(given, str):
            raise InvalidValue(f"The keys of {name!r} are a list of values, not one text.")
        column = replace(column, keys=given if isinstance(given, Keys) else Keys(tuple(given)))
    return column
