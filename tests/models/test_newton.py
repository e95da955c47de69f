"""Newton's steps: to where descent goes, in fewer steps, and with their own noise."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.errors import InvalidValue
from tacit.ml.descent import DescentLastIterate, NewtonLastIterate
from tacit.ml.huber_regression import HuberRegression
from tacit.ml.newton import Sandwich
from tacit.ml.robust_scores import MallowsScores

KNOWN: dict[str, Any] = {"bounds": (-9, 9), "scales": 1.0, "target_bounds": (-30, 30)}


def rows(line: Any, size: int = 3000, seed: int = 0) -> tuple[Any, Any]:
    """Features and targets around a line, of which one in twenty is far off."""
    numbers = np.random.default_rng(seed)
    features = numbers.normal(0, 1, (size, 2))
    target = line[0] + features @ line[1:] + numbers.normal(0, 1, size)
    target[::20] = 25.0
    return features, target


def exact(features: Any, target: Any) -> Any:
    """Where Huber's loss with Mallows' weights is least."""
    whole = np.column_stack([np.ones(len(features)), features])
    weights = np.minimum(1, 4 / (whole**2).sum(axis=1))

    def loss(line: Any) -> Any:
        off = target - whole @ line
        near = abs(off) <= 1.345
        losses = np.where(near, off**2 / 2, 1.345 * abs(off) - 1.345**2 / 2)
        slope = -whole.T @ (weights * np.clip(off, -1.345, 1.345))
        return weights @ losses, slope

    return minimize(loss, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-8}).x


def far(model: HuberRegression, features: Any, target: Any) -> float:
    """How far a fit is from the exact one."""
    model.fit(features, target)
    return float(abs(np.append(model.intercept_, model.coef_) - exact(features, target)).max())


def test_without_noise_six_steps_of_newton_are_at_the_minimum() -> None:
    features, target = rows([0.5, -0.3, 1.0])
    known: dict[str, Any] = {**KNOWN, "epsilon": 100_000, "iterations": 6}
    assert far(HuberRegression(**known, solver="newton"), features, target) < 1e-4
    # and as many of a descent are not
    assert far(HuberRegression(**known), features, target) > 1e-3


def test_slopes_that_are_too_flat_lead_past_the_place(monkeypatch: Any) -> None:
    numbers = np.random.default_rng(0)
    features = numbers.normal(0, 1, (3000, 2))
    target = 0.5 + features @ [-0.3, 1.0] + numbers.normal(0, 0.5, 3000)
    model = HuberRegression(**KNOWN, epsilon=100_000, solver="newton", iterations=8)
    assert far(model, features, target) < 1e-4
    # the lie goes by the slope where it stands, from the start: past it, and back again
    monkeypatch.setattr(MallowsScores, "steepest", MallowsScores.slopes)
    assert far(model, features, target) > 0.1
    assert not model.honest_


def test_newton_prints_an_interval_where_its_steps_have_come() -> None:
    features, target = rows([0.5, -0.3, 1.0], size=10_000)
    fits = [HuberRegression(**KNOWN, solver="newton").fit(features, target) for _ in range(12)]
    printed = [model.interval() for model in fits if model.honest_]
    assert len(printed) >= 5  # of 12, where about one in thirty is not printed
    held = [
        (low < exact(features, target)) & (exact(features, target) < high)
        for low, high in (ends.T for ends in printed)
    ]
    assert np.mean(held) > 0.5
    short = HuberRegression(**KNOWN, solver="newton", iterations=1).fit(features, target)
    assert not short.honest_
    hidden = HuberRegression(**KNOWN, solver="newton", epsilon=0.01).fit(features, target)
    assert not hidden.honest_


def test_the_noise_of_newtons_steps_is_what_they_do_to_an_error() -> None:
    """Errors of 20,000 walks: 4 deviations of noise, and what is of second order, are 10%."""
    numbers = np.random.default_rng(5)
    slope, walks = np.array([[0.7, 0.1], [0.1, 0.5]]), 20_000
    end = np.zeros((walks, 2))
    for _ in range(4):
        wrong = numbers.normal(0, 0.05, (walks, 2, 2))
        wrong = (wrong + wrong.transpose(0, 2, 1)) / 2
        down = end @ slope + numbers.normal(0, 0.04, (walks, 2))
        end = end - np.linalg.solve(slope + wrong, down[:, :, None])[:, :, 0]
    said = np.diag(NewtonLastIterate(4, 0.04, 0.05, np.zeros(2), np.zeros(2)).noise(slope))
    seen = (end**2).mean(axis=0)
    assert seen / said == pytest.approx(np.ones(2), abs=0.1)
    # the lie: what is left of the noise of a descent
    lie = np.diag(DescentLastIterate(4, 1.0, 0.04, np.zeros(2)).noise(slope))
    assert (seen / lie > 1.5).all()


@pytest.mark.parametrize(("steep", "honest"), [(0.5, True), (0.02, False)])
def test_no_interval_by_a_slope_that_was_floored(steep: float, honest: bool) -> None:  # noqa: FBT001
    last_iterate = DescentLastIterate(2000, 0.5, 1e-6, np.ones(2))
    found = Sandwich(steep * np.eye(2), np.eye(2), 1000, 1e-4, last_iterate)
    assert found.is_honest is honest


@pytest.mark.parametrize("wrong", [{"solver": "lbfgs"}, {"iterations": 0}, {"turn": 0}])
def test_what_is_no_newton_is_refused(wrong: Any) -> None:
    features, target = rows([0.5, -0.3, 1.0], size=20)
    with pytest.raises(InvalidValue):
        HuberRegression(**{**KNOWN, "solver": "newton", **wrong}).fit(features, target)
