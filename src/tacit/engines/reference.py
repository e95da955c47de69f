"""Reference semantics: the meaning of each node of a bounded plan, in exact Python.

The code is slow, and simple enough to be checked by reading it. Logic has three values as in
SQL; None is unknown. An engine is correct if it agrees with this module.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from math import floor, isfinite

from tacit.core import (
    CANONICAL_UUID,
    DAYS,
    Catalog,
    Column,
    Group,
    Key,
    Kind,
    PublicTable,
    Secret,
    StoredAs,
    day_of,
    number_of,
    seconds_ahead,
)
from tacit.engines.engine import Leaf, SecretTable, fold_of, hash_values, wrap_groups
from tacit.engines.storage_rules import MOST_AFTER, MOST_BEFORE
from tacit.engines.unit_rows import UnitRows, sorted_rows
from tacit.plan import (
    BoundedKey,
    BoundedPlan,
    CaseKey,
    ColumnKey,
    Comparison,
    CountOf,
    FirstPeriods,
    GreatestOf,
    JoinedTable,
    LeastOf,
    MeanOf,
    PeriodKey,
    SemiJoin,
    Source,
    StepsKey,
    SumOf,
    TableLimit,
    UnitAggregate,
    UnitAggregation,
    row_keys,
)
from tacit.plan import steps as grid_steps
from tacit.plan import tally as tallies

Cell = bool | int | float | Decimal | str | date | None
"""A value that a table can contain."""

Row = Mapping[str, Cell]


def truth(condition: grid_steps.Condition, row: Row) -> bool | None:
    """Return whether ``condition`` holds for ``row``; None is unknown."""
    match condition:
        case grid_steps.ConstantCondition(known):
            return known
        case grid_steps.ColumnIsTrue(name):
            cell = row[name]
            return None if cell is None else bool(cell)
        case grid_steps.CompareColumn(comparison, name, kind, value):
            return _compare(comparison, _value(row[name]), _constant_value(kind, value))
        case grid_steps.CompareColumns(comparison, left, right, _):
            return _compare(comparison, _value(row[left]), _value(row[right]))
        case grid_steps.CompareSteps(comparison, one, other):
            return _compare(comparison, steps(one, row), steps(other, row))
        case grid_steps.StepsAreNull(number):
            return steps(number, row) is None
        case grid_steps.StepsOneOf(number, whole):
            count = steps(number, row)
            return None if count is None else count in whole
        case grid_steps.ColumnIsNull(name, _):
            return _value(row[name]) is None
        case grid_steps.ColumnOneOf(name, kind, values):
            found = _value(row[name])
            return (
                None
                if found is None
                else found in {_constant_value(kind, value) for value in values}
            )
        case grid_steps.AllOf(parts):
            return _all([truth(part, row) for part in parts])
        case grid_steps.AnyOf(parts):
            negated = _all([_not(truth(part, row)) for part in parts])
            return _not(negated)
        case grid_steps.Negation(part):
            return _not(truth(part, row))


def steps(number: grid_steps.Steps, row: Row) -> int | None:
    """Return the value of ``number`` for ``row``, in grid steps; None is NULL."""
    match number:
        case grid_steps.WholeSteps(value):
            return value
        case grid_steps.SumSteps(left, right):
            one, other = steps(left, row), steps(right, row)
            return None if one is None or other is None else one + other
        case grid_steps.ProductSteps(left, right):
            one, other = steps(left, row), steps(right, row)
            return None if one is None or other is None else one * other
        case grid_steps.HalvedSteps(part, times):
            whole = steps(part, row)
            return None if whole is None else whole // 2**times
        case grid_steps.CaseSteps(whens, otherwise):
            for condition, then in whens:
                if truth(condition, row):
                    return steps(then, row)
            return steps(otherwise, row)
        case grid_steps.QuotientSteps(part, divisor):
            whole = steps(part, row)
            return None if whole is None else whole // divisor
        case grid_steps.AbsoluteSteps(part):
            whole = steps(part, row)
            return None if whole is None else abs(whole)
        case grid_steps.ExtremeSteps(greatest, parts):
            numbers = [each for part in parts if (each := steps(part, row)) is not None]
            return (max if greatest else min)(numbers, default=None)
        case grid_steps.CurveSteps():
            return _curve(number, steps(number.steps, row))
        case grid_steps.ComputedSteps(name):
            held = row[name]
            return held if isinstance(held, int) else None
        case grid_steps.PartSteps(day, which) if which.is_of_time:
            moment = row[day.name]
            if not isinstance(moment, datetime):
                return None
            first, last = day_of(day.grid.lowest), day_of(day.grid.highest)
            ends = datetime.combine(first, time.min), datetime.combine(last, time.max)
            return which.of(min(max(moment, ends[0]), ends[1]))
        case grid_steps.PartSteps(day, which):
            days = steps(day, row)
            return None if days is None else which.of(day_of(days))
        case grid_steps.ColumnSteps(name, kind, grid):
            found = _value(row[name])
            if kind in DAYS and isinstance(found, date):
                return grid.index(Fraction(number_of(found)))
            return grid.index(found) if isinstance(found, Fraction) else None


def _curve(number: grid_steps.CurveSteps, argument: int | None) -> int | None:
    """Return a root, a logarithm or an exponential, in the floats that engines use."""
    if argument is None or argument < number.least:
        return None
    found = number.curve.of(float(argument) * float(number.unit))
    whole = floor(found * float(number.scale) + 0.5)
    return min(max(whole, number.low), number.high)


def _value(cell: Cell) -> Fraction | str | date | None:
    """Return a cell for comparisons: numbers are exact, and not finite numbers are NULL."""
    match cell:
        case None | str() | date():
            return cell
        case float() | Decimal() if not isfinite(cell):
            return None
        case bool() | int() | float() | Decimal():
            return Fraction(cell)


def _constant_value(kind: Kind, value: object) -> object:
    """Return a constant for comparisons with a column; the nearest float for floats."""
    if isinstance(value, bool | int | Fraction):
        return Fraction(float(value)) if kind is Kind.FLOAT else Fraction(value)
    if kind is Kind.TIMESTAMP and isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


def _compare(comparison: Comparison, left: object, right: object) -> bool | None:
    if left is None or right is None:
        return None
    return comparison.holds(left, right)


def _all(truths: list[bool | None]) -> bool | None:
    if False in truths:
        return False
    return None if None in truths else True


def _not(value: bool | None) -> bool | None:  # noqa: FBT001
    return None if value is None else not value


# ------------------------------------------------------------------ per-unit aggregates
# The meaning of a subquery that is grouped by unit: each row of its result is computed from the
# rows of one unit.


def aggregate_per_unit(relation: UnitAggregation, rows: Iterable[Row]) -> list[Row]:
    """Return the aggregates per unit of ``rows``, which are the rows of the source."""
    unit = relation.source.unit
    names = (unit, *relation.keys)
    groups: dict[tuple[Cell, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row[unit] is not None and truth(relation.condition, row):
            groups[tuple(row[name] for name in names)].append(row)
    return [
        dict(zip(names, group, strict=True))
        | {name: unit_aggregate(value, found) for name, value in relation.values}
        for group, found in groups.items()
    ]


def unit_aggregate(value: UnitAggregate, rows: Sequence[Row]) -> int | None:
    """Return the aggregate ``value`` of the ``rows`` of one unit; None is NULL."""
    match value:
        case CountOf(condition, low, high):
            return min(max(sum(truth(condition, row) is True for row in rows), low), high)
        case SumOf(number, low, high):
            found = _known_steps(number, rows)
            return min(max(sum(found), low), high) if found else None
        case LeastOf(number):
            return min(_known_steps(number, rows), default=None)
        case GreatestOf(number):
            return max(_known_steps(number, rows), default=None)
        case MeanOf(number, finer, start):
            found = _known_steps(number, rows)
            doubled = 2 * len(found)
            return start + (2 * finer * sum(found) + len(found)) // doubled if found else None


def _known_steps(number: grid_steps.Steps, rows: Sequence[Row]) -> list[int]:
    """Return the values of ``number`` that are not NULL."""
    return [found for row in rows if (found := steps(number, row)) is not None]


# ------------------------------------------------------------------ joins
# The meaning of a join: every pair of rows whose columns are equal.

Tables = Mapping[tuple[str, ...], Sequence[Row]]
"""Rows by the location of their table."""


def join_rows(source: Source, catalog: Catalog, tables: Tables, salt: bytes = b"") -> list[Row]:
    """Return the rows of ``source``, with columns named dataset.column."""
    limits = {limit.dataset: limit for limit in source.limited}

    def rows_of(name: str) -> list[Row]:
        table = catalog.table(name)
        known = {column.name: column for column in table.schema.columns}
        named: list[Row] = [
            {f"{name}.{each}": _read(known.get(each), cell) for each, cell in row.items()}
            for row in tables[table.location.table]
        ]
        return _limit_rows(limits[name], named, catalog, salt) if name in limits else named

    if source.gathered is None:
        found = rows_of(source.dataset)
    else:
        found = aggregate_per_unit(
            source.gathered, join_rows(source.gathered.source, catalog, tables, salt)
        )
    for beside in source.beside:
        others = _limit_fan_out(beside, rows_of(beside.dataset), catalog)
        names = catalog.table(beside.dataset).schema.names
        nothing: Row = dict.fromkeys(f"{beside.dataset}.{name}" for name in names)
        found = [
            {**row, **other}
            for row in found
            for other in _partners(row, beside, others) or ([nothing] if beside.outer else [])
        ]
    for semi in source.semis:
        found = _rows_with_match(found, semi, join_rows(semi.source, catalog, tables, salt))
    return found


def _rows_with_match(rows: list[Row], semi: SemiJoin, others: Iterable[Row]) -> list[Row]:
    """Return the rows that have a match among the others, or none if ``semi`` is anti."""
    there = {
        tuple(other[right] for _, right in semi.on)
        for other in others
        if truth(semi.condition, other)
    }
    there = {each for each in there if None not in each}
    return [
        row for row in rows if (tuple(row[left] for left, _ in semi.on) in there) != semi.anti
    ]


def _read(column: Column | None, cell: Cell) -> Cell:
    """Return a cell in the kind of its column, from the type in which it is stored."""
    if column is None or cell is None:
        return cell
    if column.zone is not None:
        return _local_time(column.zone, cell) if isinstance(cell, datetime) else None
    match column.stored:
        case StoredAs.UUID:
            found = str(cell).translate(str.maketrans("ABCDEF", "abcdef"))
            return found if CANONICAL_UUID.fullmatch(found) else None
        case StoredAs.CHAR:
            return str(cell).rstrip(" ")
        case StoredAs.MONEY | StoredAs.NUMERIC if isinstance(cell, Decimal | int):
            return _round(Decimal(cell), column.step or Fraction(1))
    return cell


def _local_time(zone: str, instant: datetime) -> datetime | None:
    """Return the local time of an instant; NULL on the first and the last day of all."""
    utc = instant.astimezone(UTC).replace(tzinfo=None)
    if not date.min < utc.date() < date.max:
        return None
    return utc + timedelta(seconds=seconds_ahead(zone, utc))


def _round(number: Decimal, step: Fraction) -> Decimal | None:
    """Return a number with the digits of a step; NULL if it is too large, or not a number."""
    if not number.is_finite() or abs(number) > 10**MOST_BEFORE - 2:
        return None
    digits = next(n for n in range(MOST_AFTER + 1) if (step * 10**n).denominator == 1)
    with localcontext(prec=200):
        return number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _partners(row: Row, beside: JoinedTable, others: Sequence[Row]) -> list[Row]:
    """Return the rows that the join matches with ``row``."""
    wanted = row[beside.left]
    return [other for other in others if wanted is not None and wanted == other[beside.right]]


def _limit_rows(
    limit: TableLimit, rows: Sequence[Row], catalog: Catalog, salt: bytes
) -> list[Row]:
    """Return the rows of a table that take part in a join: few for each value of a column."""
    names = [f"{limit.dataset}.{name}" for name in catalog.table(limit.dataset).schema.names]

    def order(row: Row) -> tuple[int, list[tuple[bool, object]]]:
        cells = [_value(row[name]) for name in names]
        hashed = [row[name] for name in limit.order]
        rest = [(cell is None, 0 if cell is None else cell) for cell in cells]
        return hash_values(salt, hashed), rest  # type: ignore[arg-type,return-value]

    seen: Counter[Cell] = Counter()
    kept = []
    for row in sorted((row for row in rows if truth(limit.condition, row)), key=order):
        seen[row[limit.by]] += 1
        if seen[row[limit.by]] <= limit.most:
            kept.append(row)
    return kept


def _limit_fan_out(beside: JoinedTable, rows: list[Row], catalog: Catalog) -> list[Row]:
    """Return at most ``fan_out`` rows of a public table for each value of its column."""
    table = catalog.table(beside.dataset)
    if not isinstance(table, PublicTable):
        return rows
    seen: Counter[object] = Counter()
    kept = []
    for row in rows:
        seen[row[beside.right]] += 1
        if seen[row[beside.right]] <= table.fan_out:
            kept.append(row)
    return kept


# ------------------------------------------------------------------ reference
# The reference engine, whose answers define the meaning of bounded plans.


class Reference:
    """An engine that runs bounded plans over rows in memory, with exact integers."""

    def __init__(self, tables: dict[tuple[str, ...], Sequence[Row]]) -> None:
        self._tables = tables

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """Return the secret answer to ``plan``."""
        units = self._units(plan, catalog, salt)
        totals: dict[Group, list[int]] = {} if plan.keys else {(): [0] * len(plan.tallies)}
        leaves: list[Leaf] = []
        values: dict[tuple[Group, int], set[Key]] = defaultdict(set)
        row_key = [name for name, _ in row_keys(plan.source, catalog)]
        for unit, found in units.items():
            groups: dict[Group, list[Row]] = defaultdict(list)
            length = 0
            numbers: Counter[Group] = Counter()
            for row in _first_rows(plan, salt, unit, found, row_key):
                group = _group(plan, row)
                if group is None:
                    continue
                if plan.max_squares is not None:
                    numbers[group] += 1
                    if numbers[group] > plan.max_rows:
                        continue
                    length += 2 * numbers[group] - 1
                    if length > plan.max_squares:
                        break
                groups[group].append(row)
            kept = sorted(groups, key=lambda group: (hash_values(salt, [unit, *group]), group))
            for group in kept[: plan.max_groups]:
                rows = groups[group]
                kept_rows = rows[: plan.max_rows]
                added = [_tally(tally, rows, kept_rows) for tally in plan.tallies]
                leaves += _leaves(plan, group, kept_rows)
                for place, tally in enumerate(plan.tallies):
                    if isinstance(tally, tallies.DistinctTally):
                        values[group, place].update(_known_values(tally, kept_rows))
                total = totals.setdefault(group, [0] * len(plan.tallies))
                totals[group] = [a + b for a, b in zip(total, added, strict=True)]
        for (group, place), distinct in values.items():
            totals[group][place] = len(distinct)
        return wrap_groups(
            plan, [(group, tuple(each)) for group, each in totals.items()], leaves
        )

    def rows(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> Secret[UnitRows]:
        """Return the secret rows that ``plan`` keeps."""
        row_key = [name for name, _ in row_keys(plan.source, catalog)]
        kept = [
            (unit, *(_tally(tally, [row], [row]) for tally in plan.tallies))
            for unit, found in self._units(plan, catalog, salt).items()
            for row in _first_rows(plan, salt, unit, found, row_key)[: plan.max_rows]
        ]
        units, *columns = list(zip(*kept, strict=True)) or [()] * (1 + len(plan.tallies))
        return Secret(sorted_rows(units, columns))

    def _units(
        self, plan: BoundedPlan, catalog: Catalog, salt: bytes
    ) -> dict[str | int, list[Row]]:
        """Return the rows that satisfy the conditions, by their units."""
        units: dict[str | int, list[Row]] = defaultdict(list)
        for row in join_rows(plan.source, catalog, self._tables, salt):
            unit = row[plan.source.unit]
            if (
                unit is not None
                and truth(plan.condition, row)
                and _is_in_fold(plan, salt, unit)
            ):
                units[unit].append(row)  # type: ignore[index]
        first = plan.first_periods
        return units if first is None else {u: _rows_of_period(first, units[u]) for u in units}


def _rows_of_period(first: FirstPeriods, rows: list[Row]) -> list[Row]:
    """Return a unit's rows of the current period, if it is among the unit's first ones."""
    periods = sorted({str(_key(first.period, row)) for row in rows})
    if first.now not in periods[: first.most]:
        return []
    return [row for row in rows if _key(first.period, row) == first.now]


def _is_in_fold(plan: BoundedPlan, salt: bytes, unit: Cell) -> bool:
    """Return whether a unit belongs to the fold that the plan reads."""
    fold = plan.fold
    if fold is None:
        return True
    inside = fold_of(salt, unit, fold.folds) == fold.number  # type: ignore[arg-type]
    return inside is not fold.outside


def _group(plan: BoundedPlan, row: Row) -> Group | None:
    """Return the group of a row; None if it belongs to no group."""
    keys = [_key(key, row) for key in plan.keys]
    known = [
        name
        for name, key in zip(keys, plan.keys, strict=True)
        if name is not None and (key.keys is None or name in key.keys.values)
    ]
    return tuple(known) if len(known) == len(keys) else None


def _key(key: BoundedKey, row: Row) -> Key | None:
    """Return the key of a row's group, whether it is public or not."""
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


def _first_rows(
    plan: BoundedPlan, salt: bytes, unit: str | int, rows: list[Row], row_key: list[str]
) -> list[Row]:
    """Return the rows of one unit within its total limit, in the order of the hash."""

    def order(row: Row) -> tuple[int, tuple[tuple[bool, Key], ...]]:
        own: list[Key | None] = [row[name] for name in row_key]  # type: ignore[misc]
        read = [_key(key, row) for key in plan.keys]
        read += [_row_value(value, row) for value in tallies.row_values(plan.tallies)]
        rest = tuple((part is None, 0 if part is None else part) for part in (*own, *read))
        return hash_values(salt, [unit, *(own or read)]), rest

    return sorted(rows, key=order)[: plan.max_rows_in_all]


def _row_value(value: tallies.RowValue, row: Row) -> Key | None:
    """Return a value of a row: steps, or a stored column in the form of a group key."""
    if not isinstance(value, tallies.StoredValue):
        return steps(value, row)
    stored = ColumnKey(value.name, value.name, value.kind, None)
    return _key(stored, row) if truth(value.condition, row) else None


def _known_values(tally: tallies.DistinctTally, rows: list[Row]) -> list[Key]:
    """Return the values of a tally in ``rows`` that are not NULL."""
    found = (_row_value(tally.value, row) for row in rows)
    return [value for value in found if value is not None]


def _leaves(plan: BoundedPlan, group: Group, kept: list[Row]) -> list[Leaf]:
    """Return the tree leaves of the kept rows."""
    return [
        Leaf(place, group, cell, 1)
        for place, tally in enumerate(plan.tallies)
        if isinstance(tally, tallies.TreeTally)
        for row in kept
        if (cell := steps(tally.cell, row)) is not None
    ]


def _tally(tally: tallies.Tally, rows: list[Row], kept: list[Row]) -> int:
    match tally:
        case tallies.UnitTally():
            return 1
        case tallies.RowTally(condition, high, low):
            found = sum(truth(condition, row) is True for row in rows)
            return min(max(found, low), high)
        case tallies.TotalTally(number, low, high):
            total = sum(value for row in rows if (value := steps(number, row)) is not None)
            return min(max(total, low), high)
        case tallies.RowSumTally(number, _, _):
            return sum(value for row in kept if (value := steps(number, row)) is not None)
        case tallies.TreeTally() | tallies.DistinctTally():
            return 0  # rows are counted for all units together
