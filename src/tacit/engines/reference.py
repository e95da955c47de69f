"""An engine that is slow and easy to read: the meaning of every bounded question."""

from collections import defaultdict
from collections.abc import Sequence

from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.core.day import day_of
from tacit.core.keys import Group, Key
from tacit.engines.engine import SecretTable, sealed
from tacit.engines.joined import joined
from tacit.engines.leaves import Leaf
from tacit.engines.meaning import Row, steps, truth
from tacit.engines.mix import mixed
from tacit.plan.bounded import BoundedKey, BoundedPlan, CaseKey, ColumnKey, PeriodKey
from tacit.plan.row_key import row_keys
from tacit.plan.tally import KeptTally, RowTally, Tally, TotalTally, TreeTally, UnitTally


class Reference:
    """Runs bounded questions over rows in memory, in exact integers."""

    def __init__(self, tables: dict[tuple[str, ...], Sequence[Row]]) -> None:
        self._tables = tables

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """The secret answer to ``plan``."""
        units: dict[str | int, dict[Group, list[Row]]] = defaultdict(lambda: defaultdict(list))
        for row in joined(plan.source, catalog, self._tables):
            unit, group = row[plan.source.unit], _group(plan, row)
            if unit is None or group is None or not truth(plan.condition, row):
                continue
            units[unit][group].append(row)  # type: ignore[index]
        totals: dict[Group, list[int]] = {} if plan.keys else {(): [0] * len(plan.tallies)}
        leaves: list[Leaf] = []
        parts = [name for name, _ in row_keys(plan.source, catalog)]
        for unit, found in units.items():
            groups = _few(plan, salt, unit, found, parts)
            kept = sorted(groups, key=lambda group: (mixed(salt, [unit, *group]), group))
            for group in kept[: plan.max_groups]:
                rows = groups[group]
                kept_rows = rows[: plan.max_rows]
                added = [_tally(tally, rows, kept_rows) for tally in plan.tallies]
                leaves += _leaves(plan, group, kept_rows)
                total = totals.setdefault(group, [0] * len(plan.tallies))
                totals[group] = [a + b for a, b in zip(total, added, strict=True)]
        return sealed(plan, [(group, tuple(each)) for group, each in totals.items()], leaves)


def _group(plan: BoundedPlan, row: Row) -> Group | None:
    """The group that a row belongs to; None where it belongs to none."""
    keys = [_key(key, row) for key in plan.keys]
    known = [key for key in keys if key is not None]
    return tuple(known) if len(known) == len(keys) else None


def _key(key: BoundedKey, row: Row) -> Key | None:
    match key:
        case CaseKey(_, whens, otherwise, _):
            return next((name for when, name in whens if truth(when, row)), otherwise)
        case PeriodKey(_, day, span, _):
            days = steps(day, row)
            return None if days is None else span.start(day_of(days)).isoformat()
        case ColumnKey(_, name, kind, keys):
            value: object = row[name]
            if kind is Kind.DATE and value is not None:
                value = str(value)
            if kind is Kind.BOOLEAN and value is not None:
                value = int(bool(value))
            public = keys is None or value in keys.values
            return value if public and isinstance(value, str | int) else None


def _few(
    plan: BoundedPlan,
    salt: bytes,
    unit: str | int,
    groups: dict[Group, list[Row]],
    row_keys: list[str],
) -> dict[Group, list[Row]]:
    """The rows of one unit that are looked at, in their order, by group."""

    def order(pair: tuple[Group, Row]) -> tuple[int, tuple[tuple[bool, Key], ...]]:
        group, row = pair
        keys: list[Key | None] = [row[name] for name in row_keys]  # type: ignore[misc]
        values = [_value(tally, row) for tally in plan.tallies if tally != UnitTally()]
        rest = tuple(
            (part is None, 0 if part is None else part) for part in (*keys, *group, *values)
        )
        return mixed(salt, [unit, *(keys or (*group, *values))]), rest

    rows = sorted(((group, row) for group in groups for row in groups[group]), key=order)
    found: dict[Group, list[Row]] = defaultdict(list)
    for group, row in rows[: plan.max_rows_in_all]:
        found[group].append(row)
    return found


def _value(tally: Tally, row: Row) -> int | None:
    """What a tally needs of one row."""
    match tally:
        case UnitTally():
            return 1
        case RowTally(condition, _, _):
            return int(truth(condition, row) is True)
        case TotalTally(number, _, _) | KeptTally(number, _, _):
            return steps(number, row)
        case TreeTally():
            return steps(tally.cell, row)


def _leaves(plan: BoundedPlan, group: Group, kept: list[Row]) -> list[Leaf]:
    """The cells that the kept rows fall into."""
    return [
        Leaf(place, group, cell, 1)
        for place, tally in enumerate(plan.tallies)
        if isinstance(tally, TreeTally)
        for row in kept
        if (cell := steps(tally.cell, row)) is not None
    ]


def _tally(tally: Tally, rows: list[Row], kept: list[Row]) -> int:
    match tally:
        case UnitTally():
            return 1
        case RowTally(condition, high, low):
            found = sum(truth(condition, row) is True for row in rows)
            return min(max(found, low), high)
        case TotalTally(number, low, high):
            total = sum(value for row in rows if (value := steps(number, row)) is not None)
            return min(max(total, low), high)
        case KeptTally(number, _, _):
            return sum(value for row in kept if (value := steps(number, row)) is not None)
        case TreeTally():
            return 0  # its leaves are counted by themselves
