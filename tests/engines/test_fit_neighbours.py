"""Nothing is learned from data but through charged noise: fits on neighbours, replayed.

`TACIT_FITS` says how many pairs of tables each model is fitted to; with `TACIT_CAMPAIGN`, a
folder, another run goes on where the last one stopped.
"""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Bar
from engines_over import ENGINES, Over, duckdb_over
from fitted_models import BOUNDS, MODELS, neighbouring

from tacit.accounting.pricing import leaves
from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.event import GaussianNoise
from tacit.core.sensitivity import Sensitivity
from tacit.engines import sql_engine
from tacit.engines.print import bounded_rows
from tacit.engines.print.statement import question
from tacit.ml.clipped_sum import ScaledRows
from tacit.ml.linear_regression import LinearRegression
from tacit.ml.output_perturbation import NoisyMinimiser, OutputPerturbation
from tacit.ml.sufficient_statistics import NoisySums
from tacit.noise.integers import Integers
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.estimator import Training
from tacit.query.paid_work import Data, drive

FITS = int(os.environ.get("TACIT_FITS", "50"))
CAMPAIGN = os.environ.get("TACIT_CAMPAIGN")


def replayed(model: Any, number: int) -> int:
    """Fit to one table, replay on its neighbour, and compare with what is charged."""
    arrays, left, right = neighbouring(number)
    training = arrays.training
    there = RecordingGateway(SystemEntropy(b"a charge"))
    drive(model, training, left.data(arrays), there)
    gone = ReplayingGateway(there.calls)
    drive(model, training, right.data(arrays), gone)
    gone.finish()
    done = [
        GaussianNoise(call.sensitivity.square, call.draw.sampler.variance)  # type: ignore[attr-defined]
        for call in there.calls
    ]
    charged = [leaf for leaf, times in leaves(model.event(training)) for _ in range(times)]
    if Counter(done) != Counter(charged):  # Newton's steps take turns
        raise BrokenPromise("What is released is not what the event holds.")
    return len(done)


@pytest.mark.parametrize("name", MODELS)
def test_a_neighbour_moves_no_fit_by_more_than_is_paid_for(name: str, bar: Bar) -> None:
    so_far = Path(CAMPAIGN) / f"fits-of-{name.replace(' ', '-')}" if CAMPAIGN else None
    done = int(so_far.read_text() or 0) if so_far and so_far.exists() else 0
    while done < FITS:
        assert replayed(MODELS[name](), done) > 0
        done += 1
        if so_far:
            so_far.parent.mkdir(exist_ok=True)
            so_far.write_text(str(done))
    bar(f"fits of {name}: neighbours replayed", done, f">= {FITS}", done >= FITS)


class Equal(ReplayingGateway):
    """Another engine over the same rows: what it opens is the same, and not only near."""

    def _check_distance(
        self, left: Integers, right: Integers, sensitivity: Sensitivity
    ) -> None:
        del sensitivity
        if left.tolist() != right.tolist():
            raise BrokenPromise(f"Batch {self.replayed} is another in the other engine.")


def sums_alike(model: Any, number: int, over: Over, *, more: int = 0) -> None:
    """Record a fit on the reference, and replay it on another engine, over as many rows."""
    arrays, here, _ = neighbouring(number)
    there = RecordingGateway(SystemEntropy(b"a charge"))
    drive(model, arrays.training, here.data(arrays), there)
    other = Equal(there.calls)
    same = replace(here, rows=[*here.rows[more:], *here.rows[:more]])
    engine = over(arrays.catalog, same.tables)
    drive(model, arrays.training, Data(engine, arrays.catalog, b"arrays"), other)
    other.finish()


NUMBERS = {"spark": (4,)}
"""Of the tables that are tried; each statement takes Spark a second."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
def test_engines_sum_the_same_for_every_step_of_a_fit(name: str, engine: str) -> None:
    for number in NUMBERS.get(engine, range(3, 6)):
        sums_alike(MODELS[name](), number, ENGINES[engine])


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_whose_rows_belong_to_others_is_caught(engine: str) -> None:
    with pytest.raises(BrokenPromise, match="is another in the other engine"):
        sums_alike(MODELS["regression"](), 4, ENGINES[engine], more=1)


class ForgetsRows(LinearRegression):
    """A lie: its noise is made for units of one row."""

    def _parts(self, training: Training) -> tuple[NoisySums, NoisySums]:
        one, other = super()._parts(training)
        square = training.max_rows**2
        return (
            replace(one, row_square=max(1, one.row_square // square)),
            replace(other, row_square=max(1, other.row_square // square)),
        )


class ForgetsSums(LinearRegression):
    """A lie: what it charges for is a part of what it releases."""

    def event(self, training: Training) -> Any:
        return super().event(training).events[0]  # type: ignore[attr-defined]


class LooksAtTheData(LinearRegression):
    """A lie: it asks for noise once more where the first release is large."""

    def steps(self, training: Training, gateway: Any) -> Any:
        sums = super().steps(training, gateway)
        plan = next(sums)
        secrets = yield plan
        part = self._parts(training)[0]
        if getattr(secrets[0], "_Secret__value")[0] > 0:  # noqa: B009 - that is the lie
            part.release(secrets[: len(part.tallies)], training, self.rho, gateway)
        try:
            sums.send(secrets)
        except StopIteration as done:
            return done.value


class ForgetsRowsOfMinimisers(OutputPerturbation):
    """A lie: a unit's rows move its minimiser as one would."""

    def noisy(self, training: Training, scaled: ScaledRows) -> NoisyMinimiser:
        return replace(super().noisy(training, scaled), max_rows=1)


def test_a_minimiser_that_forgets_how_many_rows_a_unit_has_is_caught() -> None:
    model = ForgetsRowsOfMinimisers(bounds=([-1, 0], [1, 50]), loss="hinge", penalty=2.0)
    with pytest.raises(BrokenPromise, match="changes by the square root of"):
        _ = [replayed(model, number) for number in range(50)]


@pytest.mark.parametrize("lie", [ForgetsRows, ForgetsSums, LooksAtTheData])
def test_a_model_that_lies_is_caught(lie: type[LinearRegression]) -> None:
    model = lie(bounds=([-1, 0], [1, 50]), target_bounds=(-1, 2), epsilon=5.0)
    with pytest.raises(BrokenPromise):
        _ = [replayed(model, number) for number in range(50)]


def alike_without_ends(numbers: Iterable[int]) -> None:
    """As above, where the end of bounds that NULL could be taken for lies inside of a ball."""
    model = LinearRegression(**BOUNDS, target_bounds=(-1, 2), norm=1.2, fit_intercept=False)
    for number in numbers:
        sums_alike(model, number, duckdb_over)


def test_columns_that_are_said_to_be_there_and_are_not_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        sql_engine, "statement", question
    )  # which is not kept for the next test
    alike_without_ends(range(3, 15))
    lie = {"rows.x0", "rows.x1", "rows.y"}
    monkeypatch.setattr(bounded_rows, "non_null_columns", lambda _: lie)
    with pytest.raises(BrokenPromise, match="is another in the other engine"):
        alike_without_ends(range(3, 15))
