"""Estimates of what an owner declares: bounds, keys and limits, for a charge.

An estimate is an ordinary question, which is priced, charged and stored like every other one.
Its result is post-processing of the answer.

Bounds are searched on a ladder of public values, for example 1, 2, 5, 10, 20. A value of the
column becomes the number of rungs that it reaches, and the least and the greatest of these
numbers are asked for. So the estimate is one of the rungs, never a value of the data.

A contribution limit that is too low cuts rows, and one that is too high adds noise. Nobody can
see from public facts alone which limit fits. A profile measures it once for an epoch of the
table, in two ordinary questions that are priced, charged and stored like all others:

1. A histogram of people by the number of their rows, on a fixed public ladder. A person is in
   one cell of it, so that one person changes it by 1. Sums of its cells from above estimate how
   many people have more rows than each limit of the ladder. The suggestion is one step above
   the least limit with hardly anybody beyond it: not more than noise explains.
2. A fresh count of the people beyond the limit that the owner chose. Its upper end, which holds
   with probability 99%, becomes the `RowsProfile` of the table. It is a fresh count because the
   choice depends on the noise of the histogram.

"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, sqrt
from statistics import NormalDist
from typing import Any

from tacit.core import (
    Answer,
    Column,
    Kind,
    Limits,
    Link,
    Loss,
    ReleasedColumn,
    RowsProfile,
    TotalProfile,
    UnitColumn,
)
from tacit.errors import InternalError, InvalidValue
from tacit.frame import Expr, Table, case, col, count, count_units, greatest, least, total
from tacit.mechanisms import Mechanism
from tacit.numeric import plain, sqrt_bounds
from tacit.plan import Scan
from tacit.query import Quote, variance
from tacit.render import html, text
from tacit.session.ask import ask, price_question
from tacit.session.curator import Curator
from tacit.session.question import Question

End = Fraction | date
"""A public value of the ladder: the end of one cell and the start of the next."""

WHAT = ("bounds", "keys")
YEARS = range(1900, 2101)
FIGURES = (1, 2, 5)
HIGHEST = 12
LOWEST = -6
"""Numbers are searched from 10^-6 to 10^12, on either side of 0."""

NEAR_NOTHING = 4
"""A bound that is this many times nearer to 0 than the other becomes 0: that costs little."""


@dataclass(frozen=True, slots=True)
class DomainEstimate:
    """A question about a column, and the function that reads the estimate from its answer."""

    question: Question
    read: Callable[[Answer], list[Any]]


def estimate_of(curator: Curator, dataset: str, name: str, what: str) -> DomainEstimate:
    """Return the question that estimates the ``bounds`` or the ``keys`` of a column.

    Guarantee: it is an ordinary question, which is priced, charged and stored like every
    other one. The estimate is post-processing of its answer.
    """
    column = curator.catalog.dataset(dataset).schema[name]
    bare = _table(
        replace(curator, catalog=curator.catalog.as_if_unknown(dataset, name)), dataset
    )
    if what == "keys" and column.kind in {Kind.TEXT, Kind.INTEGER}:
        asked = bare.group_by(name).agg(units=count_units())
        return DomainEstimate(asked, lambda answer: _keys(answer, name))
    if what == "bounds" and column.kind not in {Kind.TEXT, Kind.BOOLEAN, Kind.TIMESTAMP}:
        rungs = ladder(column)
        cell = _cell(col(name), rungs)
        asked = bare.agg(low=least(cell), high=greatest(cell))
        return DomainEstimate(asked, lambda answer: _bounds(answer, rungs))
    raise InvalidValue(
        f"{dataset}.{name} has the kind {column.kind.value}. Keys can be estimated for text "
        "and whole numbers, bounds for numbers and days."
    )


def ladder(column: Column) -> tuple[End, ...]:
    """Return the public values among which the bounds of a column are searched.

    Example:
        >>> [str(rung) for rung in ladder(Column("age", Kind.INTEGER))[37:43]]
        ['0', '1', '2', '5', '10', '20']
    """
    if column.kind is Kind.DATE:
        return tuple(date(year, 1, 1) for year in YEARS)
    smallest = column.step or Fraction(1 if column.kind is Kind.INTEGER else 0)
    powers = [Fraction(10) ** power for power in range(LOWEST, HIGHEST)]
    rungs = [figure * power for power in powers for figure in FIGURES] + [powers[-1] * 10]
    above = [rung for rung in rungs if rung >= smallest]
    return (*(-rung for rung in reversed(above)), Fraction(0), *above)


def _cell(value: Expr, rungs: tuple[End, ...]) -> Expr:
    """Return the number of rungs that a value reaches; NULL for NULL and for NaN."""
    below = [(value < rung, place) for place, rung in enumerate(rungs)]
    return case(*below, (value >= rungs[-1], len(rungs)))


def _bounds(answer: Answer, rungs: tuple[End, ...]) -> list[Any]:
    """Return the rung below the released minimum and the rung above the released maximum."""
    low, high = sorted(int(Fraction(answer[end].values[0] or 0)) for end in ("low", "high"))
    ends = rungs[max(low - 1, 0)], rungs[min(high, len(rungs) - 1)]
    if ends[0] == ends[1]:
        raise InvalidValue(
            f"The estimate lies beyond {ends[0]}, the end of the range that is searched. "
            "Declare the bounds: tacit domain DATASET.COLUMN LOW..HIGH --source policy"
        )
    first, after = ends
    if isinstance(first, date) and isinstance(after, date):
        return [first, after - timedelta(days=1)]
    numbers = [end for end in ends if isinstance(end, Fraction)]
    near = max(map(abs, numbers)) / NEAR_NOTHING
    return [plain(Fraction(0) if abs(end) <= near else end) for end in numbers]


def _keys(answer: Answer, name: str) -> list[Any]:
    found = [key for key in answer[name].values if key is not None]
    if not found:
        raise InvalidValue(
            "No group was large enough to be released. Spend more, or declare the keys: tacit "
            "domain DATASET.COLUMN KEY,KEY --source policy"
        )
    return found


# ------------------------------------------------------------------ limits
# The profile of a table: how many people have more rows than each limit of a ladder.

LADDER: tuple[int, ...] = (
    *range(1, 6),
    *(6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64),
    *(96, 128, 192, 256, 384, 512, 768, 1024),
    *(2048, 4096, 8192, 16384, 32768, 65536),
)
"""The limits of a profile. It is public and ends at 65,536, whatever the data are. Limits of
totals are these multiples of the column's upper bound."""

SHARE = Fraction(1, 40)
"""Part of the budget's cap that each of the two questions costs; 5% for both."""

FEW = Fraction(5, 2)
"""Standard deviations of noise below which nobody is taken to be beyond a limit."""

NEAR, RARE = 8, Fraction(4)
"""Cells above so many times a limit are far, and are noise up to four standard deviations."""

SURE = Fraction(991, 1000)
"""Probability that the fresh count is below its upper end. The 0.1% beyond the 99% that a
profile claims is for the number of rows of a mean, whose interval needs both."""

CELL, PEOPLE, MINE = "cell", "people", "mine"


@dataclass(frozen=True, slots=True)
class Rung:
    """A limit of the ladder, and how many people have more, by the histogram.

    ``low`` and ``high`` hold with probability 95% for each rung, but not for all together.
    ``noise`` is the margin of error of a count, or of a sum, at the loss of a quote without an
    amount. The limit cuts at least the share ``least_cut`` of all rows, or of the sum.
    """

    limit: Fraction
    low: int
    high: int
    noise: Fraction
    least_cut: Fraction


@dataclass(frozen=True, slots=True, repr=False)
class LimitsEstimate:
    """The histogram of a table's people by their rows or totals, with a suggested limit.

    It prints as a table with the noise and the cut of each limit side by side.
    """

    dataset: str
    unit: str
    rungs: tuple[Rung, ...]
    suggested: Fraction
    now: Fraction
    answer: Answer
    column: str | None = None
    """The column whose totals were measured; None for rows."""

    def __repr__(self) -> str:
        return "\n".join((text(self.columns), "", *self.notes))

    def _repr_html_(self) -> str:
        return html(self.columns, self.notes)

    @property
    def shown(self) -> tuple[Rung, ...]:
        """The rungs that are worth a look: up to two above the suggested and current limits."""
        last = max(self.suggested, self.now)
        above = [rung.limit for rung in self.rungs if rung.limit > last][:2]
        return tuple(rung for rung in self.rungs if rung.limit <= max([last, *above]))

    @property
    def columns(self) -> tuple[ReleasedColumn, ...]:
        """The table: the noise and the cut of each limit, with the current one marked."""
        shown, what = self.shown, "rows" if self.column is None else "sum"
        marks = {self.now: "now"}
        marks[self.suggested] = "now, suggested" if self.now == self.suggested else "suggested"
        return (
            ReleasedColumn(self.name, tuple(rung.limit for rung in shown)),
            ReleasedColumn(
                f"noise of a {'count' if self.column is None else 'sum'} (95%)",
                tuple(f"± {ceil(rung.noise)}" for rung in shown),
            ),
            ReleasedColumn(
                f"{self.unit}s cut (95%)",
                tuple(f"{rung.low} to {rung.high}" for rung in shown),
            ),
            ReleasedColumn(f"{what} cut (95%)", tuple(self._cut(rung) for rung in shown)),
            ReleasedColumn("", tuple(marks.get(rung.limit, "") for rung in shown)),
        )

    def _cut(self, rung: Rung) -> str:
        if rung.limit >= self.suggested:
            return "not known"
        return f"at least {float(100 * rung.least_cut):.2g}%"

    @property
    def name(self) -> str:
        """The name of the limit: ``max_rows``, or ``max_total`` of a column."""
        return "max_rows" if self.column is None else "max_total"

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines below the table."""
        best = plain(self.suggested)
        [rung] = [each for each in self.rungs if each.limit == self.suggested]
        people = f"Between {rung.low} and {rung.high} {self.unit}s"
        if self.column is None:
            noise = "The noise is that of COUNT(*) for a tenth of the budget"
            more = "; the noise of a SUM and of an AVG grows with the limit in the same way"
            rows = "1 row" if best == "1" else f"{best} rows"
            cut, few = f"the rows of a {self.unit}", f"have more than {rows}"
        else:
            noise, more = (
                f"The noise is that of SUM({self.column}) for a tenth of the budget",
                "",
            )
            cut, few = f"the total of a {self.unit}", f"have a total above {best}"
        return (
            f"A limit cuts {cut} above it.",
            f"{noise}{more}.",
            f"{people} {few} (95%); the noise hides how many.",
            "The profile counts the people beyond the chosen limit again, and more exactly.",
        )


def estimate_limits(
    curator: Curator, dataset: str, loss: Loss | None = None, column: str | None = None
) -> LimitsEstimate:
    """Ask for the histogram of a dataset's people by their rows, and suggest a limit.

    With a ``column``, it is the histogram of people by the sum of the column over their rows.
    The ``loss`` is by default 2.5% of the cap. The same question again is free.

    Guarantee: this is an ordinary question, which is charged before any data is read. The
    suggestion is post-processing of its answer.
    """
    question = histogram(curator, dataset, column)
    return read_limits(curator, dataset, *_ask(question, loss), column)


def read_limits(
    curator: Curator, dataset: str, answer: Answer, quote: Quote, column: str | None = None
) -> LimitsEstimate:
    """Return the noise and the cut of each limit by the answer to `histogram`, and suggest one.

    Guarantee: this is post-processing of the answer.
    """
    spread = variance(quote.tallies[0].mechanism)
    found = dict(zip(answer[CELL].values, answer[PEOPLE].values, strict=True))
    cells = [_number(found[place]) for place in range(len(LADDER) + 1)]
    one, (now, noise) = unit_of(curator, dataset, column), _noise(curator, dataset, column)
    suggested = suggest(cells, spread)
    cuts = _cuts(cells, spread, suggested, whole=column is None)
    rungs = tuple(
        Rung(
            limit * one, *_people(cells[at + 1 :], spread), limit * noise * one / now, cuts[at]
        )
        for at, limit in enumerate(LADDER)
    )
    unit = quote.population.unit.name
    return LimitsEstimate(dataset, unit, rungs, suggested * one, now, answer, column)


def measure_profile(
    curator: Curator, dataset: str, limit: int, loss: Loss | None = None
) -> RowsProfile:
    """Count the people with more than ``limit`` rows, for a charge, and return the profile.

    The ``loss`` is by default 2.5% of the cap.

    Guarantee: with probability 99%, at most as many people have more rows as the profile says.
    """
    check_limit(limit)
    people, release = _count_beyond(curator, dataset, Fraction(limit), loss, None)
    return RowsProfile(limit, people, curator.catalog.epochs_of(dataset), release)


def check_limit(limit: int) -> None:
    """Refuse a limit of rows that no profile can have."""
    if not 1 <= limit <= LADDER[-1]:
        raise InvalidValue(
            f"The limit of a profile must be from 1 to {LADDER[-1]} rows; {limit} was given."
        )


def measure_totals(
    curator: Curator, dataset: str, column: str, amount: Fraction, loss: Loss | None = None
) -> TotalProfile:
    """Count the people with a total of ``column`` above ``amount``, for a charge.

    The ``loss`` is by default 2.5% of the cap.

    Guarantee: with probability 99%, at most as many people have a larger total.
    """
    most = LADDER[-1] * unit_of(curator, dataset, column)
    if not 0 < amount <= most:
        raise InvalidValue(
            f"The amount of a profile of totals must be above 0 and at most {plain(most)}; "
            f"{plain(amount)} was given."
        )
    people, release = _count_beyond(curator, dataset, amount, loss, column)
    return TotalProfile(amount, people, curator.catalog.epochs_of(dataset), release)


def _count_beyond(
    curator: Curator, dataset: str, limit: Fraction, loss: Loss | None, column: str | None
) -> tuple[int, str]:
    """Return the most people beyond a limit, by a fresh count, and the charge's receipt."""
    answer, quote = _ask(beyond(curator, dataset, limit, column), loss)
    return read_people(answer, quote), answer.receipt.hex()


def read_people(answer: Answer, quote: Quote) -> int:
    """Return the most people that the answer to `beyond` means, with probability 99%."""
    return people_beyond(_number(answer[PEOPLE].values[0]), quote.tallies[0].mechanism)


def _number(value: object) -> Fraction:
    """Return a released count; a value that is missing must not pass for 0."""
    if not isinstance(value, int | Fraction):
        raise InternalError("A count of people has no value.")
    return Fraction(value)


def unit_of(curator: Curator, dataset: str, column: str | None) -> Fraction:
    """Return the unit of the ladder: one row, or the upper bound of a column."""
    if column is None:
        return Fraction(1)
    found = curator.catalog.dataset(dataset).schema[column]
    if found.bounds is None or found.bounds.lower < 0 or found.bounds.upper <= 0:
        raise InvalidValue(
            f"Totals can be measured of columns with bounds from 0 upwards, and {column!r} has "
            "none. Declare its bounds first, or set max_total without measuring."
        )
    return found.bounds.upper


def suggest(cells: Sequence[Fraction], variance_of_cell: Fraction) -> int:
    """Return one step above the least limit with hardly anybody beyond it.

    ``cells`` are the noisy numbers of people on the ladder, and one cell for those beyond it.
    Cells far above a limit are judged by themselves, and less strictly: otherwise noise in a
    single one of them could carry the suggestion far up.

    Example:
        >>> people = [Fraction(n) for n in (9000, 5000, 900, 80, 3)] + [Fraction(0)] * 29
        >>> suggest(people, Fraction(100))
        4
    """
    for place, limit in enumerate(LADDER):
        above = cells[place + 1 :]
        near = sum(each <= NEAR * limit for each in LADDER[place + 1 :])
        rest = above[near:]
        if _is_noise(above, variance_of_cell, FEW) or (
            _is_noise(above[:near], variance_of_cell, FEW)
            and _is_noise(rest, variance_of_cell, RARE)
        ):
            return LADDER[min(place + 1, len(LADDER) - 1)] if place else limit
    return LADDER[-1]


def _is_noise(cells: Sequence[Fraction], variance_of_cell: Fraction, times: Fraction) -> bool:
    """Return whether the sum of cells is at most so many standard deviations of noise."""
    spread = sqrt_bounds(len(cells) * variance_of_cell)[1]
    return sum(cells, Fraction(0)) <= times * spread


def people_beyond(released: Fraction, mechanism: Mechanism) -> int:
    """Return the most people that the ``released`` count means, with probability 99%."""
    # the error is on either side with half of the probability
    return max(0, ceil(released + mechanism.error(1 - 2 * (1 - SURE))))


def _ask(question: Question, loss: Loss | None) -> tuple[Answer, Quote]:
    """Ask a question of a profile at ``loss`` or the usual one; return its quote as well.

    A stored answer of a larger loss may be returned: its noise is not larger than quoted.
    """
    asked = loss or share_of_cap(question)
    answer = ask(question.curator, question.plan, asked)
    return answer, price_question(question.curator, question.plan, asked)


def share_of_cap(question: Question) -> Loss:
    """Return the usual loss of one question of a profile: 2.5% of the cap of the budget."""
    status = question.status()
    return Loss(status.measure, status.cap.amount * SHARE)


def _people(above: Sequence[Fraction], spread: Fraction) -> tuple[int, int]:
    """Return an interval of the number of people in the cells ``above`` a limit."""
    people = sum(above, Fraction(0))
    reach = Fraction(NormalDist().inv_cdf(0.975) * sqrt(spread * len(above)))
    return max(0, floor(people - reach)), max(0, ceil(people + reach))


def _cuts(
    cells: Sequence[Fraction], spread: Fraction, last: int, *, whole: bool
) -> list[Fraction]:
    """Return the least share of all rows that each limit cuts, with probability 95% each.

    Rows are added up from one limit of the ladder to the next, up to the ``last`` of each
    person: further rows would only make the share larger. All people beyond a limit have the
    first row above it, and those beyond the next limit have all of them. Totals are no
    ``whole`` numbers of rows, so that people beyond a limit may have almost nothing above it.
    """
    beyond = [_people(cells[place:], spread) for place in range(len(cells))]
    least, most = [], []
    for place, (low, high) in enumerate(pairwise((0, *LADDER))):
        wide = high - low if high <= last else 0
        first = min(wide, 1) if whole else 0
        most.append(wide * beyond[place][1])
        least.append(first * beyond[place][0] + (wide - first) * beyond[place + 1][0])
    rows = Fraction(max(sum(most), 1))
    return [sum(least[at:]) / rows for at in range(1, len(LADDER) + 1)]


def _noise(curator: Curator, dataset: str, column: str | None) -> tuple[Fraction, Fraction]:
    """Return the current limit, and the margin of error of a count or sum that it gives.

    The margin is that of a quote without an amount.
    """
    declared, table = curator.catalog.dataset(dataset), _table(curator, dataset)
    now = Fraction(declared.limits.max_rows)
    if column is not None:
        most, one = declared.schema[column].max_total, unit_of(curator, dataset, column)
        now = now * one if most is None else min(max(most, one), now * one)
    [error] = table.agg(x=count() if column is None else total(column)).quote().errors
    return now, error.always or Fraction(0)


def histogram(curator: Curator, dataset: str, column: str | None = None) -> Question:
    """Return the question for the number of people in each cell of the ladder."""
    mine, one = col(MINE), unit_of(curator, dataset, column)
    cells = [(mine <= limit * one, place) for place, limit in enumerate(LADDER)]
    cell = case(*cells, (mine > LADDER[-1] * one, len(LADDER)))
    people = _people_with(curator, dataset, column)
    return people.group_by(**{CELL: cell}).agg(**{PEOPLE: count()})


def beyond(
    curator: Curator, dataset: str, limit: Fraction | int, column: str | None = None
) -> Question:
    """Return the question for the number of people with more than ``limit``."""
    people = _people_with(curator, dataset, column).where(col(MINE) > limit)
    return people.agg(**{PEOPLE: count()})


def _people_with(curator: Curator, dataset: str, column: str | None) -> Table[Question]:
    """Return a table with the rows, or the total, of each person, counted beyond the ladder.

    An owner's rule about small cells does not apply, because a bound on the people beyond a
    limit must not be left empty.
    """
    catalog = curator.catalog.with_limits(dataset, Limits(1, LADDER[-1] + 1)).without_rules()
    table = _table(replace(curator, catalog=catalog), dataset)
    # a link that has the unit itself is not followed, as in a question about this table alone
    for child, parent in pairwise(curator.catalog.path_to_unit(dataset)):
        way, above = child.unit, parent.unit
        if not isinstance(way, Link):
            break
        if not (isinstance(above, UnitColumn) and above.column == way.parent_column):
            left = f"{child.name}.{way.column}"
            table = table.join(parent.name, left=left, right=way.parent_column)
    mine = count() if column is None else total(f"{dataset}.{column}")
    return table.per_unit(**{MINE: mine})


def _table(curator: Curator, dataset: str) -> Table[Question]:
    return Table(curator.catalog, Scan(dataset), lambda plan: Question(plan, curator))
