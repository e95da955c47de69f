"""The contract of an estimator: the properties that every estimator must have.

The author provides a function that creates the estimator, some rows, one more row (a canary)
with the largest influence that a person can have, and a score that is high if the canary took
part. The contract checks that the price depends on the settings only; that the releases are
those that were priced; that a person who joins changes nothing by more than its sensitivity;
that the parameters are computed from releases only; and that fits with and without the canary
differ by no more than was claimed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import leaves, loss_of
from tacit.audit import ModelBound
from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core import Loss, Measure, decode_event, encode_event
from tacit.errors import TacitError
from tacit.ml import Arrays
from tacit.numeric import exact
from tacit.numeric.entropy import SystemEntropy
from tacit.plan import BoundedPlan, RowsOf
from tacit.query import Data, drive

METHODS = ("event", "steps", "get_params", "learn")
CONFIDENCE = 0.999
CHARGE = b"the contract"


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
    canary took part.
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
        """Return the violations, one sentence each; none for a good estimator."""
        return [*self.incomplete()] or [
            *self.priced_by_data(),
            *self.released_otherwise(),
            *self.shown_by_canary(),
        ]

    def incomplete(self) -> Iterator[str]:
        """Yield the required methods that the estimator does not have."""
        for name in METHODS:
            if not callable(getattr(self.make(), name, None)):
                yield f"The estimator has no {name}, which every estimator must have."

    def priced_by_data(self) -> Iterator[str]:
        """Yield violations of the price: it depends on rows, or exceeds the claimed loss."""
        model, arrays = self.make(), self._arrays(there=False)
        event = model.event(arrays.training)
        others = Arrays(self.features[:0] * 0, None if self.target is None else self.target[:0])
        if self.make().event(others.training) != event:
            yield "The event depends on the rows, and not only on settings and public facts."
        try:
            kept = decode_event(encode_event(event)) == event
        except Exception:  # noqa: BLE001 - with any error, a ledger cannot store it
            kept = False
        if not kept:
            yield "The event has a kind that the ledger does not know."
        elif loss_of(event, Measure.ZCDP).amount > model.rho:
            yield "The event loses more than the estimator's epsilon and delta allow."

    def released_otherwise(self) -> Iterator[str]:
        """Yield steps, releases or parameters that differ for neighbours beyond the noise."""
        model, watched = self.make(), RecordingEstimator(self.make())
        without, joined = self._arrays(there=False), self._arrays(there=True)
        training = without.training
        recording = RecordingGateway(SystemEntropy(CHARGE))
        try:
            found = drive(watched, training, self._data(without), recording)  # type: ignore[arg-type]
        except TacitError as error:
            yield f"A session cannot fit the estimator: {error}"
            return
        if not all(isinstance(step, BoundedPlan | RowsOf) for step in watched.asked):
            yield "The estimator asks for something other than sums or rows."
        charged = sum(times for _, times in leaves(model.event(training)))
        if len(recording.calls) != charged:
            yield (
                f"The estimator makes {len(recording.calls)} releases, and its event has "
                f"{charged}."
            )
        replaying = ReplayingGateway(recording.calls)
        try:
            again = drive(self.make(), training, self._data(joined), replaying)
            replaying.finish()
        except BrokenPromise as broken:
            yield f"The estimator distinguishes neighbours: {broken}"
            return
        if again != found:
            yield "The parameters are not computed from releases only."

    def shown_by_canary(self) -> Iterator[str]:
        """Yield a violation if fits reveal more of a canary than the claimed loss allows."""
        model = self.make()
        claimed = Loss.approximate(exact(model.epsilon), exact(model.delta))
        shown = ModelBound.of(self._score_of_fit, self.fits, claimed, CONFIDENCE)
        if shown.convicts:
            yield f"The fits reveal more of a canary than the estimator claims: {shown}"

    def _score_of_fit(self, there: bool) -> float:  # noqa: FBT001 - as ModelBound calls it
        return float(self.score(self.make().fit_to(self._arrays(there=there))))

    def _arrays(self, *, there: bool) -> Arrays:
        """Return the rows, with the canary or without."""
        if not there:
            return Arrays(self.features, self.target)
        target = self.target
        if target is not None:
            target = np.append(target, np.array([self.canary_target], dtype=target.dtype))
        return Arrays(np.vstack([self.features, self.canary]), target)

    @staticmethod
    def _data(arrays: Arrays) -> Data:
        return arrays.data()
