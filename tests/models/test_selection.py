"""Linear rules, choices, pipelines, cross-validation and searches, over arrays."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Exact
from sklearn.pipeline import Pipeline as SkPipeline

from tacit.accounting.pricing import leaves
from tacit.core.domain import Column, Kind
from tacit.core.privacy_unit import Neighbours
from tacit.errors import InvalidValue, MissingBound
from tacit.ml.error_counts import LinearRule
from tacit.ml.estimator import Arrays
from tacit.ml.linear_classifiers import LogisticRegression
from tacit.ml.model_selection import ClassifierChoice, CrossValidation, ModelSearch
from tacit.ml.naive_bayes import GaussianNB
from tacit.ml.pipeline import Pipeline, StandardScaler
from tacit.ml.registry import estimator_of, model_of, spec_of
from tacit.ml.sufficient_statistics import Points

WIDE: dict[str, Any] = {"bounds": ([0, 0], [100, 10])}


def people(rows: int = 3000) -> Arrays:
    """Two columns of other sizes, and two classes that a line between them tells."""
    numbers = np.random.default_rng(4)
    features = numbers.normal([40, 3], [10, 0.5], size=(rows, 2))
    return Arrays(features, (features @ [0.1, -2] + 2 > 0).astype(int))


def logistic(**settings: Any) -> LogisticRegression:
    return LogisticRegression(**{"epsilon": 20, "iterations": 10, **WIDE, **settings})


def scaled(**settings: Any) -> Pipeline:
    model = logistic(**{"bounds": (-3, 3), **settings})
    return Pipeline([["scale", StandardScaler(epsilon=20, **WIDE)], ["model", model]])


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_rule_in_integers_is_that_of_scikit_learn(classes: int) -> None:
    numbers = np.random.default_rng(classes)
    features = numbers.uniform([-1, 0, 5], [1, 50, 6], size=(400, 3))
    labels = numbers.integers(0, classes, 400)
    lines = 1 if classes == 2 else classes
    exact = Exact()
    exact.classes_ = np.arange(classes)
    exact.coef_, exact.intercept_ = numbers.normal(size=(lines, 3)), numbers.normal(size=lines)
    columns = [Column(name, Kind.FLOAT) for name in "abc"]
    axes = Points.of(columns, ([-1, 0, 5], [1, 50, 6])).axes
    steps = [
        np.rint((features[:, at] - float(axis.centre)) / float(axis.unit))
        for at, axis in enumerate(axes)
    ]
    rows = np.column_stack([np.arange(400), *steps, labels]).astype(np.int64)
    missed = LinearRule.of(exact.coef_, exact.intercept_, classes).error_indicators(rows, axes)
    assert missed.tolist() == (exact.predict(features) != labels).tolist()


def test_a_row_is_judged_by_itself_and_a_draw_goes_to_the_first_class() -> None:
    axes = Points.of([Column("a", Kind.FLOAT)], (-1, 1)).axes
    rule = LinearRule.of([[1e300]], [0.0], 2)
    rows = np.array([[0, 0, 0], [1, 0, 1], [2, 1, 1], [3, axes[0].reach, 0]])
    assert rule.error_indicators(rows, axes).tolist() == [0, 1, 0, 1]
    constant = LinearRule.of([[0.0]], [0.0], 2)
    assert constant.error_indicators(rows, axes).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("candidates", "words"),
    [
        ([([1.0], 0.0)], "2 features"),
        ([([1.0, float("nan")], 0.0)], "finite weights"),
        ([([[1.0, 2.0]] * 2, [0.0, 1.0])], "for 2 classes needs 1 rows"),
        ([1.0], "pairs of weights"),
        ([(["a", "b"], 0.0)], "must be numbers"),
        ([], "at least 1 candidate"),
    ],
)
def test_a_choice_refuses_what_is_no_line_of_its_columns(candidates: Any, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        ClassifierChoice(candidates, **WIDE).fit_to(people(20))


def test_a_choice_takes_the_line_that_tells_the_classes() -> None:
    lines = [([0.1, 2.0], -10.0), ([0.1, -2.0], 2.0), ([-0.1, 2.0], -2.0)]
    found = ClassifierChoice(lines, epsilon=1, **WIDE).fit_to(people())
    assert found.best_index_ == 1
    assert found.score(people().features, people().target) > 0.99
    assert "ε = 1\n" in str(found.guarantee_)
    with pytest.raises(InvalidValue, match="above 0"):
        ClassifierChoice(lines, epsilon=0, **WIDE).fit_to(people(20))
    with pytest.raises(InvalidValue, match="two different public classes"):
        ClassifierChoice(lines, classes=[1], **WIDE).fit_to(people(20))


def test_a_pipeline_scales_as_its_scaler_does_and_is_the_better_for_it() -> None:
    rows = people()
    found = scaled().fit_to(rows)
    assert found.scaler.mean_ == pytest.approx([40, 3], abs=1)
    assert (found.predict(rows.features) == rows.target).mean() > 0.95
    assert found.model.guarantee_ == found.guarantee_


def test_a_pipeline_charges_both_steps_and_wants_bounds_in_deviations() -> None:
    training = people(20).training
    parts = [part for part, _ in leaves(scaled().event(training))]
    assert parts[:3] == [part for part, _ in leaves(scaled().scaler.event(training))]
    assert len(parts) == 5
    with pytest.raises(MissingBound, match="no bounds"):
        scaled(bounds=None).event(training)
    for parts in ([], [["one", logistic()]], [["a", logistic()], ["b", logistic()]], 7, None):
        with pytest.raises(InvalidValue, match="two named steps"):
            Pipeline(parts).event(training)


def test_a_pipeline_of_scikit_learn_is_told_and_taught_as_ours() -> None:
    theirs = SkPipeline(scaled().parts)
    assert spec_of(theirs) == spec_of(scaled())
    assert spec_of(model_of(spec_of(theirs))) == spec_of(theirs)
    assert estimator_of(theirs).parts is theirs.steps


def test_scores_of_folds_are_near_the_truth_and_one_fit_less_is_charged() -> None:
    rows = people()
    folded = CrossValidation(scaled(), folds=3, epsilon=10).fit_to(rows)
    assert folded.test_scores_.shape == (3,)
    assert folded.test_scores_.min() > 0.9
    assert folded.mean_score_ == pytest.approx(folded.test_scores_.mean())
    once = sum(times for _, times in leaves(scaled().event(rows.training)))
    all_of_it = CrossValidation(scaled(), folds=3)
    assert sum(n for _, n in leaves(all_of_it.event(rows.training))) == 2 * once + 1
    replaced = Arrays(rows.features, rows.target, neighbours=Neighbours.REPLACE_ONE).training
    assert sum(n for _, n in leaves(all_of_it.event(replaced))) == 3 * once + 1


def test_a_search_chooses_what_errs_least_and_charges_all_that_it_tried() -> None:
    rows = people()
    tried = [logistic(epsilon=0.001), logistic(epsilon=20, iterations=40)]
    search = ModelSearch(tried, epsilon=2)
    found = search.fit_to(rows)
    # the first is a line at random, which may be a good one
    assert found.best_index_ in {0, 1}
    assert (found.predict(rows.features) == rows.target).mean() > 0.75
    assert not hasattr(tried[1], "coef_")
    event = list(leaves(search.event(rows.training)))
    parts = [leaf for model in tried for leaf in leaves(model.event(rows.training))]
    assert event[:-1] == parts
    assert event[-1][0].epsilon == Fraction(2)


@pytest.mark.parametrize(
    "model",
    [
        CrossValidation(GaussianNB(classes=[0, 1], **WIDE)),
        CrossValidation(),
        ModelSearch([GaussianNB(classes=[0, 1], **WIDE)]),
    ],
)
def test_what_has_no_score_is_refused_before_anything_is_read(model: Any) -> None:
    with pytest.raises(InvalidValue, match="linear classifier"):
        model.event(people(20).training)


def test_a_search_of_nothing_or_of_other_rows_is_refused() -> None:
    training = people(20).training
    for tried in ([], [logistic(), logistic(bounds=(0, 7))]):
        with pytest.raises(InvalidValue, match="same classes"):
            ModelSearch(tried).event(training)
    with pytest.raises(InvalidValue, match="at least 2 folds"):
        CrossValidation(logistic(), folds=1).fit_to(people(20))
