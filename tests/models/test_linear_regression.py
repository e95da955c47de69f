"""Linear regression: with little noise it is least squares, whatever the columns hold."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression as Exact

from tacit.core.privacy_unit import Neighbours
from tacit.errors import InvalidValue, MissingBound
from tacit.ml.estimator import Arrays
from tacit.ml.linear_regression import LinearRegression

BOUNDS = {"bounds": ([-1, 0, 100], [1, 50, 200]), "target_bounds": (-20, 60)}
Table = tuple[NDArray[np.float64], NDArray[np.float64]]


def table(rows: int = 4000) -> Table:
    """Made-up rows whose columns have other centres and other widths."""
    numbers = np.random.default_rng(0)
    features = numbers.uniform([-1, 0, 100], [1, 50, 200], size=(rows, 3))
    target = features @ [3, 0.5, 0.1] - 7 + numbers.normal(size=rows)
    return features, target


@pytest.mark.parametrize("intercept", [True, False])
def test_with_little_noise_it_is_least_squares(*, intercept: bool) -> None:
    features, target = table()
    model = LinearRegression(epsilon=1000, **BOUNDS, fit_intercept=intercept)
    model.fit(features, target)
    exact = Exact(fit_intercept=intercept).fit(features, target)
    assert model.coef_ == pytest.approx(exact.coef_, rel=0.02, abs=0.01)
    assert model.intercept_ == pytest.approx(exact.intercept_, abs=0.2)
    assert model.predict(features) == pytest.approx(exact.predict(features), abs=0.05)


def test_what_is_far_away_is_left_out_and_what_is_beyond_is_clamped() -> None:
    features, target = table()
    spoilt = features.copy(), target.copy()
    spoilt[0][:50] = 1e9, -1e9, 1e9
    model = LinearRegression(epsilon=1000, **BOUNDS, norm=1.7).fit(*spoilt)
    exact = Exact().fit(features, target)
    assert model.coef_ == pytest.approx(exact.coef_, rel=0.05, abs=0.02)


def test_less_epsilon_is_more_noise_and_the_guarantee_says_how_much() -> None:
    features, target = table(1000)
    models = [LinearRegression(epsilon=e, **BOUNDS).fit(features, target) for e in (100, 0.01)]
    scores = [model.score(features, target) for model in models]
    assert scores[0] > 0.9 > scores[1]
    assert "ε = 100, δ = 0.000001\nfor adding or removing one unit" in str(models[0].guarantee_)


def test_units_of_many_rows_get_more_noise() -> None:
    features, target = table(100)
    units = np.repeat(np.arange(50), 2)
    model = LinearRegression(epsilon=1, **BOUNDS)
    one, two, other = (
        model.event(arrays.training).events[0]
        for arrays in (
            Arrays(features, target),
            Arrays(features, target, units, max_rows=2),
            Arrays(features, target, neighbours=Neighbours.REPLACE_ONE),
        )
    )
    assert two.sensitivity_square == 4 * one.sensitivity_square
    assert other.sensitivity_square == 2 * one.sensitivity_square
    assert model.fit_to(Arrays(features, target, units, max_rows=2)).coef_.shape == (3,)


def test_bounds_are_public_or_the_fit_is_refused() -> None:
    features, target = table(10)
    with pytest.raises(MissingBound, match=r"rows\.x0, rows\.x1, rows\.x2"):
        LinearRegression().fit(features, target)
    with pytest.raises(InvalidValue, match="for each of 3 columns"):
        LinearRegression(bounds=([0, 1], [2, 3]), target_bounds=(0, 1)).fit(features, target)
    with pytest.raises(InvalidValue, match="epsilon above 0"):
        LinearRegression(epsilon=-1, **BOUNDS).fit(features, target)
    with pytest.raises(InvalidValue, match="needs a target"):
        LinearRegression(**BOUNDS).event(Arrays(features).training)
