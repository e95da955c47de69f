"""The contract of an estimator: what every one must show, wherever it is written.

An author gives a way to make the estimator, some rows, one more row (a canary) that pushes as
hard as a person can, and a score that is high where the canary took part. The suite does the
rest: the price follows from settings alone; what is released is what the price holds; a person
who joins moves nothing by more than its sensitivity; what comes out is made of releases alone;
and fits with and without the canary show no more than was claimed.
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


class Watched:
    """An estimator whose steps are noted, as whoever drives it sees them."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self.asked: list[object] = []

    def steps(self, training: Any, gateway: Any) -> Any:
        """Hand on the steps, and note each."""
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
    """An estimator by how it is made, with rows for it and a canary.

    ``make`` is called anew for each fit. ``score`` reads a fitted estimator: it is higher where
    the canary took part.
    """

    make: Callable[[], Any]
    features: NDArray[np.float64]
    canary: tuple[float, ...]
    score: Callable[[Any], float]
    target: NDArray[Any] | None = None
    canary_target: Any = None
    fits: int = 100
    """Fits on each side of the audit."""

    def broken(self) -> list[str]:
        """Return what the estimator does not keep, a sentence each; none for a good one."""
        return [*self.incomplete()] or [
            *self.priced_by_data(),
            *self.released_otherwise(),
            *self.shown_by_canary(),
        ]

    def incomplete(self) -> Iterator[str]:
        """Members that the estimator does not have."""
        for name in METHODS:
            if not callable(getattr(self.make(), name, None)):
                yield f"Has no {name}, which every estimator has."

    def priced_by_data(self) -> Iterator[str]:
        """A price that depends on rows, is unknown to the ledger, or is above the claim."""
        model, arrays = self.make(), self._arrays(there=False)
        event = model.event(arrays.training)
        others = Arrays(self.features[:0] * 0, None if self.target is None else self.target[:0])
        if self.make().event(others.training) != event:
            yield "Its event depends on the rows, and not on settings and facts alone."
        try:
            kept = decode_event(encode_event(event)) == event
        except Exception:  # noqa: BLE001 - whatever it is, no ledger could hold it
            kept = False
        if not kept:
            yield "Its event is of a kind that the ledger does not know."
        elif loss_of(event, Measure.ZCDP).amount > model.rho:
            yield "Its event loses more than its epsilon and delta say."

    def released_otherwise(self) -> Iterator[str]:
        """Steps, releases or parameters by which somebody shows in more than noise."""
        model, watched = self.make(), Watched(self.make())
        without, joined = self._arrays(there=False), self._arrays(there=True)
        training = without.training
        recording = RecordingGateway(SystemEntropy(CHARGE))
        try:
            found = drive(watched, training, self._data(without), recording)  # type: ignore[arg-type]
        except TacitError as error:
            yield f"Cannot be driven by a session: {error}"
            return
        if not all(isinstance(step, BoundedPlan | RowsOf) for step in watched.asked):
            yield "Asks for something else than sums or rows."
        charged = sum(times for _, times in leaves(model.event(training)))
        if len(recording.calls) != charged:
            yield f"Releases {len(recording.calls)} times, and its event holds {charged}."
        replaying = ReplayingGateway(recording.calls)
        try:
            again = drive(self.make(), training, self._data(joined), replaying)
            replaying.finish()
        except BrokenPromise as broken:
            yield f"Tells neighbours apart: {broken}"
            return
        if again != found:
            yield "Gives parameters that are not made of releases alone."

    def shown_by_canary(self) -> Iterator[str]:
        """Fits that show more of a canary than the claimed loss allows."""
        model = self.make()
        claimed = Loss.approximate(exact(model.epsilon), exact(model.delta))
        shown = ModelBound.of(self._score_of_fit, self.fits, claimed, CONFIDENCE)
        if shown.convicts:
            yield f"Shows more of a canary than it claims: {shown}"

    def _score_of_fit(self, there: bool) -> float:  # noqa: FBT001 - as ModelBound calls it
        return float(self.score(self.make().fit_to(self._arrays(there=there))))

    def _arrays(self, *, there: bool) -> Arrays:
        """The rows, with the canary or without."""
        if not there:
            return Arrays(self.features, self.target)
        target = self.target
        if target is not None:
            target = np.append(target, np.array([self.canary_target], dtype=target.dtype))
        return Arrays(np.vstack([self.features, self.canary]), target)

    @staticmethod
    def _data(arrays: Arrays) -> Data:
        return arrays.data()
