"""Price a stream over its whole horizon, without reading data.

`price_stream` bounds the question of one step, chooses the noise factor with the smallest
error at the worst step, and calibrates the noise to the loss of the whole horizon. The result,
a `StreamQuote`, holds everything that is public about the stream.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256

from tacit import core
from tacit import plan as plans
from tacit.accounting import loss_of
from tacit.choose import choose_noise
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms import Gaussian, Laplace
from tacit.plan import assumptions, bound
from tacit.query import losses
from tacit.stream.factor import Factor, Tree, Window
from tacit.stream.stream import Stream
from tacit.stream.toeplitz import Buffered, Toeplitz

BRANCHINGS = range(2, 9)
"""Branching factors to try for a tree.

With more branches, a total is the sum of more nodes, but a step is in fewer nodes.
"""

LONGEST_MEMORY = 4096
"""Number of steps up to which all past noise is stored.

For longer streams, buffers have nearly the same error and need little storage.
"""


def norm_for(loss: core.Loss) -> core.Norm:
    """Return the norm for a loss: L2 (Gaussian noise), or L1 (Laplace) in pure epsilon."""
    if loss.measure is core.Measure.ZCDP or loss.delta:
        return core.Norm.L2
    return core.Norm.L1


def choose_factor(window: Window, horizon: int, steps: int, norm: core.Norm) -> Factor:
    """Return the factor with the least error, where a unit changes at most ``steps`` steps.

    For single steps, independent noise is best. For running totals, the best factor is the
    square root of the matrix of sums, or buffers for long streams, or a tree for Laplace noise.
    Where a unit may be in all steps, independent noise at each step is best again.

    Example:
        >>> choose_factor(Window(None), 1000, 1, core.Norm.L1)
        Tree(horizon=1000, branching=6)
    """
    found = _candidates(window, horizon, norm)
    return min(found, key=lambda factor: worst(factor, window, steps, norm))


def worst(factor: Factor, window: Window, steps: int, norm: core.Norm) -> float:
    """Return the standard deviation at the worst step, for noise with sensitivity 1.

    The unit is the standard deviation that the loss needs for a sensitivity of 1.
    """
    one = core.Sensitivity.of(1, norm, core.Rule("a unit moves a step by 1"))
    return float(factor.sensitivity(one, steps).amount) * float(factor.spread(window).max())


def _candidates(window: Window, horizon: int, norm: core.Norm) -> Iterator[Factor]:
    yield Toeplitz.independent(horizon)
    if norm is core.Norm.L1:
        yield from (Tree(horizon, branching) for branching in BRANCHINGS)
    elif horizon <= LONGEST_MEMORY or (window.steps or horizon) <= LONGEST_MEMORY:
        yield Toeplitz.square_root(horizon, window.steps)
    else:
        yield Buffered.square_root(horizon)


# ------------------------------------------------------------------ bounded plan of a step
# If a stream limits the number of steps of a unit (``max_steps``), the unit counts in the
# first steps in which it has rows. An engine finds these from the unit's rows in all periods so
# far, which is why such rows must not be removed or changed later.


def bounded_step(stream: Stream, number: int, catalog: core.Catalog) -> plans.Bound:
    """Return the bounded plan that an engine runs for step ``number``.

    Guarantee: over all steps, a unit counts in at most ``stream.steps`` of them, as long as no
    row of a period that is over is taken away or changed.
    """
    # The condition on the period excludes other keys in each step, and running totals need
    # the same groups in all. Rows of later steps arrive after a profile was measured.
    plan_now = plans.canonical(stream.plan_of(number)).plan
    found = bound(plan_now, catalog.without_profiles(), every_key=True)
    if found.min_people:
        raise InvalidValue(
            "A stream adds noise to running totals, and cannot leave small cells empty, as "
            "min_people of its dataset requires. Ask a question for each period instead."
        )
    if not stream.limited:
        return found
    plan = replace(found.plan, first_periods=_first_periods(stream, number, catalog))
    return replace(found, plan=plan)


def _first_periods(stream: Stream, number: int, catalog: core.Catalog) -> plans.FirstPeriods:
    day = plans.day_column(
        plans.Field(stream.periods.day), plans.gather(stream.plan.source, catalog).scope
    )
    _within(day, stream)
    period = plans.PeriodKey("period", plans.clamped_days(day), stream.periods.span, None)
    return plans.FirstPeriods(period, stream.periods.ends(number)[0].isoformat(), stream.steps)


def _within(day: core.Column, stream: Stream) -> None:
    """Raise for periods outside the bounds of the day column.

    Days are clamped to these bounds, so that such periods would get the rows of other days.
    """
    if day.bounds is None:
        return
    ends = [stream.periods.ends(number)[0] for number in (0, stream.horizon - 1)]
    low, high = (core.day_of(end) for end in (day.grid().lowest, day.grid().highest))
    span = stream.periods.span
    if not span.start(low) <= ends[0] <= ends[1] <= high:
        raise InvalidValue(
            f"The first period starts on {ends[0]} and the last on {ends[1]}, but {day.name!r} "
            f"is declared to hold days from {low} to {high}. Declare wider bounds, or fewer "
            "steps."
        )


# ------------------------------------------------------------------ quote

Noise = Gaussian | Laplace


@dataclass(frozen=True, slots=True)
class StreamTally:
    """The fresh noise of one tally, and the sensitivity of one step of the tally."""

    noise: Noise
    step: core.Sensitivity


@dataclass(frozen=True, slots=True)
class StreamQuote:
    """A stream with its price.

    ``event`` is the privacy event of the whole horizon, which is charged once. ``bound`` is the
    bounded plan of the first step; the plans of other steps differ only in their period.
    """

    stream: Stream
    question: plans.Canonical
    bound: plans.Bound
    population: core.Population
    factor: Factor
    tallies: tuple[StreamTally, ...]
    groups: int
    price_delta: Fraction
    assumptions: tuple[str, ...]

    event: core.Composed
    levels: tuple[tuple[int, core.Loss], ...]
    """Pairs of a number of steps, and the loss of a unit that counts in that many steps."""

    @property
    def noise_digest(self) -> str:
        """A hash of the noise, the sensitivities and the number of groups.

        The noise of a step depends on the noise of earlier steps. A stream whose price would
        now be different, for whatever reason, must therefore not continue. The hash is over
        first versions of events, so that streams which began with these do continue.
        """
        noise = core.encode_event(core.first_version(self.event))
        return sha256(f"{noise}\n{self.groups}".encode()).hexdigest()


def price_stream(stream: Stream, catalog: core.Catalog) -> StreamQuote:
    """Return the quote of ``stream``: its plan, its noise and its privacy event.

    Guarantee: no data is read, and the loss of the event is at most the loss of the stream.
    """
    question = plans.canonical(stream.plan_of(0))
    bounded = bounded_step(stream, 0, catalog)
    names = tuple(measure.name for measure in question.plan.measures)
    plans.check_post(question.post, bounded.plan.keys, names)
    population = catalog.population(catalog.dataset(bounded.plan.source.dataset).population)
    groups = _groups(bounded)
    norm, additions = norm_for(stream.loss), population.unit.neighbours.additions
    moved = min(stream.horizon, stream.steps * additions)
    factor = choose_factor(stream.window, stream.horizon, moved, norm)
    parts = losses(bounded, stream.loss)
    tallies = []
    for tally, loss in zip(bounded.plan.tallies, parts, strict=True):
        each = plans.sensitivities(bounded.plan, tally, population.unit.neighbours)
        step = next(part for part in each if part.norm is norm)
        chosen = choose_noise([factor.sensitivity(step, moved)], groups, loss).mechanism
        if not isinstance(chosen, Gaussian | Laplace):
            raise InternalError("The noise of a stream must be Gaussian or Laplace.")
        tallies.append(StreamTally(chosen, step))
    assumed = assumptions(bounded.plan.source, catalog)
    _check_rows_stay(bounded.plan.source, catalog)
    if stream.limited:
        _check_kept(bounded, catalog)
        span = stream.periods.span.value.lower()
        stays = f"rows of {span}s that are over are neither removed nor changed"
        assumed = (*assumed, stays)
        if any(catalog.is_public(name) for name in bounded.plan.source.datasets):
            assumed = (*assumed, "the public tables that it joins do not change")

    def event(steps: int) -> core.Composed:
        most = min(stream.horizon, steps * additions)
        moves = [(part.noise, factor.sensitivity(part.step, most)) for part in tallies]
        return core.Composed(tuple(noise.event(move) for noise, move in moves))

    def loss_over(steps: int) -> core.Loss:
        return loss_of(event(steps), stream.loss.measure, parts[-1].delta)

    if not loss_over(stream.steps) <= stream.loss:
        raise InternalError("The event of a stream costs more than the loss that was given.")
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
        levels=tuple((k, loss_over(k)) for k in sorted(shown) if k <= stream.steps),
    )


def _check_rows_stay(source: plans.Source, catalog: core.Catalog) -> None:
    """Raise where a row of an earlier step can cease to count because other rows arrive.

    NOT EXISTS and LEFT JOIN drop a row, or its NULLs, once a match arrives. A unit could then
    count in more steps than its limit.
    """
    below = source.gathered
    outer = [
        each for each in source.beside if each.outer and not catalog.is_public(each.dataset)
    ]
    if source.semis or outer:
        raise InvalidValue(
            "A stream supports neither EXISTS, IN (SELECT ...) nor LEFT JOIN of a dataset, "
            "because rows that arrive later would change which earlier rows count. Use JOIN."
        )
    if below is not None:
        _check_rows_stay(below.source, catalog)


def _check_kept(bounded: plans.Bound, catalog: core.Catalog) -> None:
    """Raise where a limit on steps meets a prepared copy with one row for each unit.

    Which row the copy holds depends on all rows that the unit has when the copy is made. If a
    unit gains rows, each new copy may hold a row of another period. The unit's earlier periods
    are then not in the copy, and the unit would count in every step.
    """
    for name in bounded.plan.source.datasets:
        table = catalog.table(name)
        if isinstance(table, core.Dataset) and table.copy is not None and table.copy.unique:
            raise InvalidValue(
                f"{name!r} is declared one_row, so its copy holds one row of each unit, as it "
                "was when the copy was made. Whether a unit was in an earlier step cannot be "
                "seen in such a copy. Leave out max_steps, so that a unit may be in each step; "
                "or declare the table without one_row."
            )


def _groups(bounded: plans.Bound) -> int:
    """Return the number of groups, and raise for a question that a stream cannot answer."""
    tallies = bounded.plan.tallies
    if any(isinstance(tally, plans.DistinctTally) for tally in tallies):
        raise InvalidValue(
            "A stream does not support COUNT(DISTINCT ...), except of the unit: distinct "
            "values of several steps do not add up. Ask for COUNT(*)."
        )
    if not all(isinstance(reading, plans.TotalReading) for reading in bounded.readings):
        raise InvalidValue(
            "A stream supports only COUNT and SUM. Ask for a mean as a ratio: "
            "SUM(x) / COUNT(x)."
        )
    groups = plans.group_count(bounded.plan)
    if groups is None:
        raise InvalidValue(
            "The groups of a stream must be public and the same at every step. Declare the "
            "keys of the columns that it is grouped by."
        )
    return groups
