"""scikit-learn's own checks of models on rows; each that one cannot pass is named, and why."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

from tacit.ml.huber_regression import HuberRegression
from tacit.ml.linear_classifiers import LinearSVC, LogisticRegression
from tacit.ml.output_perturbation import OutputPerturbation
from tacit.ml.quantile_regression import QuantileRegression

WIDE = (-1000, 1000)
TWO_FITS = "it compares two fits, and noise is fresh in each"
PUBLIC_CLASSES = "classes are public settings, and those of this check are others"
REFITS = (
    "check_fit_idempotent",
    "check_regressor_data_not_an_array",
    "check_regressors_int",
    "check_supervised_y_2d",
)
REGRESSION: dict[str, Any] = {
    "epsilon": 1000,
    "bounds": WIDE,
    "scales": 1.0,
    "target_bounds": WIDE,
    "scale": 30.0,
    "norm": 4.0,
}
EXPECTED: dict[str, dict[str, str]] = {
    "HuberRegression": dict.fromkeys(REFITS, TWO_FITS),
    "QuantileRegression": dict.fromkeys(REFITS, TWO_FITS),
    "LogisticRegression": {
        "check_classifiers_classes": PUBLIC_CLASSES,
        "check_classifiers_train": PUBLIC_CLASSES,
        "check_decision_proba_consistency": PUBLIC_CLASSES,
        "check_classifier_data_not_an_array": TWO_FITS,
        "check_fit_idempotent": TWO_FITS,
        "check_supervised_y_2d": TWO_FITS,
    },
}
EXPECTED["LinearSVC"] = EXPECTED["LogisticRegression"]
EXPECTED["OutputPerturbation"] = EXPECTED["LogisticRegression"]
DESCENT: dict[str, Any] = {
    "epsilon": 100,
    "bounds": WIDE,
    "scales": 1.0,
    "classes": [0, 1, 2],
    "clip": 5.0,
    "rate": 1.0,
    "iterations": 9,
}
MODELS = [
    HuberRegression(**REGRESSION, solver="newton"),
    QuantileRegression(**REGRESSION, iterations=6, rate=1.0),
    LogisticRegression(**DESCENT),
    LinearSVC(**DESCENT),
    OutputPerturbation(epsilon=100, bounds=WIDE, scales=1.0, penalty=1.0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_accepts_it_but_for_what_is_declared(model: Any) -> None:
    expected = EXPECTED[type(model).__name__]
    found = check_estimator(model, expected_failed_checks=expected, on_fail=None)
    failed = {
        each["check_name"]: each["exception"] for each in found if each["status"] == "failed"
    }
    assert failed == {}
