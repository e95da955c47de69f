"""The path of a fit: priced, charged, driven where questions are, stored, and free again."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from test_session import Watched

import tacit
from tacit.core.codec import decode_release
from tacit.core.loss import Budget, Loss
from tacit.engines.duckdb import open_duckdb
from tacit.errors import BudgetExceeded, InvalidValue, MissingBound, UnknownName
from tacit.ml.linear_regression import LinearRegression
from tacit.query.worker import Allowed, Worker
from tacit.session.ask import fit, quote_of
from tacit.session.session import Session
from tacit.session.workers import read_work

Opens = Callable[..., Session]
PEOPLE = 4000
FEATURES, TARGET = ["age", "hours"], "pay"


def people() -> pd.DataFrame:
    """Made-up people whose pay follows from their age and hours."""
    numbers = np.random.default_rng(0)
    age, hours = numbers.uniform(20, 60, PEOPLE), numbers.integers(0, 41, PEOPLE)
    pay = 10 * age + 25 * hours + numbers.normal(0, 20, PEOPLE)
    named = [f"p{number}" for number in range(PEOPLE)]
    return pd.DataFrame({"patient": named, "age": age, "hours": hours, "pay": pay})


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    closing = ExitStack()

    def make(**changes: object) -> Session:
        declared = {
            "population": "patients",
            "unit": "patient",
            "bounds": {"age": (0, 100), "hours": (0, 60), "pay": (0, 3000)},
            "max_groups": 1,
            "max_rows": 1,
            "budget": (60, "1e-6"),
            "table": "visits",
            "folder": tmp_path / ".tacit",
        }
        return closing.enter_context(tacit.open(people(), **(declared | changes)))

    with closing:
        yield make


def regression(**settings: float) -> LinearRegression:
    return LinearRegression(**({"epsilon": 20} | settings))


def test_a_model_is_fitted_near_the_truth_with_the_bounds_that_are_declared(
    opens: Opens,
) -> None:
    session = opens()
    model = session.fit(regression(), "visits", features=FEATURES, target=TARGET)
    assert model.coef_ == pytest.approx([10, 25], rel=0.15)
    assert list(model.feature_names_in_) == FEATURES
    asked = pd.DataFrame({"age": [30.0], "hours": [20]})
    assert model.predict(asked) == pytest.approx([800], rel=0.1)
    assert model.guarantee_.loss == session.status().spent
    assert "This answer cost epsilon" in repr(model.release_)
    assert session.verify().entries == 4


def test_the_same_fit_again_is_free_and_gives_the_same_parameters(opens: Opens) -> None:
    session = opens()
    first = session.fit(regression(), "visits", features=FEATURES, target=TARGET)
    spent = session.status().spent
    again = session.fit(regression(), "visits", features=FEATURES, target=TARGET)
    assert again.coef_.tolist() == first.coef_.tolist()
    assert again.release_.receipt == first.release_.receipt
    assert session.status().spent == spent
    other = session.fit(regression(epsilon=1), "visits", features=FEATURES, target=TARGET)
    assert other.coef_.tolist() != first.coef_.tolist()
    assert session.status().spent.amount > spent.amount


def test_the_charge_is_in_the_ledger_when_the_engine_is_touched(opens: Opens) -> None:
    watched = Watched(opens())
    fit(watched.curator, regression(), "visits", FEATURES, TARGET)
    quote = quote_of(watched.curator, regression(), "visits", FEATURES, TARGET)
    assert watched.charged == [watched.curator.home.ledger.status("patients").spent]
    assert watched.charged[0].amount >= quote.loss.amount > 0


def test_a_quote_is_the_price_and_reads_no_data(opens: Opens) -> None:
    session = opens()
    shown = session.quote(regression(), "visits", features=FEATURES, target=TARGET)
    assert session.status().spent == Loss.zcdp(0)
    session.fit(regression(), "visits", features=FEATURES, target=TARGET)
    assert session.status().spent == shown.standing.cost
    assert "1 such fit is left" in repr(shown) or "such fits are left" in repr(shown)


def test_what_cannot_be_fitted_is_refused_before_it_is_charged(opens: Opens) -> None:
    session = opens(bounds={"age": (0, 100), "pay": (0, 3000)})
    with pytest.raises(MissingBound, match=r"no bounds: visits\.hours"):
        session.fit(regression(), "visits", features=FEATURES, target=TARGET)
    with pytest.raises(UnknownName, match="no column 'wage'"):
        session.fit(regression(), "visits", features=["age"], target="wage")
    with pytest.raises(InvalidValue, match="identifies a person"):
        session.fit(regression(), "visits", features=["patient"], target=TARGET)
    with pytest.raises(InvalidValue, match="session cannot fit"):
        session.fit(object(), "visits", features=["age"], target=TARGET)
    assert session.status().spent == Loss.zcdp(0)


def test_what_the_budget_does_not_hold_is_not_run(opens: Opens) -> None:
    watched = Watched(opens())
    with pytest.raises(BudgetExceeded):
        fit(watched.curator, regression(epsilon=500), "visits", FEATURES, TARGET)
    assert not watched.charged


def test_a_budget_in_epsilon_with_delta_charges_each_release_at_its_part(opens: Opens) -> None:
    session = opens(budget=Budget(Loss.approximate(3, "1e-5")), population="some")
    session.fit(regression(epsilon=1.5), "visits", features=FEATURES, target=TARGET)
    spent = session.status().spent
    assert spent.delta <= Loss.approximate(1, "1e-6").delta
    assert 1.5 < spent.amount < 3  # two releases, whose epsilons add up
    pure = opens(budget=Budget(Loss.pure(3)), population="others")
    with pytest.raises(InvalidValue, match="no pure epsilon"):
        pure.fit(regression(), "visits", features=FEATURES, target=TARGET)


def test_a_child_process_is_told_a_name_and_settings_and_replies_parameters(
    opens: Opens, tmp_path: Path
) -> None:
    session = opens()
    file = tmp_path / "people.duckdb"
    frame = people()  # noqa: F841 - read by its name
    with duckdb.connect(str(file)) as made:
        made.execute("CREATE TABLE visits AS FROM frame")
    room = Allowed(memory_bytes=8 * 2**30, seconds=60)
    worker = Worker(open_duckdb, str(file), session.catalog, room, reads=read_work)
    try:
        quote = quote_of(session._curator, regression(), "visits", FEATURES, TARGET)
        release = decode_release(worker.run(quote, b"salt", bytes(32)))
    finally:
        worker.close()
    assert release["parameter"].values == ("coef_", "coef_", "intercept_")
    assert float(release["value"].values[1]) == pytest.approx(25, rel=0.15)


def test_a_session_that_fits_nothing_loads_no_scikit_learn() -> None:
    script = "import sys, tacit; tacit.open; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
