"""What each row adds to its group by itself, given the few of its unit before it."""

from sqlglot import exp

from tacit.engines.print.bounded_rows import is_added_up
from tacit.engines.print.kept_rows import BROKEN, UNIT, before
from tacit.engines.print.rows import Rows
from tacit.engines.print.word import alias, cast, choose, chosen, column, literal, paren
from tacit.plan.tally import KeptTally, RowTally, Tally, TotalTally, TreeTally, UnitTally

SAME = "tacit_same"
BESIDE, ADDED = "tacit_beside", "tacit_added"
EARLIER = "tacit_earlier"
"""How many rows of the unit before this one are in its group."""


def added_by_row(rows_of: Rows, below: str) -> dict[str, exp.Select]:
    """The relations of which the last has what each kept row adds, as t0, t1 and so on.

    Each adds what it moves the clamped sum of its unit by, so that they add up to that.
    """
    back = (rows_of.plan.max_rows_in_all or 1) - 1
    marked = chosen(below)
    for step in range(1, back + 1):
        marked = marked.select(alias(_same(rows_of, step), f"{SAME}_{step}"), copy=False)
    made = {BESIDE: marked}
    earlier = _sum_of([column(f"{SAME}_{step}") for step in range(1, back + 1)])
    counted = chosen(BESIDE, exp.Star(), alias(earlier, EARLIER))
    for place, tally in enumerate(rows_of.plan.tallies):
        if is_added_up(tally):
            sums = [_earlier_value(rows_of, tally, step) for step in range(1, back + 1)]
            counted = counted.select(alias(_sum_of(sums), f"s{place}"), copy=False)
    made[EARLIER] = counted
    tallies = [
        alias(cast(_adds(rows_of, tally, place), "BIGINT"), f"t{place}")
        for place, tally in enumerate(rows_of.plan.tallies)
    ]
    made[ADDED] = _added(rows_of, EARLIER, tallies)
    return made


def _added(rows_of: Rows, below: str, tallies: list[exp.Expr]) -> exp.Select:
    """What rows add to their groups, beside what trees and the order need of each."""
    names = map(column, rows_of.key_names)
    trees = [tally for tally in rows_of.plan.tallies if isinstance(tally, TreeTally)]
    cells = list(dict.fromkeys(map(rows_of.value, trees)))
    beside = [*cells, column(EARLIER)] if cells else []
    broken = [column(BROKEN)] if rows_of.streamed else []
    return chosen(below, *names, *tallies, *beside, *broken)


def _same(rows_of: Rows, step: int) -> exp.Expr:
    """1 where the row so many before is of the same unit and group."""
    names = rows_of.key_names if rows_of.number else [UNIT, *rows_of.key_names]
    equal: list[exp.Expr] = [
        exp.EQ(this=column(before(name, step)), expression=column(name)) for name in names
    ]
    if rows_of.number:
        equal.insert(0, exp.GT(this=column(rows_of.number), expression=literal(step)))
    return choose([(exp.and_(*equal), literal(1))], literal(0))


def _earlier_value(rows_of: Rows, tally: Tally, step: int) -> exp.Expr:
    value = exp.func("COALESCE", rows_of.value(tally, step), literal(0))
    is_same = exp.EQ(this=column(f"{SAME}_{step}"), expression=literal(1))
    return choose([(is_same, value)], literal(0))


def _sum_of(parts: list[exp.Expr]) -> exp.Expr:
    total: exp.Expr = literal(0)
    for part in parts:
        total = exp.Add(this=total, expression=part)
    return paren(total)


def _adds(rows_of: Rows, tally: Tally, place: int) -> exp.Expr:
    value = exp.func("COALESCE", rows_of.value(tally), literal(0))
    match tally:
        case UnitTally():
            first = exp.EQ(this=column(EARLIER), expression=literal(0))
            return choose([(first, literal(1))], literal(0))
        case TreeTally():
            return literal(0)
        case KeptTally():
            kept = exp.LT(this=column(EARLIER), expression=literal(rows_of.plan.max_rows))
            return choose([(kept, rows_of.value(tally))], None)
        case RowTally(_, high, _):
            earlier = column(f"s{place}" if is_added_up(tally) else EARLIER)
            fits = exp.LT(this=earlier, expression=literal(high))
            return choose([(fits, value)], literal(0))
        case TotalTally(_, low, high):
            earlier = column(f"s{place}")
            now = paren(exp.Add(this=earlier, expression=value))
            moved = exp.Sub(
                this=_inside(now, low, high), expression=_inside(earlier, low, high)
            )
            # one value is inside, as many as the limit are
            alone = exp.EQ(this=column(EARLIER), expression=literal(0))
            return choose([(alone, rows_of.value(tally))], paren(moved))


def _inside(total: exp.Expr, low: int, high: int) -> exp.Expr:
    """A sum, clamped; where an end is 0 no value is beyond it, nor is their sum."""
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    if high:
        pairs.append((exp.GT(this=total, expression=literal(high)), literal(high)))
    if low:
        pairs.append((exp.LT(this=total, expression=literal(low)), literal(low)))
    return choose(pairs, total) if pairs else literal(0)
