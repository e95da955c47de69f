"""One step of a stream: what leaves, and how it is made of secrets and kept noise."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, log, log1p, sqrt
from operator import itemgetter
from statistics import NormalDist

import numpy as np

from tacit.core import Guarantee, Release, ReleasedColumn, rounded
from tacit.engines import SecretTable, public_groups
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms import Gateway, Gaussian, Laplace, Sampler
from tacit.noise import (
    INT64_BITS,
    DiscreteGaussian,
    DiscreteLaplace,
    Integers,
    narrowed,
    packed,
)
from tacit.numeric.entropy import Entropy
from tacit.plan import Field, TotalReading
from tacit.query import CONFIDENCE, MOST_ROWS, posted
from tacit.render import cell
from tacit.stream.factor import Factor, Window
from tacit.stream.quote import StreamQuote
from tacit.stream.stream import Periods

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Step:
    """What is public after a step: the noisy totals of each tally so far, group by group.

    They are whole numbers of parts of 2**-bits. What is shown of any window is a difference of
    two of them, and costs nothing.
    """

    number: int
    totals: tuple[Integers, ...]

    def encode(self) -> bytes:
        """The canonical bytes, which the ledger keeps."""
        stored = {
            "tacit stream step": FORMAT,
            "number": self.number,
            "totals": [total.tolist() for total in self.totals],
        }
        return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, stored: bytes) -> "Step":
        """The step whose bytes are ``stored``."""
        try:
            value = json.loads(stored)
            return cls(value["number"], tuple(packed(total) for total in value["totals"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidValue("These are not the bytes of a step of a stream.") from error


@dataclass(frozen=True, slots=True)
class AddKept:
    """The draw of a stream: values, in parts of 2**-bits, and the noise that is kept for them.

    Guarantee: the sum is that of the integers, however large.
    """

    noise: Integers
    bits: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The values with their noise; nothing is drawn here."""
        del entropy
        if values.shape != self.noise.shape:
            raise InternalError("A step has as much noise as it has values.")
        if _within(values, INT64_BITS - self.bits) and _within(self.noise, INT64_BITS):
            summed: Integers = values.astype(np.int64) * 2**self.bits + self.noise
            return summed
        return narrowed(values.astype(object) * 2**self.bits + self.noise.astype(object))


def _within(values: Integers, bits: int) -> bool:
    return values.dtype != object and bool(np.abs(values).max(initial=0) < 2**bits)


def fresh_noise(quote: StreamQuote, entropy: Entropy) -> Integers:
    """A fresh draw for each number of a step, tally after tally."""
    samplers = [_sampler(part.noise) for part in quote.tallies]
    return np.concatenate([each.draw(entropy, quote.groups) for each in samplers])


def _sampler(noise: Gaussian | Laplace) -> Sampler:
    if isinstance(noise, Gaussian):
        return DiscreteGaussian(noise.variance)
    return DiscreteLaplace(noise.scale)


def released_step(
    quote: StreamQuote,
    before: Step | None,
    noise: Integers,
    table: SecretTable,
    gateway: Gateway,
) -> Step:
    """The step after ``before``: what the engine found in its period, with its kept noise."""
    parts = np.split(noise, len(quote.tallies))
    nothing = (np.zeros(quote.groups, dtype=np.int64),) * len(parts)
    earlier = nothing if before is None else before.totals
    totals = []
    for tally, secret, part, total in zip(
        quote.tallies, table.tallies, parts, earlier, strict=True
    ):
        now = gateway.release(secret, tally.step, AddKept(part, quote.factor.bits))
        totals.append(narrowed(total.astype(object) + now.astype(object)))
    return Step(0 if before is None else before.number + 1, tuple(totals))


# ------------------------------------------------------------------ reach
# How far what a stream shows can lie from the exact number of its window.

MARGIN = 1 + 1e-9
"""More than the floats of a deviation can be wrong by."""

RATES = [place / 1000 for place in range(1, 1000)]
"""Where the bound on a tail is looked for, as parts of the rate of one draw."""


def reach(
    noise: Gaussian | Laplace, spread: float, bits: int, horizon: int, confidence: Fraction
) -> Fraction:
    """What a shown number errs by at most, with this probability, in steps of its grid.

    ``spread`` is the deviation of what is shown, in deviations of a draw.

    Example:
        >>> reach(Laplace(Fraction(10)), 1.0, 0, 52, Fraction("0.95"))
        Fraction(30, 1)
    """
    if spread == 1 and not bits:
        return noise.error(confidence)
    if isinstance(noise, Laplace):
        return Fraction(_of_laplace(float(noise.scale), spread**2, float(1 - confidence)))
    deviation = sqrt(noise.variance) * spread * MARGIN
    found = deviation * NormalDist().inv_cdf(float(1 + confidence) / 2)
    # whole noise has whole reaches; other is rounded at each step, and mostly forgets it
    return Fraction(ceil(found)) if not bits else Fraction(found + 2 * sqrt(horizon) / 2**bits)


def _of_laplace(scale: float, draws: float, doubt: float) -> int:
    """By Chernoff's bound, for the sum of so many draws; discrete ones have thinner tails."""
    bounds = [(log(2 / doubt) - draws * log1p(-(rate**2))) / rate for rate in RATES]
    return ceil(scale * min(bounds) * MARGIN)


# ------------------------------------------------------------------ table
# What a step shows: a table with intervals, and under which policy it was released.


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


# ------------------------------------------------------------------ history
# The tables of many steps, one below the other.


def history(tables: Sequence[StreamRelease], periods: Periods, first: int = 0) -> StreamRelease:
    """The tables of steps from ``first`` on as one, each beside the first day of its period."""
    if not tables:
        raise InvalidValue("No step of this stream is released yet.")
    days = [
        periods.ends(number)[0].isoformat()
        for number, table in enumerate(tables, first)
        for _ in table.columns[0].values
    ]
    columns = [ReleasedColumn(periods.span.value.lower(), tuple(days))]
    for place, column in enumerate(tables[0].columns):
        same = [table.columns[place] for table in tables]
        values = tuple(value for each in same for value in each.values)
        intervals = tuple(around for each in same for around in each.intervals)
        columns.append(ReleasedColumn(column.name, values, intervals, column.confidence))
    last = tables[-1]
    return StreamRelease(tuple(columns), last.guarantee, last.receipt, last.policy)
