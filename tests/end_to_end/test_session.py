"""The one door: charged before data is touched, stored before it leaves, free again."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import tacit
from tacit.core.catalog import Catalog
from tacit.core.codec import encode_release
from tacit.core.loss import Budget, Loss
from tacit.engines.engine import SecretTable
from tacit.errors import AnswerLost, BudgetExceeded, InternalError, InvalidValue, UnknownName
from tacit.frame.expression import count, mean
from tacit.plan.bounded_plan import BoundedPlan
from tacit.query.below_charge import Progress, attempt
from tacit.query.paid_work import QuoteWork
from tacit.query.pricing import price
from tacit.session.ask import ask, request_for
from tacit.session.curator import Curator
from tacit.session.session import Session
from tacit.sql.parser import parse

WARDS = ("north", "south", "east")
VISITS = pd.DataFrame(
    {
        "patient": [f"p{number % 400}" for number in range(1200)],
        "ward": [WARDS[number % 2] for number in range(1200)],
        "pay": [number % 100 + 0.5 for number in range(1200)],
    }
)
TEXT = "SELECT ward, COUNT(*) AS n, AVG(pay) AS pay FROM visits GROUP BY ward"

Opens = Callable[..., Session]


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """Opens sessions over the visits, with one ledger, and closes them after the test."""
    closing = ExitStack()

    def make(source: object = VISITS, **changes: object) -> Session:
        declared = {
            "population": "patients",
            "unit": "patient",
            "bounds": {"pay": (0, 100)},
            "keys": {"ward": WARDS},
            "max_groups": 2,
            "max_rows": 3,
            "budget": (3, "1e-6"),
            "table": "visits",
            "folder": tmp_path / ".tacit",
        }
        return closing.enter_context(tacit.open(source, **(declared | changes)))

    with closing:
        yield make


class Watched:
    """An engine that notes what the ledger had charged when it was touched."""

    def __init__(self, session: Session) -> None:
        curator = session._curator
        self._engine = curator.engines["here"]
        self._ledger = session.ledger
        self.charged: list[Loss] = []
        self.curator = Curator(
            curator.catalog, {"here": self}, curator.home, curator.principal, lease_ms=1000
        )

    def check(self, catalog: Catalog) -> None:
        self._engine.check(catalog)

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        self.charged.append(self._ledger.status("patients").spent)
        return self._engine.run(plan, catalog, salt)


def eager(curator: Curator, text: str, loss: Loss) -> None:
    """A lie: it looks at the data, and charges what it found."""
    quote = price(parse(text, curator.catalog), curator.catalog, loss)
    work = QuoteWork(quote, curator.catalog, curator.salt("patients"), bytes(32))
    attempt(work, curator.engine_of(quote.datasets), Progress())
    question = request_for(quote, curator.catalog, curator.principal)
    curator.home.ledger.reserve(question, lease_ms=1000)


def test_the_charge_is_in_the_ledger_when_the_engine_is_touched(opens: Opens) -> None:
    watched = Watched(opens())
    ask(watched.curator, parse(TEXT, watched.curator.catalog), Loss.zcdp("0.05"))
    assert watched.charged == [Loss.zcdp("0.05")]


def test_a_session_that_looks_before_it_charges_is_caught(opens: Opens) -> None:
    watched = Watched(opens())
    eager(watched.curator, TEXT, Loss.zcdp("0.05"))
    assert watched.charged == [Loss.zcdp(0)]


def test_a_question_is_answered_near_the_truth(opens: Opens) -> None:
    answer = opens().sql(TEXT).ask(epsilon=2)
    assert answer["ward"].values == WARDS
    for value, truth in zip(answer["n"].values, (600, 600, 0), strict=True):
        assert abs(value - truth) < 100
    assert abs(answer["pay"].values[0] - 49.5) < 10
    assert answer.standing.cost == answer.standing.spent
    assert answer.standing.total.amount <= 2


def test_method_calls_and_sql_are_one_question(opens: Opens) -> None:
    session = opens()
    first = session.sql(TEXT).ask(epsilon=0.5)
    table = session.table("visits").group_by("ward")
    again = table.agg(n=count(), pay=mean("pay")).ask(epsilon=0.5)
    assert encode_release(first) == encode_release(again)
    assert again.standing.cost == Loss.zcdp(0)
    assert again.standing.spent == first.standing.spent
    fewer = table.agg(pay=mean("pay"), n=count()).order_by("n", descending=True).limit(1)
    assert fewer.ask(epsilon=0.5)["n"].values == (max(first["n"].values),)


def test_a_later_session_gives_the_same_bytes_for_nothing(opens: Opens) -> None:
    with opens() as session:
        first = session.sql(TEXT).ask(rho="0.01")
    with opens(budget=None) as session:
        again = session.sql(TEXT).ask(rho="0.01")
        assert encode_release(again) == encode_release(first)
        assert session.status().spent == Loss.zcdp("0.01")
        assert session.verify().entries == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"epoch": "2"},
        {"bounds": {"pay": (0, 50)}},
        {"keys": {"ward": WARDS[:2]}},
        {"max_rows": 1},
    ],
)
def test_what_the_owner_declares_anew_is_asked_anew(
    opens: Opens, changes: dict[str, object]
) -> None:
    opens().sql(TEXT).ask(rho="0.01")
    answer = opens(**changes).sql(TEXT).ask(rho="0.01")
    assert answer.standing.spent == Loss.zcdp("0.02")


def test_a_quote_is_free_and_says_what_the_answer_will_cost(opens: Opens) -> None:
    session = opens()
    assert "about 10 such questions fit" in repr(session.sql(TEXT).quote())
    preview = session.sql(TEXT).quote(epsilon=0.5)
    assert session.status().spent == Loss.zcdp(0)
    answer = session.sql(TEXT).ask(epsilon=0.5)
    assert preview.standing.cost == answer.standing.cost
    assert preview.standing.more == answer.standing.more + 1
    assert [each.name for each in preview.errors] == ["n", "pay"]
    (low, high) = answer["n"].counted[0]
    assert preview.errors[0].always == (high - low) / 2
    assert answer["n"].intervals[0] == (low, None)  # how many rows are cut is not known
    assert "margin of error (95%)" in repr(preview)
    assert "Price: epsilon 0.5 (rho 0.0" in preview._repr_html_()


def test_a_quote_names_the_aggregates_of_computed_columns(opens: Opens) -> None:
    text = "SELECT COUNT(*) * 2 AS twice, ROUND(AVG(pay), 1) AS pay, COUNT(*) AS n FROM visits"
    preview = opens().sql(text).quote(rho="0.01")
    assert [each.name for each in preview.errors] == ["n", "AVG(pay)"]
    assert "AVG(pay)" in repr(preview)


def test_amounts_are_printed_in_the_unit_that_was_typed_first(opens: Opens) -> None:
    question = opens().sql(TEXT)
    asked = question.ask(epsilon="0.25")
    assert "This answer cost epsilon 0.25 (rho 0.0" in repr(asked)
    assert "\nepsilon 0.25 of at most epsilon 3, delta 0.000001 (rho 0.0" in repr(asked)
    typed = question.quote(rho="0.001")
    assert typed.notes[0].startswith("Price: rho 0.001 (epsilon 0.")
    assert "rho 0.01" in str(question.ask(rho="0.01").standing).splitlines()[0][:30]
    assert question.quote().notes[0].startswith("Price: epsilon ")
    with pytest.raises(BudgetExceeded, match=r"^epsilon 5\.\d+ \(rho 0\.\d+\) does not fit"):
        question.ask(epsilon="5.5")


def test_a_quote_is_the_same_whatever_stands_in_the_table(opens: Opens, tmp_path: Path) -> None:
    without = VISITS[VISITS["patient"] != "p7"]
    quotes = [
        repr(opens(table, folder=tmp_path / str(place)).sql(TEXT).quote(epsilon=1))
        for place, table in enumerate((VISITS, without, VISITS[:0]))
    ]
    assert len(set(quotes)) == 1


def test_groups_that_nobody_declared_need_a_delta(opens: Opens) -> None:
    question = opens(keys={}).sql(
        "SELECT ward, COUNT(DISTINCT patient) AS n FROM visits GROUP BY ward"
    )
    with pytest.raises(InvalidValue, match="ask with a delta, such as 1e-10"):
        question.ask(epsilon=1)
    assert "Groups are not public" in repr(question.quote(epsilon=1, delta="1e-10"))
    answer = question.ask(epsilon=1, delta="1e-10")
    assert answer["ward"].values == ("north", "south")


def test_where_leaves_the_public_groups_that_it_can_select(opens: Opens) -> None:
    text = "SELECT ward, COUNT(*) AS n{} FROM visits{} GROUP BY ward"
    session, some = opens(), " WHERE ward IN ('north', 'east')"
    answer = session.sql(text.format(", AVG(COUNT(*)) OVER () AS mean", some)).ask(epsilon=1)
    assert answer["ward"].values == ("north", "east")
    assert float(answer["mean"].values[0]) == pytest.approx(300, abs=40)  # 600 and 0 rows
    with pytest.raises(InvalidValue, match="WHERE excludes every value"):
        session.sql(text.format("", " WHERE ward = 'nroth'")).ask(epsilon="0.1")
    assert session.status().spent == answer.standing.spent


def test_a_quote_names_texts_that_are_not_declared_keys(opens: Opens) -> None:
    text = "SELECT COUNT(*) AS n FROM visits WHERE ward {}"
    for where, said in [
        ("= 'nroth'", ["nroth"]),
        ("IN ('north', 'suoth')", ["suoth"]),
        ("<> 'nroth' AND (pay > 3 OR NOT ward = 'e')", ["nroth", "e"]),
        ("IN ('north', 'south')", []),
    ]:
        notes = opens().sql(text.format(where)).quote(epsilon=1).notes
        wrong = [each for each in notes if "not a declared key" in each]
        assert wrong == [
            f"{each!r} in WHERE is not a declared key of visits.ward." for each in said
        ]
    secret = opens(keys={}).sql(text.format("= 'nroth'")).quote(epsilon=1)
    assert "not a declared key" not in repr(secret)


def test_a_quote_says_that_windows_include_groups_without_people(opens: Opens) -> None:
    ranked = TEXT.replace(" FROM", ", RANK() OVER (ORDER BY COUNT(*)) AS place FROM")
    said = "also one without people: ranks"
    assert said in repr(opens().sql(ranked).quote(epsilon=1))
    assert said not in repr(opens().sql(TEXT).quote(epsilon=1))
    secret = opens(keys={}).sql(ranked).quote(epsilon=1, delta="1e-10")
    assert said not in repr(secret)


def test_a_budget_that_is_full_answers_nothing(opens: Opens) -> None:
    session = opens()
    with pytest.raises(BudgetExceeded, match="does not fit into the budget of 'patients'"):
        session.sql(TEXT).ask(rho=5)
    assert session.status().spent == Loss.zcdp(0)


def test_a_failure_below_the_line_has_one_text_and_stays_charged(opens: Opens) -> None:
    session = opens()
    engine = session._curator.engines["here"]
    engine._connection.execute(
        "ALTER TABLE visits RENAME TO hidden; CREATE VIEW visits AS "
        "SELECT patient, ward, CAST(patient AS DOUBLE) AS pay FROM hidden"
    )
    with pytest.raises(InternalError) as told:
        session.sql(TEXT).ask(rho="0.01")
    assert str(told.value) == "The question failed after it was charged. It stays charged."
    assert told.value.__cause__ is None
    assert told.value.__context__ is None
    assert session.status().spent == Loss.zcdp("0.01")
    with pytest.raises(AnswerLost):
        session.sql(TEXT).ask(rho="0.01")


def test_an_engines_own_error_would_tell_of_a_row() -> None:
    with pytest.raises(duckdb.Error, match="p17"):  # what the text above stands for
        duckdb.sql("SELECT CAST('p17' AS DOUBLE)").fetchall()


CRASH = """
import os, sys, tacit
from tacit.engines.duckdb import DuckDB
DuckDB.run = lambda *_: os._exit(9)
session = tacit.open(
    sys.argv[1], population="patients", unit="patient", keys={"ward": ("north", "south")},
    max_groups=2, max_rows=3, budget=(3, "1e-6"), folder=sys.argv[2],
)
object.__setattr__(session._curator, "lease_ms", 300)
session.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward").ask(rho="0.01")
"""


def test_after_a_crash_the_same_question_says_that_its_answer_was_lost(
    opens: Opens, tmp_path: Path
) -> None:
    file = tmp_path / "visits.parquet"
    VISITS.to_parquet(file)
    folder = tmp_path / "crashed"
    done = subprocess.run([sys.executable, "-c", CRASH, file, folder], check=False)
    assert done.returncode == 9
    session = opens(
        file, keys={"ward": ("north", "south")}, bounds={}, folder=folder, budget=None
    )
    question = session.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    assert session.status().spent == Loss.zcdp("0.01")
    with pytest.raises(AnswerLost, match="stays charged"):
        question.ask(rho="0.01")
    assert session.status().spent == Loss.zcdp("0.01")
    # whoever sends another request each time pays again, and is not told
    assert question.ask(rho="0.01", request="once more")["ward"].values == ("north", "south")
    assert session.status().spent == Loss.zcdp("0.02")


def test_the_ledger_is_its_owners_alone(opens: Opens, tmp_path: Path) -> None:
    opens().close()
    folder = tmp_path / ".tacit"
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    assert modes[".tacit"] == 0o700
    assert modes["key"] == modes["ledger.db"] == 0o600
    folder.chmod(0o755)
    with pytest.raises(InvalidValue, match=r"Other users may open .* chmod 700"):
        opens()


def test_the_salt_is_drawn_once_and_never_shown(opens: Opens, tmp_path: Path) -> None:
    first = opens()._curator
    salt = first.salt("patients")
    assert len(salt) == 32
    assert opens()._curator.salt("patients") == salt
    assert first.salt("staff") != salt
    first.close()
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".tacit").iterdir())
    assert salt not in kept
    assert salt.hex().encode() not in kept
    assert repr(first.home.states.find("salt of patients")) == "<state at version 1>"


def test_a_budget_is_opened_once_and_not_changed_in_passing(opens: Opens) -> None:
    with pytest.raises(InvalidValue, match=r"has no budget yet.*budget=\(3, '1e-6'\)"):
        opens(budget=None)
    opens()
    opens(budget=(3, "1e-6"))
    with pytest.raises(
        InvalidValue, match=r"is epsilon 3, delta 0\.000001, and another one was given"
    ):
        opens(budget=(4, "1e-6"))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "Give the amount to spend"),
        ({"epsilon": 1, "rho": 1}, "Give the amount to spend"),
        ({"epsilon": 0}, "must be above 0"),
        ({"rho": 0}, "must be above 0"),
    ],
)
def test_an_amount_is_said_in_one_way(opens: Opens, asked: dict[str, int], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        opens().sql(TEXT).ask(**asked)


def test_a_budget_in_epsilon_is_asked_in_epsilon(opens: Opens) -> None:
    session = opens(budget=Budget(Loss.pure(1)))
    with pytest.raises(InvalidValue, match="is counted in epsilon"):
        session.sql(TEXT).ask(rho=1)
    answer = session.sql(TEXT).ask(epsilon="0.25")
    assert answer.standing.spent <= Loss.pure("0.25")
    assert answer.standing.more == 3


def test_columns_that_are_not_there_are_named(opens: Opens) -> None:
    with pytest.raises(
        UnknownName, match=r"no column 'wage' .* The columns are: patient, ward, pay"
    ):
        opens(bounds={"wage": (0, 1)})
    with pytest.raises(InvalidValue, match="must be a list of values"):
        opens(keys={"ward": "north"})
