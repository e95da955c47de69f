"""Over arrays nobody adds up the losses of several fits, and models say so."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tacit.ml.linear_classifiers import LogisticRegression
from tacit.ml.model_selection import CrossValidation, ModelSearch
from tacit.ml.repeated_fits import ONE_FIT, RepeatedFitWarning

numbers = np.random.default_rng(23)
X = numbers.uniform(-1, 1, (400, 2))
Y = (X[:, 0] > 0).astype(int)
SETTINGS: dict[str, Any] = {"epsilon": 20, "iterations": 5, "bounds": (-1, 1)}


def model() -> LogisticRegression:
    return LogisticRegression(**SETTINGS)


def test_a_fit_over_arrays_says_that_nobody_adds_up_repeated_fits() -> None:
    assert ONE_FIT in str(model().fit(X, Y).guarantee_)


def test_a_grid_search_warns_and_names_what_to_use() -> None:
    search = GridSearchCV(model(), {"rate": [1, 4]}, cv=2)
    with pytest.warns(RepeatedFitWarning, match=r"search.*tacit\.ml\.ModelSearch") as told:
        search.fit(X, Y)
    assert len(told) == 5  # four fits to score them, and one of the best
    said = str(search.best_estimator_.guarantee_)
    assert "its choice are not covered" in said
    assert "search such as GridSearchCV" in said


def test_other_repeated_fits_warn_and_single_ones_do_not() -> None:
    with pytest.warns(RepeatedFitWarning, match="cross-validation"):
        cross_val_score(model(), X, Y, cv=2)
    with pytest.warns(RepeatedFitWarning, match="ensemble"):
        BaggingClassifier(model(), n_estimators=2).fit(X, Y)
    tried = [LogisticRegression(**{**SETTINGS, "rate": rate}) for rate in (1, 4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(model()).fit(X, Y)
        make_pipeline(FunctionTransformer(), model()).fit(X, Y)
        # ours count all their fits in one event, so that nothing is left to add up
        ModelSearch(tried, folds=2, epsilon=20).fit(X, Y)
        CrossValidation(model(), folds=2, epsilon=20).fit(X, Y)


def test_a_model_that_looks_at_no_caller_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lie of earlier versions: 31 fits, and a guarantee of one."""
    monkeypatch.setattr("tacit.ml.estimator.warn_of_repeats", lambda: None)
    search = GridSearchCV(model(), {"rate": [1, 4]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(X, Y)
    assert "not covered" not in str(search.best_estimator_.guarantee_)
