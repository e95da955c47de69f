"""Which memory to give the noise of a stream: that with the least error at its worst step."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256

from tacit import core
from tacit.accounting import loss_of
from tacit.choose import choose_noise
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms import Gaussian, Laplace
from tacit.plan import (
    Bound,
    Canonical,
    Field,
    FirstPeriods,
    PeriodKey,
    TotalReading,
    assumptions,
    bound,
    canonical,
    check_post,
    clamped_days,
    day_column,
    gather,
    group_count,
    sensitivities,
)
from tacit.query import losses
from tacit.stream.factor import Factor, Tree, Window
from tacit.stream.stream import Stream
from tacit.stream.toeplitz import Buffered, Toeplitz

BRANCHINGS = range(2, 9)
"""Branches of a tree: with more, totals have more nodes, and steps are in fewer."""

LONGEST_MEMORY = 4096
"""Steps up to which all noise is remembered; beyond, buffers are nearly as good, and small."""


def norm_for(loss: core.Loss) -> core.Norm:
    """The norm of the noise for a budget: Gaussian noise, or Laplace without a delta."""
    if loss.measure is core.Measure.ZCDP or loss.delta:
        return core.Norm.L2
    return core.Norm.L1


def choose_factor(window: Window, horizon: int, steps: int, norm: core.Norm) -> Factor:
    """The memory for what is shown, where one unit moves at most ``steps`` steps.

    For a step by itself that is none. For totals it is the square root of sums, or buffers for
    long streams, or a tree where noise is Laplace; but where a unit may be in all steps, fresh
    noise at each is better again.

    Example:
        >>> choose_factor(Window(None), 1000, 1, core.Norm.L1)
        Tree(horizon=1000, branching=6)
    """
    found = _candidates(window, horizon, norm)
    return min(found, key=lambda factor: worst(factor, window, steps, norm))


def worst(factor: Factor, window: Window, steps: int, norm: core.Norm) -> float:
    """The deviation at the worst step, where the loss allows a fresh draw one of 1."""
    one = core.Sensitivity.of(1, norm, core.Rule("a unit moves a step by 1"))
    return float(factor.moved(one, steps).amount) * float(factor.spread(window).max())


def _candidates(window: Window, horizon: int, norm: core.Norm) -> Iterator[Factor]:
    yield Toeplitz.independent(horizon)
    if norm is core.Norm.L1:
        yield from (Tree(horizon, branching) for branching in BRANCHINGS)
    elif horizon <= LONGEST_MEMORY or (window.steps or horizon) <= LONGEST_MEMORY:
        yield Toeplitz.square_root(horizon, window.steps)
    else:
        yield Buffered.square_root(horizon)


# ------------------------------------------------------------------ bounded step
# The question about one step, bounded: where a unit is in few steps, it is in its first.


def bounded_step(stream: Stream, number: int, catalog: core.Catalog) -> Bound:
    """What an engine runs for the step ``number``.

    Guarantee: over all steps, a unit counts in at most ``stream.steps`` of them, as long as no
    row of a period that is over is taken away or changed.
    """
    found = bound(canonical(stream.plan_of(number)).plan, catalog)
    if not stream.limited:
        return found
    plan = replace(found.plan, first_periods=_first_periods(stream, number, catalog))
    return replace(found, plan=plan)


def _first_periods(stream: Stream, number: int, catalog: core.Catalog) -> FirstPeriods:
    day = day_column(Field(stream.periods.day), gather(stream.plan.source, catalog).scope)
    _within(day, stream)
    period = PeriodKey("period", clamped_days(day), stream.periods.span, None)
    return FirstPeriods(period, stream.periods.ends(number)[0].isoformat(), stream.steps)


def _within(day: core.Column, stream: Stream) -> None:
    """Refuse periods beyond the bounds of days: clamped, they would be taken for others."""
    if day.bounds is None:
        return
    ends = [stream.periods.ends(number)[0] for number in (0, stream.horizon - 1)]
    low, high = (core.day_of(end) for end in (day.grid().lowest, day.grid().highest))
    span = stream.periods.span
    if not span.start(low) <= ends[0] <= ends[1] <= high:
        raise InvalidValue(
            f"The periods go from {ends[0]} to that of {ends[1]}, and {day.name!r} is declared "
            f"to hold days from {low} to {high}; declare wider bounds, or fewer steps."
        )


# ------------------------------------------------------------------ quote
# What a stream would do and cost, over its whole horizon: free, and without data.

Noise = Gaussian | Laplace


@dataclass(frozen=True, slots=True)
class StreamTally:
    """The fresh noise of one tally, and how far one unit moves a step of it."""

    noise: Noise
    step: core.Sensitivity


@dataclass(frozen=True, slots=True)
class StreamQuote:
    """A stream with its price.

    ``event`` is all of the horizon, charged once; ``bound`` is the question about its first
    step, from which those of others differ by their period.
    """

    stream: Stream
    question: Canonical
    bound: Bound
    population: core.Population
    factor: Factor
    tallies: tuple[StreamTally, ...]
    groups: int
    price_delta: Fraction
    assumptions: tuple[str, ...]

    event: core.Composed
    levels: tuple[tuple[int, core.Loss], ...]
    """Steps that a unit counts in, and what such a one loses over the horizon."""

    @property
    def noise_digest(self) -> str:
        """A digest of the noise and of how far one unit moves what it is added to.

        Noise of later steps builds on that of earlier ones, so that a stream that would be
        priced otherwise now, whatever the reason, must not go on.
        """
        return sha256(f"{core.encode_event(self.event)}\n{self.groups}".encode()).hexdigest()


def price_stream(stream: Stream, catalog: core.Catalog) -> StreamQuote:
    """What ``stream`` would do within its loss.

    Guarantee: no data is read, and the event's loss is within that of the stream.
    """
    question = canonical(stream.plan_of(0))
    bounded = bounded_step(stream, 0, catalog)
    names = tuple(measure.name for measure in question.plan.measures)
    check_post(question.post, bounded.plan.keys, names)
    population = catalog.population(catalog.dataset(bounded.plan.source.dataset).population)
    groups = _groups(bounded)
    norm, additions = norm_for(stream.loss), population.unit.neighbours.additions
    moved = min(stream.horizon, stream.steps * additions)
    factor = choose_factor(stream.window, stream.horizon, moved, norm)
    parts = losses(bounded, stream.loss)
    tallies = []
    for tally, loss in zip(bounded.plan.tallies, parts, strict=True):
        each = sensitivities(bounded.plan, tally, population.unit.neighbours)
        step = next(part for part in each if part.norm is norm)
        chosen = choose_noise([factor.moved(step, moved)], groups, loss).mechanism
        if not isinstance(chosen, Gaussian | Laplace):
            raise InternalError("A stream has Gaussian or Laplace noise.")
        tallies.append(StreamTally(chosen, step))
    assumed = assumptions(bounded.plan.source, catalog)
    if stream.limited:
        _check_kept(bounded, catalog)
        span = stream.periods.span.value.lower()
        stays = f"rows of {span}s that are over are neither removed nor changed"
        assumed = (*assumed, stays)
        if any(catalog.is_public(name) for name in bounded.plan.source.datasets):
            assumed = (*assumed, "the public tables that it joins do not change")

    def event(steps: int) -> core.Composed:
        most = min(stream.horizon, steps * additions)
        moves = [(part.noise, factor.moved(part.step, most)) for part in tallies]
        return core.Composed(tuple(noise.event(move) for noise, move in moves))

    def lost(steps: int) -> core.Loss:
        return loss_of(event(steps), stream.loss.measure, parts[-1].delta)

    if not lost(stream.steps) <= stream.loss:
        raise InternalError("A stream costs more than was asked for.")
    shown = {1, stream.window.steps or 1, stream.steps}
    return StreamQuote(
        stream=stream,
        question=question,
        bound=bounded,
        population=population,
        factor=factor,
        tallies=tuple(tallies),
        groups=groups,
        price_delta=parts[-1].delta,
        assumptions=assumed,
        event=event(stream.steps),
        levels=tuple((k, lost(k)) for k in sorted(shown) if k <= stream.steps),
    )


def _check_kept(bounded: Bound, catalog: core.Catalog) -> None:
    """Refuse to count units in a few steps where a copy keeps one row of each of them.

    Which row that is follows from all rows that a unit has when the copy is made. Of a unit
    that adds rows another may be kept in each copy, of another period each time: its earlier
    periods are then not there to be found, and it would count in every step.
    """
    for name in bounded.plan.source.datasets:
        table = catalog.table(name)
        if isinstance(table, core.Dataset) and table.copy is not None and table.copy.unique:
            raise InvalidValue(
                f"{name!r} is declared one_row, and its copy keeps one row of each unit as it "
                "is then; whether a unit was in an earlier step cannot be seen in it. Leave "
                "out max_steps, so that a unit may be in each step; or declare the table "
                "without one_row."
            )


def _groups(bounded: Bound) -> int:
    """The number of groups, of a question that a stream can answer."""
    if not all(isinstance(reading, TotalReading) for reading in bounded.readings):
        raise InvalidValue(
            "A stream releases COUNT and SUM; a mean is their ratio: SUM(x) / COUNT(x)."
        )
    groups = group_count(bounded.plan)
    if groups is None:
        raise InvalidValue(
            "The groups of a stream are public, the same at every step; declare the keys of "
            "the columns that it is grouped by."
        )
    return groups
