"""An engine that is slow and easy to read: the meaning of every bounded question."""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import md5

from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.core.day import day_of
from tacit.core.keys import Group, Key
from tacit.engines.engine import SecretTable, sealed
from tacit.engines.joined import joined
from tacit.engines.leaves import Leaf
from tacit.engines.meaning import Row, steps, truth
from tacit.plan.bounded import BoundedKey, BoundedPlan, CaseKey, ColumnKey, PeriodKey
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
        for unit, groups in units.items():
            kept = sorted(groups, key=lambda group: (_mixed(salt, unit, *group), group))
            for group in kept[: plan.max_groups]:
                rows = groups[group]
                kept_rows = _kept(plan, salt, unit, group, rows)
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


def _kept(
    plan: BoundedPlan, salt: bytes, unit: str | int, group: Group, rows: list[Row]
) -> list[Row]:
    """The rows that one unit keeps in one of its groups."""
    numbers = [tally.steps for tally in plan.tallies if isinstance(tally, KeptTally)]
    numbers += [tally.cell for tally in plan.tallies if isinstance(tally, TreeTally)]

    def order(row: Row) -> tuple[str, tuple[tuple[bool, int], ...]]:
        values = [steps(number, row) for number in numbers]
        texts = ["NULL" if value is None else value for value in values]
        return _mixed(salt, unit, *group, *texts), tuple((v is None, v or 0) for v in values)

    return sorted(rows, key=order)[: plan.max_rows]


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


def _mixed(salt: bytes, *parts: Key) -> str:
    """The hash that orders a unit's own rows or groups."""
    text = "|".join([salt.hex(), *map(str, parts)])
    return md5(text.encode(), usedforsecurity=False).hexdigest()
