"""What a step shows: a table with intervals, and under which policy it was released."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter

from tacit.core.guarantee import Guarantee
from tacit.core.release import Release, ReleasedColumn
from tacit.core.standing import rounded
from tacit.engines.engine import public_groups
from tacit.errors import InternalError
from tacit.plan.expression import Field
from tacit.plan.reading import TotalReading
from tacit.query.column import CONFIDENCE, MOST_ROWS
from tacit.query.post import posted
from tacit.render.cell import cell
from tacit.stream.factor import Factor
from tacit.stream.quote import StreamQuote
from tacit.stream.reach import reach
from tacit.stream.step import Step
from tacit.stream.window import Window


@dataclass(frozen=True, slots=True, repr=False)
class StreamRelease(Release):
    """The table of one step, and the policy as sentences."""

    policy: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """The guarantee, which is that of the whole horizon, and for whom."""
        return (str(self.guarantee), *self.policy)


def table_of(
    quote: StreamQuote,
    step: Step,
    earlier: Step | None,
    receipt: bytes,
    noted: tuple[str, ...] = (),
) -> StreamRelease:
    """The table that ``step`` shows, where the window begins after the step ``earlier``.

    Its guarantee adds what was ``noted`` of earlier answers about the same people.
    """
    plan, groups = quote.question.plan, public_groups(quote.bound.plan)
    if groups is None:
        raise InternalError("The groups of a stream are public.")
    keys = [
        ReleasedColumn(key.name, tuple(map(itemgetter(place), groups)))
        for place, key in enumerate(plan.keys)
    ]
    measures = [
        _column(measure.name, reading, quote, step, earlier)
        for measure, reading in zip(plan.measures, quote.bound.readings, strict=True)
        if isinstance(reading, TotalReading)
    ]
    guarantee = Guarantee(
        quote.population,
        quote.stream.loss,
        (*quote.assumptions, *noted),
        quote.event.numerics,
    )
    release = posted(Release((*keys, *measures), guarantee, receipt), quote.question.post)
    return StreamRelease(release.columns, guarantee, receipt, policy_of(quote))


def policy_of(quote: StreamQuote) -> tuple[str, ...]:
    """Whom the loss speaks of, and what others lose: by how many steps they are in."""
    stream, unit = quote.stream, quote.population.unit.name
    span = stream.periods.span.value.lower()
    whole = f"{stream.horizon} {span}s"
    if stream.limited:
        few = span if stream.steps == 1 else f"{stream.steps} {span}s"
        said = (
            f"a {unit} with all their rows: they count in the first {few} that they have rows "
            "in, and in no other"
        )
    else:
        said = f"a {unit} over the horizon: one who is in every one of the {whole}"
    losses = [
        f"{'all ' if steps == stream.horizon else ''}{steps}: {rounded(loss)}"
        for steps, loss in quote.levels
    ]
    lines = (
        f"Policy: this is the loss of all {whole} together, for {said}.",
        f"By the {span}s that a {unit} counts in, they lose {'; '.join(losses)}.",
        f"Shown: {stream.window}.",
    )
    return ("\n".join(lines),)


def expected(quote: StreamQuote) -> tuple[str, ...]:
    """How far numbers will miss in the first step and in the last; known without data."""
    span = quote.stream.periods.span.value.lower()
    pairs = zip(quote.question.plan.measures, quote.bound.readings, strict=True)
    readings = {Field(measure.name): reading for measure, reading in pairs}
    lines = []
    for output in quote.question.post.outputs:
        found = output.expression
        reading = readings.get(found) if isinstance(found, Field) else None
        if isinstance(reading, TotalReading):
            ends = [_misses(reading, quote, place) for place in (0, quote.stream.horizon - 1)]
            first, last = (cell(far, (Fraction(0), 2 * far)) for far in ends)
            far = first if first == last else f"{first} in the first {span}, {last} in the last"
            lines.append(f"{output.name} misses by at most {far}, with 95%.")
    return tuple(lines)


def _column(
    name: str, reading: TotalReading, quote: StreamQuote, step: Step, earlier: Step | None
) -> ReleasedColumn:
    factor, far = quote.factor, _misses(reading, quote, step.number)
    shown = step.totals[reading.tally]
    if earlier is not None:
        shown = shown.astype(object) - earlier.totals[reading.tally].astype(object)
    part = reading.step / 2**factor.bits
    values = [part * int(number) for number in shown.tolist()]
    intervals = tuple((value - far, value + far) for value in values)
    return ReleasedColumn(name, tuple(values), intervals, CONFIDENCE)


def _misses(reading: TotalReading, quote: StreamQuote, number: int) -> Fraction:
    """What a number that the step ``number`` shows errs by at most, nearly always."""
    factor = quote.factor
    around = reach(
        quote.tallies[reading.tally].noise,
        _spread(factor, quote.stream.window)[number],
        factor.bits,
        factor.horizon,
        CONFIDENCE,
    )
    return around * reading.step + MOST_ROWS * reading.rounding


@lru_cache(maxsize=16)
def _spread(factor: Factor, window: Window) -> tuple[float, ...]:
    return tuple(factor.spread(window).tolist())
