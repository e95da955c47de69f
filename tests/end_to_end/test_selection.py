"""Choices, pipelines, folds, searches and holdouts through a session and its ledger."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

import tacit
from tacit.accounting.convert import rho_within
from tacit.core.loss import Budget, Loss
from tacit.errors import BudgetExceeded, InvalidValue, MissingBound
from tacit.frame.expression import col, count
from tacit.ml.linear_classifiers import LogisticRegression
from tacit.ml.model_selection import ClassifierChoice, ModelSearch
from tacit.ml.pipeline import StandardScaler
from tacit.session.session import Session

Opens = Callable[..., Session]
PEOPLE, FEATURES = 3000, ["age", "hours"]
ASKED = {"epsilon": 2, "answers": 2, "rows": PEOPLE, "threshold": "0.1"}
RIGHT = "SELECT COUNT(*) AS n FROM visits WHERE guess = ill"


def people() -> pd.DataFrame:
    """Made-up people who are ill where a line says so; every second guess of it is right."""
    numbers = np.random.default_rng(8)
    age, hours = numbers.uniform(20, 60, PEOPLE), numbers.integers(0, 41, PEOPLE)
    named = [f"p{number}" for number in range(PEOPLE)]
    ill = (age + hours > 60).astype(int)
    guess = np.where(np.arange(PEOPLE) % 2, ill, 1 - ill)
    return pd.DataFrame(
        {"patient": named, "age": age, "hours": hours, "ill": ill, "guess": guess}
    )


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    closing = ExitStack()

    def make(**changes: object) -> Session:
        declared = {
            "population": "patients",
            "unit": "patient",
            "bounds": {"age": (0, 100), "hours": (0, 60)},
            "max_groups": 1,
            "max_rows": 1,
            "budget": Budget(Loss.zcdp(500, "1e-6"), Fraction(1, 10**6)),
            "table": "visits",
            "folder": tmp_path / ".tacit",
        }
        return closing.enter_context(tacit.open(people(), **(declared | changes)))

    with closing:
        yield make


def logistic(**settings: object) -> LogisticRegression:
    return LogisticRegression(**({"epsilon": 10, "iterations": 10} | settings))


def pipeline() -> Pipeline:
    scaler = StandardScaler(epsilon=10)
    return Pipeline([("scale", scaler), ("model", logistic(bounds=(-3, 3)))])


def spent(session: Session) -> Fraction:
    return session.status().spent.amount


def test_a_choice_costs_one_selection_however_many_candidates_there_are(opens: Opens) -> None:
    session = opens()
    lines = [([1.0, 1.0], -start) for start in (20.0, 60.0, 90.0, 110.0)]
    choice = ClassifierChoice(lines, epsilon=1)
    found = session.fit(choice, "visits", features=FEATURES, target="ill")
    assert found.best_index_ == 1
    assert spent(session) == Fraction(1, 8)  # of a bounded range: epsilon^2 / 8
    again = session.fit(
        ClassifierChoice(lines, epsilon=1), "visits", features=FEATURES, target="ill"
    )
    assert again.best_index_ == 1
    assert spent(session) == Fraction(1, 8)


def test_a_choice_is_paid_for_in_pure_epsilon_too(opens: Opens) -> None:
    session = opens(budget=Budget(Loss.pure(3)), population="others")
    choice = ClassifierChoice([([1.0, 1.0], -60.0), ([0.0, 0.0], 1.0)], epsilon=1)
    session.fit(choice, "visits", features=FEATURES, target="ill")
    assert session.status().spent == Loss.pure(1)


def test_a_pipeline_of_scikit_learn_is_fitted_and_every_step_is_charged(opens: Opens) -> None:
    session, asked = opens(), pipeline()
    price = session.quote(asked, "visits", features=FEATURES, target="ill").standing.cost
    found = session.fit(asked, "visits", features=FEATURES, target="ill")
    assert spent(session) == price.amount
    one, other = (
        session.quote(each, "visits", features=FEATURES, target=target).standing.cost.amount
        for each, target in ((StandardScaler(epsilon=10), None), (logistic(), "ill"))
    )
    assert price.amount == pytest.approx(float(one + other), abs=1e-9)
    table = people()
    assert (found.predict(table[FEATURES]) == table["ill"]).mean() > 0.9
    assert found.guarantee_ == found.named_steps["model"].guarantee_
    again = session.fit(pipeline(), "visits", features=FEATURES, target="ill")
    assert again[-1].coef_.tolist() == found[-1].coef_.tolist()
    assert spent(session) == price.amount
    assert session.verify().entries == 4  # opened, described, charged and kept


def test_a_pipeline_that_cannot_be_fitted_is_refused_before_it_is_charged(opens: Opens) -> None:
    session = opens()
    bare = Pipeline([("scale", StandardScaler()), ("model", logistic())])
    with pytest.raises(MissingBound, match="no bounds"):
        session.fit(bare, "visits", features=FEATURES, target="ill")
    for parts in ([("model", logistic())], [("scale", logistic()), ("model", logistic())]):
        with pytest.raises(InvalidValue, match="two named steps"):
            session.fit(Pipeline(parts), "visits", features=FEATURES, target="ill")
    assert spent(session) == 0


def test_cross_validation_is_charged_for_the_fits_that_a_person_is_in(opens: Opens) -> None:
    session = opens()
    asked = {"features": FEATURES, "target": "ill"}
    one = session.quote(logistic(), "visits", **asked).standing.cost.amount
    found = session.cross_validate(logistic(), "visits", **asked, folds=3, epsilon=5)
    scores = rho_within(Fraction(5), Fraction(1, 10**6))
    assert spent(session) == pytest.approx(float(2 * one + scores), abs=1e-9)
    assert len(found.test_scores_) == 3
    assert min(found.test_scores_) > 0.7
    again = session.cross_validate(logistic(), "visits", **asked, folds=3, epsilon=5)
    assert again.test_scores_.tolist() == found.test_scores_.tolist()


def test_a_score_never_comes_out_but_as_a_release(opens: Opens) -> None:
    session = opens()
    found = session.cross_validate(
        logistic(), "visits", features=FEATURES, target="ill", folds=2, epsilon=5
    )
    released = set(found.release_["parameter"].values)
    assert released == {"test_scores_", "mean_score_"}
    # where the noise of counts is a million rows, nothing of a score is left
    lost = opens(population="others").cross_validate(
        logistic(), "visits", features=FEATURES, target="ill", folds=9, epsilon=1e-6
    )
    assert {0.0, 1.0} & set(lost.test_scores_.tolist())


def test_a_search_is_charged_for_all_that_it_tries(opens: Opens) -> None:
    session = opens()
    tried = [logistic(epsilon=1), logistic()]
    search = ModelSearch(tried, epsilon=1)
    costs = [
        session.quote(each, "visits", features=FEATURES, target="ill").standing.cost.amount
        for each in tried
    ]
    found = session.fit(search, "visits", features=FEATURES, target="ill")
    assert spent(session) == pytest.approx(float(sum(costs) + Fraction(1, 8)), abs=1e-9)
    assert found.best_index_ in {0, 1}
    assert (found.predict(people()[FEATURES]) == people()["ill"]).mean() > 0.7


def test_a_holdout_is_charged_once_for_all_that_it_tells(opens: Opens) -> None:
    session = opens()
    holdout = session.holdout("visits", **ASKED)
    assert spent(session) == 0
    agreed = holdout.share(session.sql(RIGHT), 0.5)
    assert (agreed.value, agreed.off) == (Fraction(1, 2), False)
    assert spent(session) == holdout.loss.amount > 0
    for number in range(8):
        late = session.table("visits").where(col("hours") > number).agg(n=count())
        assert not holdout.share(late, 1 - (number + 1) / 41).off
    told = holdout.share(session.sql(RIGHT), 0.9)
    assert told.off
    assert float(told.value) == pytest.approx(0.5, abs=0.05)
    assert holdout.left == 1
    assert spent(session) == holdout.loss.amount


def test_a_share_is_told_once_and_a_holdout_goes_on_where_it_was(opens: Opens) -> None:
    session = opens()
    first = session.holdout("visits", **ASKED).share(session.sql(RIGHT), 0.9)
    again = session.holdout("visits", **ASKED)
    assert again.share(session.sql(RIGHT), 0.9) == first
    assert again.left == 1
    assert again.share(session.sql(RIGHT), "0.8").off
    with pytest.raises(InvalidValue, match="all of its 2 answers"):
        again.share(session.sql(RIGHT), 0.5)
    assert again.share(session.sql(RIGHT), 0.9) == first
    assert spent(session) == again.loss.amount


def test_a_holdout_keeps_its_threshold_sealed(opens: Opens, tmp_path: Path) -> None:
    session = opens()
    holdout = session.holdout("visits", **ASKED)
    holdout.share(session.sql(RIGHT), 0.5)
    assert b"reached" in session.states.of("patients").find(holdout._name).value
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert all(b'"reached"' not in content for content in files)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ill, COUNT(*) AS n FROM visits GROUP BY ill",
        "SELECT SUM(hours) AS n FROM visits",
        "SELECT COUNT(*) AS n, SUM(hours) AS h FROM visits",
    ],
)
def test_a_holdout_refuses_what_is_no_share(opens: Opens, text: str) -> None:
    session = opens(keys={"ill": [0, 1]})
    with pytest.raises(InvalidValue, match="a share of the rows"):
        session.holdout("visits", **ASKED).share(session.sql(text), 0.5)
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        session.holdout("visits", **ASKED).share(session.sql(RIGHT), 2)
    assert spent(session) == 0


def test_a_holdout_that_the_budget_does_not_hold_reads_nothing(opens: Opens) -> None:
    session = opens(budget=Budget(Loss.zcdp("0.1", "1e-6"), Fraction(1, 10**6)))
    with pytest.raises(BudgetExceeded):
        session.holdout("visits", **ASKED).share(session.sql(RIGHT), 0.5)
