"""What a stream would do and cost, over its whole horizon: free, and without data."""

from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

from tacit.accounting.price import loss_of
from tacit.choose.noise import choose_noise
from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset
from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.population import Population
from tacit.core.sensitivity import Sensitivity
from tacit.core.stored_event import encode
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.plan.bound import Bound
from tacit.plan.canonical import Canonical, canonical
from tacit.plan.post_kind import check_post
from tacit.plan.reading import TotalReading
from tacit.plan.sensitivity import group_count, sensitivities
from tacit.plan.source import assumptions
from tacit.query.share import losses
from tacit.stream.bounded_step import bounded_step
from tacit.stream.choose import choose_factor, norm_for
from tacit.stream.factor import Factor
from tacit.stream.stream import Stream

Noise = Gaussian | Laplace


@dataclass(frozen=True, slots=True)
class StreamTally:
    """The fresh noise of one tally, and how far one unit moves a step of it."""

    noise: Noise
    step: Sensitivity


@dataclass(frozen=True, slots=True)
class StreamQuote:
    """A stream with its price.

    ``event`` is all of the horizon, charged once; ``bound`` is the question about its first
    step, from which those of others differ by their period.
    """

    stream: Stream
    question: Canonical
    bound: Bound
    population: Population
    factor: Factor
    tallies: tuple[StreamTally, ...]
    groups: int
    price_delta: Fraction
    assumptions: tuple[str, ...]

    event: Composed
    levels: tuple[tuple[int, Loss], ...]
    """Steps that a unit counts in, and what such a one loses over the horizon."""

    @property
    def noise_digest(self) -> str:
        """A digest of the noise and of how far one unit moves what it is added to.

        Noise of later steps builds on that of earlier ones, so that a stream that would be
        priced otherwise now, whatever the reason, must not go on.
        """
        return sha256(f"{encode(self.event)}\n{self.groups}".encode()).hexdigest()


def price_stream(stream: Stream, catalog: Catalog) -> StreamQuote:
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

    def event(steps: int) -> Composed:
        most = min(stream.horizon, steps * additions)
        moves = [(part.noise, factor.moved(part.step, most)) for part in tallies]
        return Composed(tuple(noise.event(move) for noise, move in moves))

    def lost(steps: int) -> Loss:
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


def _check_kept(bounded: Bound, catalog: Catalog) -> None:
    """Refuse to count units in a few steps where a copy keeps one row of each of them.

    Which row that is follows from all rows that a unit has when the copy is made. Of a unit
    that adds rows another may be kept in each copy, of another period each time: its earlier
    periods are then not there to be found, and it would count in every step.
    """
    for name in bounded.plan.source.datasets:
        table = catalog.table(name)
        if isinstance(table, Dataset) and table.copy is not None and table.copy.unique:
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
