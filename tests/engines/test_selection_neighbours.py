"""Choices, pipelines, cross-validation and searches on neighbours: replayed, and compared.

`TACIT_FITS` says how many pairs of tables each is fitted to.
"""

import os
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from conftest import Bar
from engines_over import duckdb_over
from fitted_models import BOUNDS, neighbouring

from tacit.accounting.pricing import leaves
from tacit.audit.replay import BrokenPromise, Call, RecordingGateway, ReplayingGateway
from tacit.core.event import Event, GaussianNoise
from tacit.core.privacy_unit import Neighbours
from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.core.unseal import unseal
from tacit.mechanisms.exponential import ChooseOne, Exponential
from tacit.mechanisms.gateway import Draw
from tacit.ml.error_counts import FewestErrors, LinearRule
from tacit.ml.linear_classifiers import LogisticRegression
from tacit.ml.linear_regression import LinearRegression
from tacit.ml.model_selection import ClassifierChoice, CrossValidation, ModelSearch
from tacit.ml.pipeline import Pipeline, StandardScaler
from tacit.noise.integers import Integers
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.estimator import Training
from tacit.plan.source import Fold
from tacit.plan.steps import WholeSteps
from tacit.plan.tally import RowSumTally
from tacit.query.paid_work import Data, drive

FITS = int(os.environ.get("TACIT_FITS", "50"))
LINES = [([1.0, 0.0], 0.0), ([-0.5, 0.1], -1.0), ([0.3, -0.02], 0.2)]


def logistic(**settings: Any) -> LogisticRegression:
    return LogisticRegression(**{**BOUNDS, "iterations": 2, **settings})


def scaled(model: Any) -> Pipeline:
    return Pipeline([["scale", StandardScaler(**BOUNDS)], ["model", model]])


MODELS = {
    "a choice": lambda: ClassifierChoice(LINES, **BOUNDS),
    "a scaled regression": lambda: scaled(
        LinearRegression(bounds=(-3, 3), target_bounds=(-1, 2), epsilon=5)
    ),
    "cross-validation": lambda: CrossValidation(logistic(), folds=3, epsilon=5),
    "scaled cross-validation": lambda: CrossValidation(
        scaled(logistic(bounds=(-2, 2))), folds=2, epsilon=5
    ),
    "a search": lambda: ModelSearch([logistic(), logistic(rate=1.0)], folds=2, epsilon=5),
}


class Strict(ReplayingGateway):
    """Counts batches that do not move, and sees that scores of counts move one way."""

    def __init__(self, calls: list[Call], relation: Neighbours) -> None:
        super().__init__(calls)
        self.relation = relation
        self.moved: list[bool] = []

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, draw: Draw
    ) -> Integers:
        steps = unseal(secret) - self.calls[self.replayed].opened
        self.moved.append(bool(steps.any()))
        one_way = (steps >= 0).all() or (steps <= 0).all()
        monotone = isinstance(draw, ChooseOne) and self.relation is Neighbours.ADD_REMOVE
        if monotone and not one_way:
            raise BrokenPromise("One unit moves two scores apart.")
        return super().release(secret, sensitivity, draw)


def event_of(call: Call, relation: Neighbours) -> Event:
    """What was done at the gateway, as an event."""
    if isinstance(call.draw, ChooseOne):
        one_way = relation is Neighbours.ADD_REMOVE
        chosen = Exponential(call.draw.rate, call.draw.candidates, monotone=one_way)
        return chosen.event(call.sensitivity)
    variance = call.draw.sampler.variance  # type: ignore[attr-defined]
    return GaussianNoise(call.sensitivity.square, variance)


def replayed(model: Any, number: int) -> tuple[list[Event], list[Event], list[bool]]:
    """What was done, what is charged, and which batches one unit moved."""
    arrays, left, right = neighbouring(number)
    training = arrays.training
    there = RecordingGateway(SystemEntropy(b"a charge"))
    drive(model, training, left.data(arrays), there)
    gone = Strict(there.calls, training.neighbours)
    drive(model, training, right.data(arrays), gone)
    gone.finish()
    done = [event_of(call, training.neighbours) for call in there.calls]
    charged = [leaf for leaf, times in leaves(model.event(training)) for _ in range(times)]
    return done, charged, gone.moved


@pytest.mark.parametrize("name", MODELS)
def test_a_neighbour_moves_nothing_by_more_than_is_paid_for(name: str, bar: Bar) -> None:
    batches = 0
    for number in range(FITS):
        model = MODELS[name]()
        done, charged, moved = replayed(model, number)
        if isinstance(model, CrossValidation) and number % 2 == 0:
            # a unit that comes or goes is in all fits but that of its own fold
            each = (len(done) - 1) // model.folds
            fits = [moved[at : at + each] for at in range(0, len(done) - 1, each)]
            assert not all(any(fit) for fit in fits)
            del done[:each]
        assert sorted(map(repr, done)) == sorted(map(repr, charged))
        batches += len(done)
    bar(f"{name}: neighbours replayed", FITS, f">= {FITS}", batches >= FITS)


class OfOneRow(FewestErrors):
    """A lie: its noise is made for units of one row."""

    def event(self, training: Training) -> Event:
        return super().event(replace(training, max_rows=1))

    def choose(self, rules: Any, rows: Any, training: Training, gateway: Any) -> Any:
        steps = super().choose(rules, rows, replace(training, max_rows=1), gateway)
        next(steps)
        try:
            steps.send((yield rows.step(training)))
        except StopIteration as done:
            return done.value


class ForgetsRows(ClassifierChoice):
    """The same lie, in a choice."""

    def _choice(self) -> FewestErrors:
        honest = super()._choice()
        return OfOneRow(honest.epsilon, honest.candidates)


class OneFitAlone(CrossValidation):
    """A lie: folds are disjoint, so that all fits are charged as one."""

    def event(self, training: Training) -> Event:
        return replace(super().event(training), events=(self.model.event(training),))


class BestAlone(ModelSearch):
    """A lie: "run all, keep the best" is charged as one run."""

    def event(self, training: Training) -> Event:
        whole = super().event(training)
        return replace(whole, events=whole.events[1:])  # type: ignore[attr-defined]


class RowsTogether(LinearRule):
    """A lie: how a row is judged depends on the number of rows beside it."""

    def error_indicators(self, rows: Integers, axes: Any) -> Integers:
        return len(rows) % 2 * super().error_indicators(rows, axes)


class ScoresOfNeighbours(ClassifierChoice):
    """The same lie, in a choice."""

    def _rules(self) -> list[LinearRule]:
        return [RowsTogether(rule.slopes, rule.starts) for rule in super()._rules()]


@pytest.mark.parametrize(
    "lie",
    [
        ForgetsRows(LINES, **BOUNDS),
        ScoresOfNeighbours(LINES, **BOUNDS),
        OneFitAlone(logistic(), folds=3, epsilon=5),
        BestAlone([logistic(), logistic(rate=1.0)], folds=2, epsilon=5),
    ],
    ids=lambda lie: type(lie).__name__,
)
def test_one_that_lies_is_caught(lie: Any) -> None:
    def caught(number: int) -> bool:
        try:
            done, charged, _ = replayed(lie, number)
        except BrokenPromise:
            return True
        one_less = isinstance(lie, CrossValidation) and number % 2 == 0
        fits = (len(done) - 1) // lie.folds if one_less else 0
        return sorted(map(repr, done[fits:])) != sorted(map(repr, charged))

    assert any(caught(number) for number in range(60))


@pytest.mark.parametrize("number", range(4))
def test_engines_put_the_same_units_into_the_same_fold(number: int) -> None:
    arrays, here, _ = neighbouring(2 + number)
    found: list[list[int]] = []
    in_duckdb = Data(duckdb_over(arrays.catalog, here.tables), arrays.catalog, b"arrays")
    for data in (here.data(arrays), in_duckdb):
        counts = []
        for fold in [each for at in range(3) for each in (Fold(at, 3), Fold(at, 3).others)]:
            training = replace(arrays.training, fold=fold)
            rows = RowSumTally(WholeSteps(1), 0, training.max_rows)
            counts.append(int(unseal(data.answer(training.plan([rows]))[0])[0]))
        found.append(counts)
    assert found[0] == found[1]
    inside, outside = found[0][::2], found[0][1::2]
    assert [a + b for a, b in zip(inside, outside, strict=True)] == [sum(inside)] * 3


def test_a_scaled_column_costs_the_same_whatever_was_released() -> None:
    arrays, _, _ = neighbouring(0)
    model = scaled(LinearRegression(bounds=(-3, 3), target_bounds=(-1, 2), epsilon=5))
    events = set()
    for mean, scale in ((0, 1), (Fraction(1, 3), Fraction(1, 10**9)), (10**6, 7), (-3, 10**9)):
        pairs = [(Fraction(mean), Fraction(scale))] * 2
        events.add(repr(model.model.event(model._scale_features(arrays.training, pairs))))
    assert len(events) == 1
