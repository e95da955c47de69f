"""An engine that is slow and easy to read: the meaning of every bounded question."""

from collections import defaultdict
from collections.abc import Sequence

from tacit.core.catalog import Catalog
from tacit.core.column import Kind
from tacit.core.day import day_of
from tacit.core.keys import Group, Key
from tacit.core.secret import Secret
from tacit.engines.engine import SecretTable, sealed
from tacit.engines.joined import joined
from tacit.engines.leaves import Leaf
from tacit.engines.meaning import Cell, Row, steps, truth
from tacit.engines.mix import fold_of, mixed
from tacit.engines.unit_rows import UnitRows, sorted_rows
from tacit.plan.bounded import (
    BoundedKey,
    BoundedPlan,
    CaseKey,
    ColumnKey,
    FirstPeriods,
    PeriodKey,
    StepsKey,
)
from tacit.plan.row_key import row_keys
from tacit.plan.row_value import row_values
from tacit.plan.tally import KeptTally, RowTally, Tally, TotalTally, TreeTally, UnitTally


class Reference:
    """Runs bounded questions over rows in memory, in exact integers."""

    def __init__(self, tables: dict[tuple[str, ...], Sequence[Row]]) -> None:
        self._tables = tables

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """The secret answer to ``plan``."""
        units = self._units(plan, catalog, salt)
        totals: dict[Group, list[int]] = {} if plan.keys else {(): [0] * len(plan.tallies)}
        leaves: list[Leaf] = []
        told_by = [name for name, _ in row_keys(plan.source, catalog)]
        for unit, found in units.items():
            groups: dict[Group, list[Row]] = defaultdict(list)
            for row in _few(plan, salt, unit, found, told_by):
                group = _group(plan, row)
                if group is not None:
                    groups[group].append(row)
            kept = sorted(groups, key=lambda group: (mixed(salt, [unit, *group]), group))
            for group in kept[: plan.max_groups]:
                rows = groups[group]
                kept_rows = rows[: plan.max_rows]
                added = [_tally(tally, rows, kept_rows) for tally in plan.tallies]
                leaves += _leaves(plan, group, kept_rows)
                total = totals.setdefault(group, [0] * len(plan.tallies))
                totals[group] = [a + b for a, b in zip(total, added, strict=True)]
        return sealed(plan, [(group, tuple(each)) for group, each in totals.items()], leaves)

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """The secret rows that ``plan`` keeps."""
        told_by = [name for name, _ in row_keys(plan.source, catalog)]
        kept = [
            (unit, *(_tally(tally, [row], [row]) for tally in plan.tallies))
            for unit, found in self._units(plan, catalog, salt).items()
            for row in _few(plan, salt, unit, found, told_by)[: plan.max_rows]
        ]
        units, *columns = list(zip(*kept, strict=True)) or [()] * (1 + len(plan.tallies))
        return Secret(sorted_rows(units, columns))

    def _units(
        self, plan: BoundedPlan, catalog: Catalog, salt: bytes
    ) -> dict[str | int, list[Row]]:
        """The rows that count, by their units."""
        units: dict[str | int, list[Row]] = defaultdict(list)
        for row in joined(plan.source, catalog, self._tables):
            unit = row[plan.source.unit]
            if unit is not None and truth(plan.condition, row) and _chosen(plan, salt, unit):
                units[unit].append(row)  # type: ignore[index]
        first = plan.first_periods
        return units if first is None else {u: _now(first, units[u]) for u in units}


def _now(first: FirstPeriods, rows: list[Row]) -> list[Row]:
    """The rows of one unit that are of the present period, where it is one of its first."""
    periods = sorted({str(_key(first.period, row)) for row in rows})
    if first.now not in periods[: first.most]:
        return []
    return [row for row in rows if _key(first.period, row) == first.now]


def _chosen(plan: BoundedPlan, salt: bytes, unit: Cell) -> bool:
    """Whether a unit is of the part of all units that is asked about."""
    fold = plan.fold
    if fold is None:
        return True
    inside = fold_of(salt, unit, fold.folds) == fold.number  # type: ignore[arg-type]
    return inside is not fold.outside


def _group(plan: BoundedPlan, row: Row) -> Group | None:
    """The group that a row belongs to; None where it belongs to none."""
    keys = [_key(key, row) for key in plan.keys]
    known = [
        name
        for name, key in zip(keys, plan.keys, strict=True)
        if name is not None and (key.keys is None or name in key.keys.values)
    ]
    return tuple(known) if len(known) == len(keys) else None


def _key(key: BoundedKey, row: Row) -> Key | None:
    """What names the group of a row, public or not."""
    match key:
        case CaseKey(_, whens, otherwise, _):
            return next((name for when, name in whens if truth(when, row)), otherwise)
        case PeriodKey(_, day, span, _):
            days = steps(day, row)
            return None if days is None else span.start(day_of(days)).isoformat()
        case StepsKey(_, number, _):
            return steps(number, row)
        case ColumnKey(_, name, kind, _):
            value: object = row[name]
            if kind is Kind.DATE and value is not None:
                value = str(value)
            if kind is Kind.BOOLEAN and value is not None:
                value = int(bool(value))
            return value if isinstance(value, str | int) else None


def _few(
    plan: BoundedPlan, salt: bytes, unit: str | int, rows: list[Row], told_by: list[str]
) -> list[Row]:
    """The rows of one unit that are looked at, in their order."""

    def order(row: Row) -> tuple[int, tuple[tuple[bool, Key], ...]]:
        own: list[Key | None] = [row[name] for name in told_by]  # type: ignore[misc]
        read = [_key(key, row) for key in plan.keys]
        read += [steps(number, row) for number in row_values(plan.tallies)]
        rest = tuple((part is None, 0 if part is None else part) for part in (*own, *read))
        return mixed(salt, [unit, *(own or read)]), rest

    return sorted(rows, key=order)[: plan.max_rows_in_all]


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
