"""Public group keys without those that the question itself excludes.

Every public key is a row of the answer, with or without people. Under WHERE ward = 'north' the
other wards would be rows of pure noise, and would count in averages over groups. So a key is
left out if the conditions of the question cannot be true for any row with it.

Guarantee: the result is a function of the question and the catalogue. An answer has the listed
groups only, so that sensitivities hold for every list.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tacit.core import Schema
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import BoundedKey
from tacit.plan.key_intervals import intervals_of
from tacit.plan.possible_truths import is_about
from tacit.plan.tree_walk import every

MOST_SHOWN = 5
"""Largest number of keys that a refusal lists."""


def narrow(
    key: BoundedKey,
    expression: expr.Expression,
    conditions: Iterable[grid_steps.Condition],
    schema: Schema,
) -> BoundedKey:
    """Return ``key`` without the public values that no row of the question can have.

    ``expression`` is the key as the question has it, and ``conditions`` hold for all rows. Keys
    whose values are not public, and most that are a CASE, stay as they are.

    Example:
        >>> from tacit.core import Column, Keys, Kind
        >>> from tacit.plan.bounded_plan import ColumnKey
        >>> wards = Keys(("north", "south"))
        >>> schema = Schema((Column("ward", Kind.TEXT, keys=wards),))
        >>> north = grid_steps.ColumnOneOf("ward", Kind.TEXT, ("north", "east"))
        >>> key = ColumnKey("ward", "ward", Kind.TEXT, wards)
        >>> narrow(key, expr.Field("ward"), [north], schema).keys.values
        ('north',)
    """
    if key.keys is None:
        return key
    values = key.keys.values
    groups = intervals_of(key, values, expression, schema)
    if groups is None:
        return key
    about = [part for part in _and_parts(conditions) if is_about(part, groups.facts(0, 1))]
    if not about:
        return key
    found = groups.that_can(grid_steps.AllOf(tuple(about)))
    kept = tuple(value for value in values if value in found)
    if not kept:
        shown = ", ".join(map(repr, values[:MOST_SHOWN]))
        more = ", ..." if len(values) > MOST_SHOWN else ""
        raise InvalidValue(
            f"WHERE excludes every value that the group key {key.name!r} can have, which are "
            f"{shown}{more}; change the condition."
        )
    return replace(key, keys=replace(key.keys, values=kept))


def _and_parts(conditions: Iterable[grid_steps.Condition]) -> Iterator[grid_steps.Condition]:
    for each in conditions:
        if isinstance(each, grid_steps.AllOf):
            yield from _and_parts(each.parts)
        else:
            yield each


def unlisted_constants(
    conditions: Iterable[grid_steps.Condition], schema: Schema
) -> tuple[tuple[str, str], ...]:
    """Return the columns with declared keys, each with a text that it is compared with.

    Only texts that are not among the keys are returned; most often they are misspelt.

    Example:
        >>> from tacit.core import Column, Keys, Kind
        >>> schema = Schema((Column("ward", Kind.TEXT, keys=Keys(("north", "south"))),))
        >>> wrong = grid_steps.ColumnOneOf("ward", Kind.TEXT, ("nroth", "south"))
        >>> unlisted_constants([wrong], schema)
        (('ward', 'nroth'),)
    """
    tested = tuple(conditions)
    compared = every(tested, grid_steps.CompareColumn)
    written: list[tuple[str, object]] = [(one.name, one.value) for one in compared]
    for many in every(tested, grid_steps.ColumnOneOf):
        written += [(many.name, value) for value in many.values]
    declared = {name: schema[name].keys for name, _ in written}
    listed = {name: set(keys.values) for name, keys in declared.items() if keys is not None}
    return tuple(
        (name, value)
        for name, value in dict.fromkeys(written)
        if isinstance(value, str) and name in listed and value not in listed[name]
    )
