"""Settings of models are plain and small, of the types that constructors say."""

import math
from contextlib import nullcontext
from typing import Any

import pytest

from tacit.errors import InvalidValue, UnknownName
from tacit.extras import load
from tacit.ml.huber_regression import HuberRegression
from tacit.ml.k_means import KMeans
from tacit.ml.linear_regression import LinearRegression
from tacit.ml.registry import (
    LARGEST,
    LEAST,
    MODELS,
    MOST,
    check_settings,
    model_named,
    refusing,
)


@pytest.mark.parametrize("name", MODELS)
def test_the_settings_that_a_model_has_by_itself_pass(name: str) -> None:
    made = getattr(load(MODELS[name], extra="ml"), name)
    check_settings(made, made().get_params())


@pytest.mark.parametrize(
    ("made", "settings"),
    [
        (LinearRegression, {"epsilon": 1, "norm": None, "fit_intercept": False}),
        (LinearRegression, {"bounds": [[0, -1.5], [1, 10**9]]}),
        (HuberRegression, {"iterations": MOST, "scale": LARGEST, "rate": LEAST, "turn": -0.0}),
    ],
)
def test_what_a_constructor_says_passes(made: type, settings: dict[str, Any]) -> None:
    check_settings(made, settings)


@pytest.mark.parametrize(
    ("made", "settings", "told"),
    [
        (HuberRegression, {"iterations": MOST + 1}, "int up to 10000 or nothing, not 10001"),
        (HuberRegression, {"iterations": -MOST - 1}, "int up to 10000"),
        (HuberRegression, {"iterations": 20.0}, "int up to 10000 or nothing, not 20.0"),
        (HuberRegression, {"iterations": True}, "not True"),
        (HuberRegression, {"rate": math.nan}, "a finite number, 0 or .*, not nan"),
        (HuberRegression, {"rate": -math.inf}, "a finite number, 0 or .*, not -inf"),
        (HuberRegression, {"rate": 10**4000}, "not a larger number"),
        (HuberRegression, {"rate": "x" * 1000}, "not 'xxx.*…"),
        (LinearRegression, {"norm": False}, "either side of it or nothing, not False"),
        (LinearRegression, {"fit_intercept": 1}, "true or false, not 1"),
        (LinearRegression, {"bounds": [[[[0]]]]}, "not a list or object of other"),
        (LinearRegression, {"bounds": [math.nan, 1]}, "not a list or object of other"),
        (HuberRegression, {"rate": LEAST / 2}, "0 or from 1e-100 to 1e.100 either side"),
        (HuberRegression, {"rate": -2 * LARGEST}, "0 or from 1e-100 to 1e.100 either side"),
        (LinearRegression, {"bounds": [0, 5e-324]}, "0 or from 1e-100 to 1e.100 either side"),
        (LinearRegression, {"bounds": {"a": print}}, "not a list or object of other"),
    ],
)
def test_anything_else_is_refused(made: type, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidValue, match=told) as refused:
        check_settings(made, settings)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("name", ["seed", "self", "return", "__class__", "x" * 1000])
def test_a_setting_that_a_model_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(UnknownName, match="KMeans has no settings called") as refused:
        check_settings(KMeans, {name: 1})
    assert len(str(refused.value)) < 200


def test_what_a_model_cannot_be_priced_with_is_a_refusal_in_our_words() -> None:
    with (
        pytest.raises(InvalidValue, match="KMeans cannot be fitted") as told,
        refusing("KMeans"),
    ):
        raise TypeError("'<' not supported between 'str' and 'int'")
    assert "not supported" not in str(told.value)
    with pytest.raises(UnknownName, match="ours"), refusing("KMeans"):
        raise UnknownName("ours")
    with pytest.raises(RuntimeError), refusing("KMeans"):
        raise RuntimeError  # our mistake, and no refusal


@pytest.mark.parametrize(("deep", "told"), [(3, None), (4, "at most 3 deep"), (200, "3 deep")])
def test_models_stand_in_one_another_so_deep_and_no_deeper(deep: int, told: str | None) -> None:
    settings: dict[str, Any] = {"parts": []}
    for _ in range(deep):
        settings = {"parts": [["inner", {"model": "Pipeline", "settings": settings}]]}
    with nullcontext() if told is None else pytest.raises(InvalidValue, match=told):
        model_named("Pipeline", settings)


def test_a_setting_of_a_model_in_a_model_is_looked_at_too() -> None:
    inner = {"model": "KMeans", "settings": {"n_clusters": 10**9}}
    with pytest.raises(InvalidValue, match="int up to 10000"):
        model_named("Pipeline", {"parts": [["inner", inner]]})
