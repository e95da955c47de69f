"""Quantile regression: right with little noise, bounded, and without intervals."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor

from tacit.errors import InvalidValue
from tacit.ml.quantile_regression import QuantileRegression

KNOWN: dict[str, Any] = {"bounds": (-9, 9), "scales": 1.0, "target_bounds": (-50, 50)}


def rows(size: int = 3000) -> tuple[Any, Any]:
    """A target that deviates by 2 around a line."""
    numbers = np.random.default_rng(6)
    features = numbers.normal(0, 1, (size, 2))
    return features, 3 + features @ [1.0, -2.0] + numbers.normal(0, 2, size)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_with_little_noise_it_is_quantile_regression(quantile: float) -> None:
    features, target = rows()
    model = QuantileRegression(**KNOWN, quantile=quantile, scale=2, epsilon=1000, iterations=60)
    model.fit(features, target)
    twin = QuantileRegressor(quantile=quantile, alpha=0).fit(features, target)
    assert model.intercept_ == pytest.approx(twin.intercept_, abs=0.2)
    assert model.coef_ == pytest.approx(twin.coef_, abs=0.2)
    below = float(np.mean(target < model.predict(features)))
    assert below == pytest.approx(quantile, abs=0.02)


def test_a_median_hardly_minds_outliers_and_a_mean_does() -> None:
    features, target = rows()
    target[::20] = 1e6
    model = QuantileRegression(**KNOWN, scale=2, epsilon=1000, iterations=60)
    model.fit(features, target)
    assert model.intercept_ == pytest.approx(3, abs=0.4)
    assert np.clip(target, -50, 50).mean() > 5


def test_a_wide_corner_leads_away_from_the_quantile() -> None:
    features, target = rows()
    model = QuantileRegression(**KNOWN, quantile=0.9, smoothing=20, epsilon=1000, iterations=60)
    model.fit(features, target)
    below = float(np.mean(target < model.predict(features)))
    assert abs(below - 0.9) > 0.05
    assert not hasattr(model, "interval")


@pytest.mark.parametrize("wrong", [{"quantile": 0}, {"quantile": 1}, {"smoothing": 0}])
def test_what_is_no_quantile_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        QuantileRegression(**KNOWN, **wrong).fit(*rows(20))
