"""One step of a stream: its stored form, its computation, and the table that is shown.

A `Step` holds the noisy running totals after a period. `released_step` computes it from the
engine's secret tallies and the stored noise. `table_of` turns one step, or the difference of
two, into a table with confidence intervals; this is post-processing and costs nothing.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, log, log1p, sqrt
from operator import itemgetter
from statistics import NormalDist

import numpy as np

from tacit.accounting import show_loss
from tacit.core import Guarantee, Release, ReleasedColumn
from tacit.engines import SecretTable, public_groups
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms import Gateway, Gaussian, Laplace, Sampler
from tacit.noise import (
    INT64_BITS,
    DiscreteGaussian,
    DiscreteLaplace,
    Integers,
    integer_array,
    narrow,
)
from tacit.numeric.entropy import Entropy
from tacit.plan import Field, Slack, TotalReading, UnitTally
from tacit.query import CONFIDENCE, MOST_ROWS, coverage, open_column, post_process
from tacit.render import cell
from tacit.stream.factor import EACH, Factor, Window
from tacit.stream.quote import StreamQuote
from tacit.stream.stream import Periods

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Step:
    """The public result of a step: the noisy running total of each tally, for each group.

    Totals are integers in units of 2**-bits. The sum over any window is the difference of two
    totals, and costs nothing.
    """

    number: int
    totals: tuple[Integers, ...]

    def encode(self) -> bytes:
        """Return the canonical bytes, which the ledger stores."""
        stored = {
            "tacit stream step": FORMAT,
            "number": self.number,
            "totals": [total.tolist() for total in self.totals],
        }
        return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, stored: bytes) -> "Step":
        """Return the step whose encoding is ``stored``."""
        try:
            value = json.loads(stored)
            return cls(
                value["number"], tuple(integer_array(total) for total in value["totals"])
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidValue(
                "The stored bytes cannot be decoded as a step of a stream, so they were "
                "changed."
            ) from error


@dataclass(frozen=True, slots=True)
class AddKept:
    """Addition of the stored noise to values, in units of 2**-bits.

    Guarantee: the sum is exact, however large the integers are.
    """

    noise: Integers
    bits: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the values with their noise; the entropy is not used."""
        del entropy
        if values.shape != self.noise.shape:
            raise InternalError("A step must have one noise value for each of its values.")
        if _within(values, INT64_BITS - self.bits) and _within(self.noise, INT64_BITS):
            summed: Integers = values.astype(np.int64) * 2**self.bits + self.noise
            return summed
        return narrow(values.astype(object) * 2**self.bits + self.noise.astype(object))


def _within(values: Integers, bits: int) -> bool:
    return values.dtype != object and bool(np.abs(values).max(initial=0) < 2**bits)


def fresh_noise(quote: StreamQuote, entropy: Entropy) -> Integers:
    """Draw fresh noise for each number of a step, tally after tally."""
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
    """Return the step after ``before``: the engine's tallies of its period, plus the noise."""
    parts = np.split(noise, len(quote.tallies))
    nothing = (np.zeros(quote.groups, dtype=np.int64),) * len(parts)
    earlier = nothing if before is None else before.totals
    totals = []
    for tally, secret, part, total in zip(
        quote.tallies, table.tallies, parts, earlier, strict=True
    ):
        now = gateway.release(secret, tally.step, AddKept(part, quote.factor.bits))
        totals.append(narrow(total.astype(object) + now.astype(object)))
    return Step(0 if before is None else before.number + 1, tuple(totals))


# ------------------------------------------------------------------ margin of error

MARGIN = 1 + 1e-9
"""Safety factor that is larger than the floating-point error of a standard deviation."""

RATES = [place / 1000 for place in range(1, 1000)]
"""Candidate rates at which Chernoff's bound is evaluated, relative to the rate of one draw."""


def reach(
    noise: Gaussian | Laplace, spread: float, bits: int, horizon: int, confidence: Fraction
) -> Fraction:
    """Return the margin of error of a shown number at ``confidence``, in steps of its grid.

    ``spread`` is the standard deviation of the shown number, relative to that of one draw.

    Example:
        >>> reach(Laplace(Fraction(10)), 1.0, 0, 52, Fraction("0.95"))
        Fraction(30, 1)
    """
    if spread == 1 and not bits:
        return noise.error(confidence)
    if isinstance(noise, Laplace):
        doubt = float(1 - confidence)
        return Fraction(_laplace_sum_tail(float(noise.scale), spread**2, doubt))
    deviation = sqrt(noise.variance) * spread * MARGIN
    found = deviation * NormalDist().inv_cdf(float(1 + confidence) / 2)
    # Without fraction bits the noise is an integer, and so is its bound. With fraction bits,
    # every step adds a rounding error, most of which decays in later steps.
    return Fraction(ceil(found)) if not bits else Fraction(found + 2 * sqrt(horizon) / 2**bits)


def _laplace_sum_tail(scale: float, draws: float, doubt: float) -> int:
    """Return a bound that a sum of Laplace draws exceeds with probability at most ``doubt``.

    It is Chernoff's bound for continuous Laplace noise; discrete noise has thinner tails.
    """
    bounds = [(log(2 / doubt) - draws * log1p(-(rate**2))) / rate for rate in RATES]
    return ceil(scale * min(bounds) * MARGIN)


# ------------------------------------------------------------------ table of a step


@dataclass(frozen=True, slots=True, repr=False)
class StreamRelease(Release):
    """The table of one step, with the stream's policy in sentences."""

    policy: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """The guarantee of the whole horizon, and the policy that says whom it protects."""
        return (*self.coverage, *self._dated, str(self.guarantee), *self.policy)


def table_of(  # noqa: PLR0913, PLR0917 - a step, its charge and how losses are shown
    quote: StreamQuote,
    step: Step,
    earlier: Step | None,
    receipt: bytes,
    noted: tuple[str, ...] = (),
    conversion_delta: Fraction = Fraction(0),
) -> StreamRelease:
    """Return the table that is shown at ``step``, for a window that begins after ``earlier``.

    The guarantee includes ``noted``, the assumptions of earlier answers about the same people.
    The policy shows each rho as an epsilon at ``conversion_delta`` too, unless it is 0.
    """
    plan, groups = quote.question.plan, public_groups(quote.bound.plan)
    if groups is None:
        raise InternalError("The groups of a stream must be public.")
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
    release = post_process(Release((*keys, *measures), guarantee, receipt), quote.question.post)
    said = coverage(quote.bound, quote.population.unit.name)
    slacks = [
        _slack_of(reading, quote)
        for reading in quote.bound.readings
        if isinstance(reading, TotalReading)
    ]
    if slacks != [*quote.bound.slacks]:
        said += ("Limits of steps, and windows of distinct counts, open intervals too.",)
    policy = policy_of(quote, conversion_delta)
    return StreamRelease(release.columns, guarantee, receipt, policy, coverage=said)


def policy_of(quote: StreamQuote, conversion_delta: Fraction = Fraction(0)) -> tuple[str, ...]:
    """Return sentences that state whom the loss applies to.

    They also list the loss of a unit by the number of steps that the unit counts in. A rho is
    shown as an epsilon at ``conversion_delta`` too, unless that is 0.
    """
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
        f"{'all ' if steps == stream.horizon else ''}{steps}: "
        + show_loss(loss, conversion_delta)
        for steps, loss in quote.levels
    ]
    lines = (
        f"Policy: this is the loss of all {whole} together, for {said}.",
        f"By the {span}s that a {unit} counts in, they lose {'; '.join(losses)}.",
        f"Shown: {stream.window}.",
    )
    return ("\n".join(lines),)


def expected_step_errors(quote: StreamQuote) -> tuple[str, ...]:
    """Return the expected margin of error in the first and last step, for each output.

    It is computed without data.
    """
    span = quote.stream.periods.span.value.lower()
    pairs = zip(quote.question.plan.measures, quote.bound.readings, strict=True)
    readings = {Field(measure.name): reading for measure, reading in pairs}
    lines = []
    for output in quote.question.post.plain_outputs:
        found = output.expression
        reading = readings.get(found) if isinstance(found, Field) else None
        if isinstance(reading, TotalReading):
            steps = (0, quote.stream.horizon - 1)
            ends = [_margin_of_error(reading, quote, number) for number in steps]
            first, last = (cell(far, (Fraction(0), 2 * far)) for far in ends)
            far = first if first == last else f"{first} in the first {span}, {last} in the last"
            lines.append(f"{output.name} has a margin of error (95%) of at most {far}.")
    return tuple(lines)


def _column(
    name: str, reading: TotalReading, quote: StreamQuote, step: Step, earlier: Step | None
) -> ReleasedColumn:
    factor, far = quote.factor, _margin_of_error(reading, quote, step.number)
    shown = step.totals[reading.tally]
    if earlier is not None:
        shown = shown.astype(object) - earlier.totals[reading.tally].astype(object)
    part = reading.step / 2**factor.bits
    values = [part * int(number) for number in shown.tolist()]
    intervals = tuple((value - far, value + far) for value in values)
    column = ReleasedColumn(name, tuple(values), intervals, CONFIDENCE)
    return open_column(column, reading, _slack_of(reading, quote))


def _slack_of(reading: TotalReading, quote: StreamQuote) -> Slack:
    """Return which ends of the intervals of ``reading`` hold what was asked.

    If a stream limits the number of steps of a unit, units are missing in later steps. Numbers
    of distinct units are added up over the steps of a window.
    """
    slack = quote.bound.slacks[quote.bound.readings.index(reading)]
    tally = quote.bound.plan.tallies[reading.tally]
    low, high = slack.low, slack.high
    if quote.stream.limited:
        low, high = low and tally.low >= 0, high and tally.high <= 0
    if isinstance(tally, UnitTally) and quote.stream.window != EACH:
        low = False  # a unit counts once in each step, and so more than once in a window
    return replace(slack, low=low, high=high)


def _margin_of_error(reading: TotalReading, quote: StreamQuote, number: int) -> Fraction:
    """Return the margin of error, at `CONFIDENCE`, of a number that step ``number`` shows."""
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


# ------------------------------------------------------------------ tables of many steps


def history(tables: Sequence[StreamRelease], periods: Periods, first: int = 0) -> StreamRelease:
    """Return one table with the rows of all ``tables``, the releases of steps from ``first``.

    A first column holds the first day of each row's period.
    """
    if not tables:
        raise InvalidValue("No step of this stream is released yet. Release a step first.")
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
        counted = (
            tuple(around for each in same for around in each.counted or each.intervals)
            if any(each.counted for each in same)
            else ()
        )
        columns.append(
            ReleasedColumn(column.name, values, intervals, column.confidence, counted)
        )
    return replace(tables[-1], columns=tuple(columns))
