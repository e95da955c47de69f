"""Models on rows: right without noise, and neighbours show in nothing but noise."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Exact
from sklearn.svm import LinearSVC as ExactSVC

from tacit.accounting.pricing import loss_of
from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.loss import Loss, Measure
from tacit.core.privacy_unit import Neighbours
from tacit.core.secret import Secret
from tacit.engines.unit_rows import UnitRows
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.ml import clipped_sum
from tacit.ml.clipped_sum import ClippedSum, line_at
from tacit.ml.estimator import Arrays
from tacit.ml.huber_regression import HuberRegression
from tacit.ml.linear_classifiers import LinearSVC, LogisticRegression
from tacit.ml.quantile_regression import QuantileRegression
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.estimator import Training
from tacit.plan.model_columns import REACH
from tacit.query.paid_work import drive
from tacit.robust.influence import location
from tacit.robust.location import Huber

BOUNDS = ([-1, 0], [1, 50])
CASES: dict[str, Any] = {
    "two classes": LogisticRegression(bounds=BOUNDS, iterations=4),
    "three classes": LogisticRegression(bounds=BOUNDS, classes=(0, 1, 2), iterations=4),
    "three hinges": LinearSVC(bounds=BOUNDS, classes=(0, 1, 2), iterations=4),
    "Huber": HuberRegression(bounds=BOUNDS, target_bounds=(-5, 5), iterations=4),
    "Newton": HuberRegression(bounds=BOUNDS, target_bounds=(-5, 5), solver="newton"),
    "quantile": QuantileRegression(bounds=BOUNDS, target_bounds=(-5, 5), iterations=4),
}


def rows(size: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Features, classes and units of two rows each, made up."""
    numbers = np.random.default_rng(seed)
    features = numbers.uniform([-1, 0], [1, 50], size=(size, 2))
    classes = (numbers.random(size) < 1 / (1 + np.exp(-4 * features[:, 0]))).astype(int)
    return features, classes, np.arange(size) // 2


def fitted(model: Any, training: Training, table: Any, gateway: Gateway) -> Any:
    """What a model makes of rows as an engine hands them on: unit, features, target."""
    steps = model.steps(training, gateway)
    next(steps)
    with pytest.raises(StopIteration) as done:
        steps.send(Secret(UnitRows.of(np.array(table, dtype=np.int64).reshape(-1, 4))))
    return done.value.value


def pairs(neighbours: Neighbours, count: int) -> Iterator[tuple[Any, Any]]:
    """Rows of two tables that differ by one unit, of two rows that lie as far out as can be."""
    numbers = np.random.default_rng(1)

    def unit(name: int) -> list[list[int]]:
        ends = numbers.choice([-REACH, 0, REACH], (2, 2))
        return [[name, *end, int(numbers.integers(2))] for end in ends]

    for _ in range(count):
        rest = [row for name in range(int(numbers.integers(0, 9))) for row in unit(name)]
        more, fewer = [*rest, *unit(99)], rest
        yield more, [*rest, *unit(99)] if neighbours is Neighbours.REPLACE_ONE else fewer


def replay(model: Any, neighbours: Neighbours, count: int = 12) -> None:
    training = Arrays(*rows(4), max_rows=2, neighbours=neighbours).training
    for one, other in pairs(neighbours, count):
        there = RecordingGateway(SystemEntropy(b"pairs"))
        found = fitted(model, training, one, there)
        again = ReplayingGateway(there.calls)
        assert fitted(model, training, other, again) == found
        again.finish()


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("name", CASES)
def test_neighbours_show_in_nothing_but_noise(name: str, neighbours: Neighbours) -> None:
    replay(CASES[name], neighbours)


def test_neighbours_in_an_engine_show_in_nothing_but_noise() -> None:
    features, classes, units = rows(12)
    strange = np.array([[1e300, np.nan], [-np.inf, 7.0]])
    more = np.vstack([features, strange]), np.append(classes, [1, 0]), np.append(units, [9, 9])
    one, other = Arrays(*more, max_rows=2), Arrays(features, classes, units, max_rows=2)
    there = RecordingGateway(SystemEntropy(b"pairs"))
    found = drive(CASES["two classes"], one.training, one.data(), there)
    again = ReplayingGateway(there.calls)
    assert drive(CASES["two classes"], other.training, other.data(), again) == found
    again.finish()


def test_a_row_is_rounded_by_its_own_numbers_alone() -> None:
    numbers = np.random.default_rng(7)
    features, weights = numbers.normal(size=(999, 23)), numbers.normal(size=(2, 23))
    alone = np.array([line_at(features[[place]], weights)[0] for place in range(999)])
    assert np.array_equal(line_at(features, weights), alone)
    # the lie adds the same numbers in another order, as a matrix product may
    turned = line_at(features[:, ::-1], weights[:, ::-1])
    assert not np.array_equal(turned, alone)
    one = ClippedSum(1.0, 23, Neighbours.ADD_REMOVE, Loss.zcdp(1))
    units = np.arange(999)
    steps = [one._steps(units[[place]], features[[place]]) for place in range(999)]
    assert np.array_equal(one._steps(units, features), np.sum(steps, axis=0))


class ByRow(ClippedSum):
    """Clips rows and not units: a unit of two rows moves twice as far."""

    def _steps(self, units: Any, vectors: Any) -> Any:
        return super()._steps(np.arange(units.size), vectors)


class Unclipped(ClippedSum):
    """Trusts gradients to be short."""

    def _steps(self, units: Any, vectors: Any) -> Any:
        del units
        return np.rint(vectors * clipped_sum.STEPS / self.clip).astype(np.int64).sum(axis=0)


@pytest.mark.parametrize("lie", [ByRow, Unclipped])
def test_rows_clipped_one_by_one_and_gradients_not_clipped_are_caught(
    lie: type[ClippedSum], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.ml.descent.ClippedSum", lie)
    with pytest.raises(BrokenPromise, match="changes by the square root of"):
        replay(CASES["two classes"], Neighbours.ADD_REMOVE)


@pytest.mark.parametrize("name", CASES)
def test_the_price_is_within_what_was_asked(name: str) -> None:
    features, classes, _ = rows(4)
    model = CASES[name]
    spent = loss_of(model.event(Arrays(features, classes).training), Measure.ZCDP)
    assert 0.999 * model.rho <= spent.amount <= model.rho


def test_with_little_noise_it_is_logistic_regression() -> None:
    features, classes, _ = rows(4000)
    model = LogisticRegression(epsilon=1000, bounds=BOUNDS, iterations=300, rate=8, clip=2)
    exact = Exact(C=1e6).fit(features, classes)
    model.fit(features, classes)
    assert model.coef_ == pytest.approx(exact.coef_, abs=0.15)
    assert model.intercept_ == pytest.approx(exact.intercept_, abs=0.15)
    assert np.mean(model.predict(features) == exact.predict(features)) > 0.98
    assert model.predict_proba(features[:3]).sum(axis=1) == pytest.approx(np.ones(3))


def test_with_little_noise_it_is_a_support_vector_machine() -> None:
    features, classes, _ = rows(4000)
    model = LinearSVC(epsilon=1000, bounds=BOUNDS, iterations=300, rate=2, clip=2)
    model.fit(features, classes)
    scaled = features / [1, 25] - [0, 1]
    exact = ExactSVC(loss="hinge", C=10, max_iter=100_000).fit(scaled, classes)
    assert np.mean(model.predict(features) == exact.predict(scaled)) > 0.97
    # it is no logistic regression: its slopes are those of a margin of one
    assert model.coef_[0, 0] == pytest.approx(exact.coef_[0, 0], rel=0.2)


@pytest.mark.parametrize("rate", [16.0, 64.0])
def test_an_intercept_settles_however_long_the_steps_of_short_features(
    rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.random.default_rng(4)
    features = numbers.normal(size=(4000, 20))
    classes = np.digitize(features[:, 0] + numbers.normal(0, 0.3, 4000), [-0.7, 0.7])
    model = LogisticRegression(
        epsilon=1000, bounds=(-5, 5), scales=5.0, classes=(0, 1, 2), rate=rate
    )
    exact = Exact().fit(features, classes).score(features, classes)
    assert model.fit(features, classes).score(features, classes) > exact - 0.03
    # the lie: a constant of 1 beside features that are much shorter
    monkeypatch.setattr(LogisticRegression, "_constant", 1.0)
    assert model.fit(features, classes).score(features, classes) < exact - 0.1


@pytest.mark.parametrize("made", [LogisticRegression, LinearSVC])
def test_three_classes_are_one_problem(made: Any) -> None:
    numbers = np.random.default_rng(2)
    classes = numbers.integers(0, 3, 3000)
    centres = np.array([[-0.5, 10], [0.5, 10], [0, 40]])
    features = centres[classes] + numbers.normal(0, [0.2, 4], (3000, 2))
    names = np.array(["a", "b", "c"])
    model = made(epsilon=20, bounds=BOUNDS, classes=("a", "b", "c"), clip=2)
    model.fit(features, names[classes])
    assert model.coef_.shape == (3, 2)
    assert model.score(features, names[classes]) > 0.95


def test_without_noise_huber_regression_is_its_location() -> None:
    """A feature that says nothing leaves the location of the target."""
    numbers = np.random.default_rng(3)
    target = np.concatenate([numbers.normal(1, 1, 3000), np.full(100, 40.0)])
    features = numbers.normal(0, 0.3, (3100, 1))
    model = HuberRegression(
        epsilon=1000,
        bounds=(-3, 3),
        scales=0.3,
        target_bounds=(-50, 50),
        norm=10,
        iterations=60,
    )
    model.fit(features, target)
    exact = location(target, Huber()).for_the_owner
    assert model.intercept_ == pytest.approx(exact, abs=0.01)
    assert abs(model.intercept_ - target.mean()) > 0.5
    low, high = model.interval()[0]
    assert low < exact < high


def test_no_interval_is_printed_where_the_steps_have_not_arrived() -> None:
    numbers = np.random.default_rng(4)
    features = numbers.normal(0, 1, (1000, 2))
    target = features @ [1, 2] + numbers.normal(0, 1, 1000)
    known = {"bounds": (-9, 9), "target_bounds": (-20, 20), "epsilon": 10}
    short = HuberRegression(**known, scales=1.0, iterations=20, rate=0.02).fit(features, target)
    assert short.honest_ == 0
    with pytest.raises(InvalidValue, match="No interval may be printed"):
        short.interval()
    wide = HuberRegression(**known, iterations=20).fit(features, target)
    assert wide.honest_ == 0
    fine = HuberRegression(**known, scales=1.0, iterations=20).fit(features, target)
    assert fine.interval().shape == (3, 2)


def test_what_cannot_be_fitted_is_refused_by_public_facts() -> None:
    features, classes, _ = rows(4)
    for wrong in (
        LogisticRegression(bounds=BOUNDS, classes=(1,)),
        LogisticRegression(bounds=BOUNDS, clip=0),
        LogisticRegression(bounds=BOUNDS, iterations=0),
        HuberRegression(bounds=BOUNDS, target_bounds=(0, 1), scales=0),
        HuberRegression(bounds=BOUNDS, target_bounds=(0, 1), turn=-1),
    ):
        with pytest.raises(InvalidValue):
            wrong.event(Arrays(features, classes).training)


def test_nobody_at_all_is_fitted_too() -> None:
    training = Arrays(*rows(4)).training
    gateway = RecordingGateway(SystemEntropy(b"nobody"))
    for model in CASES.values():
        assert fitted(model, training, [], gateway)
