"""One suite for both doors: a session on this machine, and a client of a real server."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from getpass import getuser
from inspect import signature
from math import nan as NAN  # noqa: N812 - a constant
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from losing import Fragile, curator_over, served, token_for
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import tacit
from tacit.client.question import RemotePreview, RemoteQuestion
from tacit.client.session import RemoteSession
from tacit.engines.duckdb import open_duckdb
from tacit.errors import (
    AnswerLost,
    BudgetExceeded,
    InternalError,
    InvalidValue,
    KeyReused,
    MissingBound,
    NotPermitted,
    PopulationLocked,
    TacitError,
    UnknownName,
)
from tacit.frame.expression import col, count, mean, total
from tacit.ml.k_means import KMeans
from tacit.ml.linear_regression import LinearRegression
from tacit.ml.pipeline import StandardScaler
from tacit.session.project import apply_project
from tacit.session.question import Preview, Question
from tacit.session.session import Session

Door = Session | RemoteSession

TEXT = """\
[engines.warehouse]
kind = "duckdb"
path = "clinic.duckdb"

[populations.patients]
unit = "person"
owners = ["olga"]
budget = { epsilon = 20, delta = "1e-6" }

[datasets.people]
population = "patients"
engine = "warehouse"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 1
columns = { id = "integer", person = "text", city = "text" }

[datasets.visits]
population = "patients"
engine = "warehouse"
epoch = "1"
link = { column = "patient", parent = "people", parent_column = "id" }
max_groups = 2
max_rows = 3

[datasets.visits.columns]
patient = "integer"
ward = { kind = "text", keys = ["<b>north</b>", "south"], provenance = "public" }
cost = { kind = "decimal", step = "0.01", bounds = [0, 100], provenance = "policy" }
day = { kind = "date", bounds = [2026-01-01, 2026-12-31], provenance = "public" }
other = "integer"
"""
MADE = (
    """CREATE TABLE people AS SELECT n AS id, 'p' || n AS person,
        ['Bern', 'Ulm'][CAST(1 + n % 2 AS BIGINT)] AS city FROM range(600) AS r(n)""",
    """CREATE TABLE visits AS SELECT n % 600 AS patient,
        CASE WHEN n % 3 = 0 THEN 'south' ELSE '<b>north</b>' END AS ward,
        CAST(n % 90 AS DECIMAL(9, 2)) AS cost, DATE '2026-03-01' AS day, n AS other
        FROM range(1500) AS r(n)""",
)
WARDS = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"
JOINED = (
    "SELECT people.city, COUNT(*) AS n FROM visits JOIN people ON visits.patient = people.id "
    "GROUP BY people.city"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that the ledger holds."""
    folder = tmp_path_factory.mktemp("clinic")
    with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
        for statement in MADE:
            owner.execute(statement)
    file = folder / "tacit.toml"
    file.write_text(TEXT)
    apply_project(file, by="olga")
    return file


@pytest.fixture(scope="module")
def fragile(project: Path) -> Fragile:
    """An engine that fails when it is told to."""
    return Fragile(open_duckdb(str(project.parent / "clinic.duckdb"), {}))


@pytest.fixture(scope="module")
def doors(project: Path, fragile: Fragile) -> Iterator[dict[str, Door]]:
    """Both doors, over one ledger, for one and the same asker."""
    whole = curator_over(project)
    whole.engines["warehouse"].close()
    curator = replace(whole, engines={"warehouse": fragile})
    token = token_for(curator)
    with served(curator) as url, tacit.connect(url, token=token) as it:
        yield {"local": Session(curator.asked_by(getuser())), "remote": it}


@pytest.fixture(params=["local", "remote"])
def door(request: pytest.FixtureRequest, doors: dict[str, Door]) -> Door:
    return doors[request.param]


# ------------------------------------------------------------------ the same words


def words(kind: type) -> dict[str, object]:
    """The public names of a class, and how its methods are called."""
    found = {name: part for name, part in vars(kind).items() if not name.startswith("_")}
    return {
        name: list(signature(part).parameters.values()) if callable(part) else None
        for name, part in found.items()
    }


def missing(here: type, there: type, but: set[str]) -> set[str]:
    ours, theirs = words(here), words(there)
    return {name for name in ours if name not in but and ours[name] != theirs.get(name, "no")}


ESTIMATES = {"estimate", "limits", "profile", "total_profile"}
SCREENS = {"curve", "spending", "anchors"}
BESIDE_THE_LEDGER = {
    *("ledger", "states", "stream", "holdout", "certificate"),
    *ESTIMATES,
    *SCREENS,
}
"""What only who has the ledger's folder can do: streams and holdouts keep states there, and a
certificate is found by its receipt. A server finds it by the answer, and screens ask it over
HTTP for what they show."""


def test_both_doors_have_the_same_words() -> None:
    assert missing(Session, RemoteSession, BESIDE_THE_LEDGER) == set()
    assert missing(Question, RemoteQuestion, {"curator", "loss", "status"}) == set()
    assert {"quote", "explain", "ask"} <= words(RemoteQuestion).keys()
    shown = {"errors", "advice", "notes", "columns", "standing"}
    assert shown <= words(Preview).keys() & words(RemotePreview).keys()
    # a door that lacks a word, or calls it otherwise, would be seen
    assert missing(Session, RemoteQuestion, set()) >= {"sql", "table", "status", "verify"}


# ------------------------------------------------------------------ what each door does


def test_it_says_what_may_be_asked_about(door: Door) -> None:
    assert [table.name for table in door.catalog.tables] == ["people", "visits"]
    cost = door.catalog.dataset("visits").schema["cost"]
    assert cost.bounds is not None
    assert cost.bounds.upper == 100
    assert "about patients: people, visits" in repr(door)


def test_a_question_is_quoted_asked_and_free_again(door: Door) -> None:
    question = door.sql(WARDS)
    preview = question.quote(epsilon=0.5)
    assert preview.standing.cost.amount > 0
    assert {each.name for each in preview.errors} == {"n", "cost"}
    first = question.ask(epsilon=0.5)
    assert first["ward"].values == ("<b>north</b>", "south")
    assert abs(first["n"].values[0] - 1000) < 200
    again = door.sql("SELECT AVG(cost) AS c, ward, COUNT(*) AS n FROM visits GROUP BY ward")
    spent = door.status().spent
    assert again.ask(epsilon="0.5")["n"] == first["n"]
    assert again.ask(epsilon="0.5").standing.cost.amount == 0
    assert door.status().spent == spent


def test_errors_are_told_for_the_sizes_that_are_assumed(door: Door) -> None:
    usual = door.sql(WARDS).quote(epsilon=0.5)
    assumed = door.sql(WARDS).quote(epsilon=0.5, assume_size=[50, 5000])
    sizes = [[size for size, _ in each.by_size] for each in assumed.errors]
    assert sizes == [[], [50, 5000]]
    assert "at 5000 rows" in repr(assumed)
    assert "at 5000 rows" not in repr(usual)


def test_method_calls_ask_the_same(door: Door) -> None:
    visits = door.table("visits").where(col("cost") > 5).group_by("ward")
    answer = visits.agg(n=count(), pay=mean("cost"), all=total("cost")).order_by(
        "n", descending=True
    )
    shown = answer.select(ward=col("ward"), each=col("all") / col("n")).ask(rho="0.01")
    assert [column.name for column in shown.columns] == ["ward", "each"]
    joined = door.table("visits").join("people", left="patient", right="id")
    assert abs(joined.agg(n=count()).ask(epsilon=1)["n"].values[0] - 1500) < 300
    units = joined.per_unit(t=total("cost")).agg(mean=mean("t"))
    assert units.ask(epsilon=1)["mean"].intervals


def test_groups_that_nobody_declared_take_a_delta(door: Door) -> None:
    answer = door.sql(JOINED).ask(epsilon=1, delta="1e-10")
    assert set(answer["city"].values) == {"Bern", "Ulm"}


def test_an_answer_is_shown_and_becomes_a_frame(door: Door) -> None:
    answer = door.sql(WARDS).ask(epsilon=0.5)
    assert "By itself, this release about patients" in repr(answer)
    page = answer._repr_html_()
    assert "&lt;b&gt;north" in page
    assert "<b>north</b>" not in page
    frame = answer.to_pandas()
    assert list(frame.columns) == [
        "ward",
        "n",
        "n_low",
        "n_high",
        "cost",
        "cost_low",
        "cost_high",
    ]
    assert answer.to_polars().height == answer.to_arrow().num_rows == 2
    assert answer.chart()["mark" if "mark" in answer.chart() else "layer"]
    assert answer.to_dict()["receipt"] == answer.receipt.hex()


def line(**settings: Any) -> LinearRegression:
    """A model of what visits cost, and the bounds that nobody declared."""
    return LinearRegression(**({"bounds": (0, 1500), "epsilon": 2} | settings))


OTHER = {"features": ["other"], "target": "cost"}
COSTS = {"features": ["cost"]}


def test_a_model_is_quoted_fitted_and_free_again(door: Door) -> None:
    amount = 2 if isinstance(door, Session) else 2.5
    preview = door.quote(line(epsilon=amount), "visits", **OTHER)
    assert "such fits are left" in repr(preview)
    before = door.status().spent
    model = door.fit(line(epsilon=amount), "visits", **OTHER)
    assert (
        door.status().spent == before + preview.standing.cost == before + model.guarantee_.loss
    )
    assert isinstance(model, BaseEstimator)
    assert model.predict(pd.DataFrame({"other": [700]})).shape == (1,)
    assert list(model.feature_names_in_) == ["other"]
    assert "By itself, this release about patients" in repr(model.release_)
    again = door.fit(line(epsilon=amount), "visits", **OTHER)
    assert again.coef_.tolist() == model.coef_.tolist()
    assert again.release_.standing.cost.amount == 0
    door.fit(line(epsilon=amount + 0.25), "visits", **OTHER, request=f"a fit {amount}")
    with pytest.raises(KeyReused):
        door.fit(line(epsilon=1), "visits", **OTHER, request=f"a fit {amount}")


REFUSED: list[tuple[type[TacitError], Callable[[Door], object], str]] = [
    (InvalidValue, lambda door: door.sql("SELECT * FROM visits"), "Rows are not released"),
    (UnknownName, lambda door: door.sql("SELECT COUNT(*) FROM staff"), "no dataset 'staff'"),
    (MissingBound, lambda door: door.sql("SELECT SUM(other) FROM visits").quote(), "no bounds"),
    (MissingBound, lambda d: d.sql("SELECT SUM(other) FROM visits").ask(rho=1), "no bounds"),
    (InvalidValue, lambda door: door.sql(WARDS).ask(), "Give the amount to spend"),
    (
        InvalidValue,
        lambda door: door.sql(WARDS).ask(epsilon=0),
        "The amount to spend must be above 0",
    ),
    (
        InvalidValue,
        lambda door: door.sql(JOINED).ask(epsilon=1),
        "ask with a delta, such as 1e-10",
    ),
    (BudgetExceeded, lambda door: door.sql(WARDS).ask(epsilon=90), "does not fit into the"),
    (InvalidValue, lambda d: d.sql(WARDS).quote(assume_size=[0]), "1000000000000 rows; 0"),
    (InvalidValue, lambda d: d.sql(WARDS).quote(assume_size=[]), "from 1 to 10; 0 were"),
    (MissingBound, lambda d: d.fit(line(bounds=None), "visits", **OTHER), "no bounds: visits"),
    (UnknownName, lambda d: d.fit(line(), "staff", **OTHER), "no dataset 'staff'"),
    (UnknownName, lambda d: d.quote(line(), "visits", features=["pay"]), "no column 'pay'"),
    (InvalidValue, lambda d: d.fit(object(), "visits", **COSTS), "session cannot fit"),
    (InvalidValue, lambda d: d.fit(line(epsilon=NAN), "visits", **OTHER), "stored as JSON"),
    (InvalidValue, lambda d: d.fit(line(norm="far"), "visits", **OTHER), "takes norm as a fin"),
    (InvalidValue, lambda d: d.fit(KMeans(10**9), "visits", **COSTS), "int up to 10000, not 1"),
    (BudgetExceeded, lambda d: d.fit(line(epsilon=90), "visits", **OTHER), "does not fit into"),
    (UnknownName, lambda door: door.status("staff"), "no population 'staff'"),
    (UnknownName, lambda door: door.table("staff"), "no dataset 'staff'"),
]


@pytest.mark.parametrize(("kind", "wrong", "told"), REFUSED)
def test_a_refusal_is_of_one_kind_and_costs_nothing(
    door: Door, kind: type[TacitError], wrong: Callable[[Door], object], told: str
) -> None:
    before = door.status()
    with pytest.raises(kind, match=told) as refused:
        wrong(door)
    assert type(refused.value) is kind
    assert door.status() == before


def test_a_key_stands_for_one_question(door: Door) -> None:
    amount, key = (0.61, "one") if isinstance(door, Session) else (0.62, "two")
    door.sql(WARDS).ask(epsilon=amount, request=key)
    with pytest.raises(KeyReused, match="Use a new key for each"):
        door.sql(WARDS).ask(epsilon=0.7, request=key)


def test_a_lost_answer_is_told_of_and_paid_for_anew_under_a_new_name(
    door: Door, doors: dict[str, Door], fragile: Fragile
) -> None:
    question, amount = door.sql(WARDS), 0.9 if isinstance(door, Session) else 0.91
    fragile.failures = 2  # the first is run once more
    with pytest.raises(InternalError, match="charged"):
        question.ask(epsilon=amount)
    spent = door.status().spent
    with pytest.raises(PopulationLocked, match="ledger look"):
        question.ask(epsilon=amount, request="while it is locked")
    local = doors["local"]
    assert isinstance(local, Session)
    local.ledger.look("patients", by="olga")
    with pytest.raises(
        AnswerLost, match="It stays charged, and its answer is not computed again"
    ):
        question.ask(epsilon=amount)
    assert door.status().spent == spent
    assert question.ask(epsilon=amount, request=f"anew {amount}").standing.cost.amount > 0


# ------------------------------------------------------------------ what both show alike


@pytest.mark.parametrize(
    "amount", [{"epsilon": 0.3}, {"rho": "1/700"}, {}, {"epsilon": 0.3, "assume_size": [7, 70]}]
)
def test_quotes_are_the_same_to_the_letter(
    doors: dict[str, Door], amount: dict[str, object]
) -> None:
    local, remote = (door.sql(WARDS).quote(**amount) for door in doors.values())
    assert repr(remote) == repr(local)
    assert remote._repr_html_() == local._repr_html_()
    assert remote.errors == local.errors
    assert remote.standing == local.standing
    assert list(remote.advice) == [str(each) for each in local.advice]
    dearer = doors["remote"].sql(WARDS).quote(epsilon=0.31)
    assert repr(dearer) != repr(local)


def test_what_one_paid_for_the_other_has_for_nothing(doors: dict[str, Door]) -> None:
    local = doors["local"].sql(WARDS).ask(epsilon=0.81)
    remote = doors["remote"].sql(WARDS).ask(epsilon=0.81)
    assert remote.columns == local.columns
    assert (remote.guarantee, remote.receipt) == (local.guarantee, local.receipt)
    assert remote.standing.cost.amount == 0
    assert doors["remote"].status() == doors["local"].status()
    assert doors["remote"].catalog.populations == doors["local"].catalog.populations


def test_models_are_the_same_at_both_doors(doors: dict[str, Door]) -> None:
    wanted = line(epsilon=1.25)
    quotes = [repr(door.quote(wanted, "visits", **OTHER)) for door in doors.values()]
    assert quotes[0] == quotes[1]
    local, remote = (door.fit(line(epsilon=1.25), "visits", **OTHER) for door in doors.values())
    assert remote.coef_.tolist() == local.coef_.tolist()
    assert remote.guarantee_ == local.guarantee_
    assert remote.release_.receipt == local.release_.receipt
    assert remote.release_.standing.cost.amount == 0
    other = doors["remote"].fit(line(epsilon=1.26), "visits", **OTHER)
    assert other.coef_.tolist() != local.coef_.tolist()


def test_a_pipeline_goes_through_both_doors(doors: dict[str, Door]) -> None:
    def steps() -> Pipeline:
        scaler = StandardScaler(epsilon=1, bounds=(0, 1500))
        return Pipeline([("scale", scaler), ("line", line(epsilon=1, bounds=(-3, 3)))])

    local, remote = (door.fit(steps(), "visits", **OTHER) for door in doors.values())
    assert remote["line"].coef_.tolist() == local["line"].coef_.tolist()
    assert remote["scale"].mean_.tolist() == local["scale"].mean_.tolist()
    assert remote.guarantee_ == local.guarantee_
    assert remote.release_.standing.cost.amount == 0


def test_how_it_would_be_answered_is_told_alike(doors: dict[str, Door]) -> None:
    local, remote = (door.sql(WARDS).explain() for door in doors.values())
    assert remote == local
    shown = {repr(door.sql(JOINED)) for door in doors.values()}
    assert len(shown) == 1


def test_the_ledger_is_verified_by_an_auditor_and_not_by_an_analyst(
    project: Path, doors: dict[str, Door]
) -> None:
    with pytest.raises(NotPermitted, match="role of your token does not permit this"):
        doors["remote"].verify()
    curator = curator_over(project)
    token = token_for(curator, role="auditor", who="audrey")
    with served(curator) as url, tacit.connect(url, token=token) as it:
        assert str(it.verify()) == str(doors["local"].verify())
        with pytest.raises(NotPermitted):
            it.sql(WARDS).ask(epsilon=0.1)
