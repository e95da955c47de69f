"""The contract of an estimator: the properties that every estimator must have.

The author provides a function that creates the estimator, some rows, one more row (a canary)
with the largest influence that a person can have, and a score that is high if the canary took
part. The contract checks that the price depends on the settings only; that the releases are
those that were priced, with their noise; that a person who joins, or replaces another one,
changes nothing by more than its sensitivity, with one row or with several; that the parameters
are computed from releases only; that the settings alone make the same estimator again; and that
fits with and without the canary differ by no more than was claimed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import core
from tacit.accounting import leaves, loss_of
from tacit.audit import ModelBound
from tacit.audit.replay import BrokenPromise, Call, RecordingGateway, ReplayingGateway
from tacit.errors import TacitError
from tacit.mechanisms import AddNoise, Gaussian, Laplace
from tacit.ml import Arrays
from tacit.noise import DiscreteGaussian, DiscreteLaplace
from tacit.numeric import exact
from tacit.numeric.entropy import SystemEntropy
from tacit.plan import BoundedPlan, RowsOf
from tacit.query import drive
from tacit.testing.checks import run_checks

METHODS = ("event", "steps", "get_params", "learn")
CONFIDENCE = 0.999
CHARGE = b"the contract"

SEVERAL = 3
"""The limit on the rows of a person in the settings where a person may have several rows.

The canary then has twice as many rows, so that a plan which forgets the limit is noticed.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """The public facts that decide the noise of a fit: the limit on rows and the neighbours."""

    max_rows: int
    neighbours: core.Neighbours

    def __str__(self) -> str:
        return f'with max_rows={self.max_rows} and the neighbours "{self.neighbours.value}"'


SETTINGS = tuple(Setting(*each) for each in product((1, SEVERAL), core.Neighbours))

Person = tuple[tuple[float, ...], Any]
"""The features and the target of a person, whose rows are all alike."""


class RecordingEstimator:
    """An estimator whose steps are recorded, as the session that runs it sees them."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self.asked: list[object] = []

    def steps(self, training: Any, gateway: Any) -> Any:
        """Yield the estimator's steps, and record each."""
        steps = self._estimator.steps(training, gateway)
        step = next(steps, None)
        found: Any = None
        while step is not None:
            self.asked.append(step)
            sent = yield step
            try:
                step = steps.send(sent)
            except StopIteration as done:
                found, step = done.value, None
        return found


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorContract:
    """A function that creates an estimator, with rows for it and a canary.

    ``make`` is called for each fit. ``score`` takes a fitted estimator, and is higher if the
    canary took part. Prices and releases are checked for persons with one row and with several,
    and for both relations of neighbours. The fits that are scored have one row each.
    """

    make: Callable[[], Any]
    features: NDArray[np.float64]
    canary: tuple[float, ...]
    score: Callable[[Any], float]
    target: NDArray[Any] | None = None
    canary_target: Any = None
    fits: int = 100
    """The number of fits with the canary, and of fits without it."""

    def violations(self) -> list[str]:
        """Return the violations, one sentence each; none for a good estimator.

        A check that raises an error is a violation too.
        """
        return run_checks(self.incomplete) or run_checks(
            self.priced_by_data,
            self.released_otherwise,
            self.not_made_again,
            self.shown_by_canary,
        )

    def incomplete(self) -> Iterator[str]:
        """Yield the required methods that the estimator does not have."""
        for name in METHODS:
            if not callable(getattr(self.make(), name, None)):
                yield f"The estimator has no {name}, which every estimator must have."

    def priced_by_data(self) -> Iterator[str]:
        """Yield violations of the price: it depends on rows, or exceeds the claimed loss."""
        for setting in SETTINGS:
            for found in self._wrong_price(setting):
                yield f"{found} This was found {setting}."

    def _wrong_price(self, setting: Setting) -> Iterator[str]:
        model = self.make()
        event = model.event(self._arrays(setting).training)
        if self.make().event(self._no_rows(setting).training) != event:
            yield "The event depends on the rows, and not only on settings and public facts."
        try:
            kept = core.decode_event(core.encode_event(event)) == event
        except Exception:  # noqa: BLE001 - with any error, a ledger cannot store it
            kept = False
        if not kept:
            yield "The event has a kind that the ledger does not know."
        elif loss_of(event, core.Measure.ZCDP).amount > model.rho:
            yield "The event loses more than the estimator's epsilon and delta allow."

    def released_otherwise(self) -> Iterator[str]:
        """Yield steps, releases or parameters that differ for neighbours beyond the noise.

        A person joins the rows as the canary, or the canary replaces another person: the one
        whose row is farthest from it, one with opposite features, or one with another target.
        """
        for setting in SETTINGS:
            for found in self._wrong_releases(setting):
                yield f"{found} This was found {setting}."

    def _wrong_releases(self, setting: Setting) -> Iterator[str]:
        watched = RecordingEstimator(self.make())
        joined = self._arrays(setting, (self.canary, self.canary_target))
        training = joined.training
        recording = RecordingGateway(SystemEntropy(CHARGE))
        try:
            found = drive(watched, training, joined.data(), recording)  # type: ignore[arg-type]
        except TacitError as error:
            yield f"A session cannot fit the estimator: {error}"
            return
        if not all(isinstance(step, BoundedPlan | RowsOf) for step in watched.asked):
            yield "The estimator asks for something other than sums or rows."
        yield from _wrong_charge(self.make().event(training), recording.calls)
        for neighbour in self._neighbours(setting):
            replaying = ReplayingGateway(recording.calls)
            try:
                again = drive(self.make(), training, neighbour.data(), replaying)
                replaying.finish()
            except BrokenPromise as broken:
                yield f"The estimator distinguishes neighbours: {broken}"
                return
            if again != found:
                yield "The parameters are not computed from releases only."
                return

    def not_made_again(self) -> Iterator[str]:
        """Yield a violation if the settings of `get_params` make an estimator of another event.

        A model is stored and sent as its name and these settings.
        """
        model = self.make()
        again = type(model)(**model.get_params(deep=False))
        for setting in SETTINGS:
            training = self._no_rows(setting).training
            if again.event(training) != model.event(training):
                yield (
                    "The settings that get_params returns make an estimator of another event. "
                    f"This was found {setting}."
                )

    def shown_by_canary(self) -> Iterator[str]:
        """Yield a violation if fits reveal more of a canary than the claimed loss allows."""
        model = self.make()
        claimed = core.Loss.approximate(exact(model.epsilon), exact(model.delta))
        shown = ModelBound.of(self._score_of_fit, self.fits, claimed, CONFIDENCE)
        if shown.convicts:
            yield f"The fits reveal more of a canary than the estimator claims: {shown}"

    def _score_of_fit(self, there: bool) -> float:  # noqa: FBT001 - as ModelBound calls it
        person = (self.canary, self.canary_target) if there else None
        return float(self.score(self.make().fit_to(self._arrays(SETTINGS[0], person))))

    def _neighbours(self, setting: Setting) -> Iterator[Arrays]:
        """Yield neighbours of the rows with the canary."""
        if setting.neighbours is core.Neighbours.ADD_REMOVE:
            yield self._arrays(setting)
        else:
            for person in self._others():
                yield self._arrays(setting, person)

    def _others(self) -> Iterator[Person]:
        """Yield the persons that the canary replaces."""
        if len(self.features):
            distances = np.sum((self.features - np.array(self.canary)) ** 2, axis=1)
            far = int(np.argmax(distances))
            target = None if self.target is None else self.target[far]
            yield tuple(self.features[far].tolist()), target
        yield tuple(-value for value in self.canary), self.canary_target
        if self.target is not None:
            unlike = self.target[self.target != self.canary_target]
            for other in unlike[:1]:
                yield self.canary, other

    def _arrays(self, setting: Setting, person: Person | None = None) -> Arrays:
        """Return the rows, each of its own unit, and the rows of one more person if given."""
        features, target, units = self.features, self.target, np.arange(len(self.features))
        several = setting.max_rows > 1
        if person is not None:
            rows = 2 * setting.max_rows if several else 1
            features = np.vstack([features, *([person[0]] * rows)])
            units = np.append(units, [len(units)] * rows)
            if target is not None:
                added = np.array([person[1]] * rows, dtype=target.dtype)
                target = np.append(target, added)
        return Arrays(
            features, target, units if several else None, setting.max_rows, setting.neighbours
        )

    def _no_rows(self, setting: Setting) -> Arrays:
        """Return arrays without a row, about which the same facts are public."""
        target = None if self.target is None else self.target[:0]
        units = np.arange(0) if setting.max_rows > 1 else None
        return Arrays(self.features[:0], target, units, setting.max_rows, setting.neighbours)


def _wrong_charge(event: core.Event, calls: list[Call]) -> Iterator[str]:
    """Yield a violation if the recorded releases are not those of the event.

    Their noise is compared if the event and the draws have Laplace and Gaussian noise only.
    """
    priced = [leaf for leaf, times in leaves(event) for _ in range(times)]
    if len(calls) != len(priced):
        yield f"The estimator makes {len(calls)} releases, and its event has {len(priced)}."
        return
    made = [_event_of(call) for call in calls]
    if None in made or not all(
        isinstance(leaf, core.LaplaceNoise | core.GaussianNoise) for leaf in priced
    ):
        return
    lost = sum((_rho_of(each) for each in made if each is not None), Fraction(0))
    if lost > sum(map(_rho_of, priced), Fraction(0)):
        yield "The releases have less noise than the event says."


def _event_of(call: Call) -> core.Event | None:
    """Return the event of a release with Laplace or Gaussian noise; None for other draws."""
    match call.draw:
        case AddNoise(DiscreteLaplace(scale)):
            return Laplace(scale).event(call.sensitivity)
        case AddNoise(DiscreteGaussian(variance)):
            return Gaussian(variance).event(call.sensitivity)
        case _:
            return None


def _rho_of(event: core.Event) -> Fraction:
    return loss_of(event, core.Measure.ZCDP).amount
