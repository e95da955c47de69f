"""Relations that choices make above others: public tables beside them, and sums of units."""

from collections.abc import Callable

from made_catalog import EQUATED, PLACES
from made_expression import Maker

from tacit.plan.plan import (
    Aggregate,
    CountRows,
    CountValues,
    Greatest,
    JoinPublic,
    Least,
    Mean,
    PerUnit,
    Relation,
    Sum,
    UnitValue,
)

INNER: tuple[Callable[[Maker], Aggregate], ...] = (
    lambda _: CountRows(),
    lambda make: CountValues(make.number()),
    lambda make: Sum(make.number()),
    lambda make: Mean(make.number()),
    lambda make: Least(make.number()),
    lambda make: Greatest(make.number()),
)
"""What one unit's own rows can be asked for."""


def beside_public(make: Maker, source: Relation) -> Relation:
    """``source`` beside a public table, by a column of the same kind."""
    choices = make.choices
    left = choices.one([column for column in make.scope.columns if column.kind in EQUATED])
    return JoinPublic(
        source, PLACES, left.name, f"of {left.kind.value}", outer=choices.once_in(2)
    )


def per_unit(make: Maker, source: Relation) -> Relation:
    """What each unit's rows add up to, or those of each of its groups."""
    choices = make.choices
    names = [name for name in make.names(*EQUATED) if not name.startswith("below.")]
    keys = choices.some(0, 2, lambda _: choices.one(names))
    values = choices.some(1, 2, lambda place: UnitValue(f"v{place}", choices.one(INNER)(make)))
    return PerUnit(source, tuple(dict.fromkeys(keys)), tuple(values))
