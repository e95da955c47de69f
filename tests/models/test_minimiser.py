"""Regularised minimisers: certified, moved by no more than is charged, and never given up."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression as Exact

from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.errors import InternalError, InvalidValue
from tacit.ml.clipped_sum import STEPS, clipped_steps, reach_of
from tacit.ml.estimator import Arrays
from tacit.ml.margin_loss import HINGE, KNOTS, LAST, LOGISTIC, ONE, MarginLoss
from tacit.ml.output_perturbation import NoisyMinimiser, OutputPerturbation
from tacit.ml.regularised_risk import RegularisedRisk
from tacit.noise.integers import Integers

CURVES = {"hinge": HINGE, "logistic": LOGISTIC}
TINY = Fraction(1, 10**4)


def rows(size: int, dimensions: int, seed: int = 0) -> Integers:
    """Signed rows of all lengths up to one, made up."""
    numbers = np.random.default_rng(seed)
    return clipped_steps(numbers.normal(0.3, 0.6, (size, dimensions)), 1.0)


def slope(curve: MarginLoss, margin: Fraction) -> Fraction:
    """The slope at any rational margin, by fractions alone."""
    along = max(min(margin, Fraction(LAST)), Fraction(-LAST)) * KNOTS + LAST * KNOTS
    below = min(along.__floor__(), len(curve.table) - 2)
    low, high = curve.table[below : below + 2]
    return (low + (along - below) * (high - low)) / ONE


def gradient(risk: RegularisedRisk, weights: Any) -> list[Fraction]:
    """The true gradient, by fractions alone."""
    exact = [Fraction(weight) for weight in weights.tolist()]
    found = [Fraction(risk.penalty) * weight for weight in exact]
    for row in risk.rows.tolist():
        margin = sum(Fraction(x, STEPS) * w for x, w in zip(row, exact, strict=True))
        here = slope(risk.loss, Fraction(margin))
        found = [g + here * Fraction(x, STEPS) for g, x in zip(found, row, strict=True)]
    return found


@pytest.mark.parametrize("name", CURVES)
@given(st.floats(-40, 40) | st.floats(-2, 2))
@settings(max_examples=100, deadline=None)
def test_a_slope_is_less_than_a_step_off(name: str, margin: float) -> None:
    curve = CURVES[name]
    found = Fraction(int(curve.slopes(np.array([margin]))[0]), ONE)
    assert abs(found - slope(curve, Fraction(margin))) < Fraction(1, ONE)


def test_the_table_is_the_log_loss_and_the_hinge() -> None:
    margins = np.linspace(-40, 40, 9001)
    logistic = LOGISTIC.slopes(margins) / ONE
    assert np.abs(logistic + 1 / (1 + np.exp(margins))).max() < 3e-6
    hinge = HINGE.slopes(margins) / ONE
    assert np.array_equal(hinge[margins < 0.5], np.full((margins < 0.5).sum(), -1.0))
    assert HINGE.steepest == 1
    for curve in CURVES.values():  # what no weights at all cost: that bounds a minimiser
        after = np.array(curve.table[LAST * KNOTS :])
        assert -(after[1:] + after[:-1]).sum() <= 2 * KNOTS * ONE


def test_a_loss_that_is_not_convex_is_none() -> None:
    bent = list(LOGISTIC.table)
    bent[2000] = bent[2002] + 1
    with pytest.raises(InternalError, match="must increase"):
        MarginLoss(tuple(bent))


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("scale", [0.1, 30.0, 1e7])
def test_a_gradient_is_no_farther_off_than_it_says(name: str, scale: float) -> None:
    risk = RegularisedRisk(CURVES[name], 0.7, rows(60, 5))
    weights = np.random.default_rng(1).normal(0, scale, 5)
    said, true = risk.at(weights), gradient(risk, weights)
    off = sum((s - t) ** 2 for s, t in zip(said.parts, true, strict=True))
    assert off <= said.off**2
    assert sum(part**2 for part in true) <= said.longest**2
    # the lie trusts the sum of floats that a library would make
    margins = (risk.rows / STEPS) @ weights
    slopes = risk.loss.slopes(margins) / ONE
    naive = (risk.rows / STEPS).T @ slopes + risk.penalty * weights
    assert any(Fraction(n) != t for n, t in zip(naive.tolist(), true, strict=True))


@pytest.mark.parametrize("name", CURVES)
def test_the_minimiser_is_that_of_the_risk(name: str) -> None:
    risk = RegularisedRisk(CURVES[name], 2.0, rows(300, 4))
    found = risk.minimiser(TINY)
    assert sum(part**2 for part in gradient(risk, found)) <= TINY**2
    if name == "logistic":
        features = risk.rows / STEPS
        both, labels = np.vstack([features, -features]), np.repeat([1, 0], len(features))
        exact = Exact(C=1 / 4, fit_intercept=False, tol=1e-10).fit(both, labels)
        assert found == pytest.approx(exact.coef_[0], abs=1e-4)


@pytest.mark.parametrize("penalty", [0.01, 1.0, 1e6])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (200, 3), (3, 30)])
def test_it_arrives_whatever_the_rows_are(shape: tuple[int, int], penalty: float) -> None:
    numbers = np.random.default_rng(3)
    wide = numbers.choice([-1.0, 0.0, 1.0, 1e-6], size=shape)
    for table in (rows(*shape), clipped_steps(wide, 1.0), np.zeros(shape, dtype=np.int64)):
        for curve in CURVES.values():
            risk = RegularisedRisk(curve, penalty, table)
            assert risk.at(risk.minimiser(TINY)).longest <= TINY


def test_shortened_rows_are_never_longer_than_is_said() -> None:
    numbers = np.random.default_rng(4)
    wild = numbers.normal(size=(500, 7)) * 10.0 ** numbers.integers(-300, 300, (500, 1))
    steps = clipped_steps(wild, 1.0)
    assert (steps**2).sum(axis=1).max() <= reach_of(7) ** 2


def noisy(penalty: float = 2.0, tolerance: float = 0.001, max_rows: int = 1) -> NoisyMinimiser:
    relation = Neighbours.ADD_REMOVE
    return NoisyMinimiser(HINGE, penalty, tolerance, 3, max_rows, relation, Loss.zcdp("0.5"))


def test_what_one_unit_moves_grows_with_its_rows_and_with_what_the_solver_leaves() -> None:
    one, more, loose = noisy(), noisy(max_rows=3), noisy(tolerance=0.5)
    assert float(more.moved.amount / one.moved.amount) == pytest.approx(3, rel=0.01)
    assert float(loose.moved.amount / one.moved.amount) == pytest.approx(2, rel=0.01)
    assert noisy(4.0).deviation == pytest.approx(one.deviation / 2)


def test_what_cannot_be_certified_is_refused_before_any_data() -> None:
    with pytest.raises(InvalidValue, match="can be certified to"):
        noisy(penalty=1e-9)
    with pytest.raises(InvalidValue, match="can be certified to"):
        noisy(tolerance=1e-9)
    features, classes = np.zeros((2, 2)), np.array([0, 1])
    for wrong in (
        {"penalty": 0},
        {"penalty": float("nan")},
        {"penalty": 1e300},
        {"tolerance": 0},
        {"norm": -1},
        {"loss": "squared"},
        {"classes": (0, 1, 2)},
    ):
        with pytest.raises(InvalidValue):
            OutputPerturbation(bounds=(-1, 1), **wrong).event(
                Arrays(features, classes).training
            )


@pytest.mark.parametrize("name", CURVES)
def test_with_little_noise_it_tells_classes_apart(name: str) -> None:
    numbers = np.random.default_rng(5)
    features = numbers.uniform([-1, 0], [1, 50], size=(1000, 2))
    classes = np.where(features[:, 0] + features[:, 1] / 50 > 0.5, "yes", "no")
    model = OutputPerturbation(
        epsilon=100,
        bounds=([-1, 0], [1, 50]),
        classes=("no", "yes"),
        loss=name,
        penalty=1.0,
        norm=2.0,
    )
    assert model.fit(features, classes).score(features, classes) > 0.97
