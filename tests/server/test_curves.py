"""The curve of error against loss: every point is what a quote says, and free stays free."""

import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from serving import COUNT, Server, make_project, serving

from tacit.server.token_policy import Role, TokenScope
from tacit.session.session import Session

MOST = 'max_rows = 1\nmost_rows = { rows = 1, source = "one row a person" }\n'
"""A declaration by which intervals are closed, so that a margin can be wanted."""

PEOPLE = "SELECT COUNT(*) AS n FROM people"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    changed = {"max_rows = 1\n": MOST}
    with serving(make_project(tmp_path_factory.mktemp("curve"), changed=changed)) as running:
        yield running


def curve(server: Server, token: str, sql: str = PEOPLE, **more: Any) -> Any:
    told = server.call("POST", "/v1/curve", token, json={"sql": sql} | more)
    assert told.status_code == 200, told.text
    return told.json()


def quote(server: Server, token: str, sql: str = PEOPLE, **more: Any) -> Any:
    told = server.call("POST", "/v1/quote", token, json={"sql": sql} | more)
    assert told.status_code == 200, told.text
    return told.json()


@pytest.mark.parametrize(
    ("sql", "more"),
    [
        (PEOPLE, {"epsilon": "0.2"}),
        (COUNT, {"within": 20}),
        ("SELECT SUM(cost) AS c FROM visits", {}),
        ("SELECT AVG(cost) AS c FROM visits", {"epsilon": "0.5", "assume_size": [200]}),
        ("SELECT COUNT(DISTINCT patient) AS n, AVG(cost) AS c FROM visits", {"rho": "0.001"}),
        (
            "SELECT day, COUNT(*) AS n FROM visits GROUP BY day",
            {"rho": "0.01", "delta": "1e-9"},
        ),
    ],
)
def test_every_point_is_what_a_quote_says_at_the_same_loss(
    server: Server, sql: str, more: dict[str, Any]
) -> None:
    ann = server.token("ann")
    found = curve(server, ann, sql, **more)
    assert 30 <= len(found["points"]) <= 45
    sizes = {"assume_size": more["assume_size"]} if "assume_size" in more else {}
    for point in found["points"][::9]:
        same = quote(server, ann, sql, rho=point["rho"], delta=point["delta"], **sizes)
        assert point["margin"] == margin(same, found)
    asked = quote(server, ann, sql, **more)
    assert found["asked"]["margin"] == margin(asked, found)
    assert Fraction(found["asked"]["share"]["exact"]) == Fraction(
        asked["standing"]["cost"]["amount"]
    ) / Fraction(asked["standing"]["cap"]["amount"])
    margins = [Fraction(each["margin"]) for each in found["points"]]
    assert margins == sorted(margins, reverse=True)
    assert margins[0] > margins[-1]


def margin(quoted: Any, found: Any) -> str:
    """The margin of the first column in a quote."""
    first = quoted["errors"][0]
    assert first["name"] == found["column"]
    return first["always"] or dict(map(tuple, first["by_size"]))[found["size"]]


def test_a_choice_costs_what_its_margin_costs(server: Server) -> None:
    ann = server.token("ann")
    found = curve(server, ann, epsilon="0.3")
    choices = [each for each in found["choices"] if not each["free"]]
    assert [each["within"] for each in choices] == ["10", "20", "50", "100"]
    for each in choices:
        same = quote(server, ann, within=each["within"])
        assert same["standing"]["cost"]["amount"] == each["rho"]
        assert Fraction(each["margin"]) <= Fraction(each["within"])
    assert found["unit"] == "people"
    assert curve(server, ann, "SELECT SUM(cost) AS c FROM visits")["unit"] == "cost"
    assert curve(server, ann, "SELECT COUNT(*) AS n FROM visits")["unit"] == "rows"


def test_choices_are_losses_where_no_margin_can_be_wanted(server: Server) -> None:
    found = curve(server, server.token("ann"), "SELECT COUNT(*) AS n FROM visits")
    assert len(found["choices"]) == 4
    assert {each["within"] for each in found["choices"]} == {None}


def test_a_stored_answer_is_a_free_point_for_all_who_may_ask(server: Server) -> None:
    sql = "SELECT COUNT(*) AS n FROM people WHERE city = 'Bern'"
    ann, bob = server.token("ann"), server.token("bob")
    before = curve(server, ann, sql, epsilon="0.2")
    assert (before["free"], before["stored"]) == (False, [])
    key = server.ask(ann, sql, epsilon="0.2").json()["release_key"]
    for token, own in ((ann, key), (bob, None)):
        after = curve(server, token, sql, epsilon="0.2")
        [stored] = after["stored"]
        assert (stored["free"], stored["release_key"]) == (True, own)
        assert stored["margin"] == before["asked"]["margin"]
        assert after["free"] is True
        assert after["budget"]["cost"]["exact"] == "0"
        assert after["odds"]["together"] == after["odds"]["now"]
        dear = curve(server, token, sql, epsilon="0.9")
        assert (dear["free"], len(dear["stored"])) == (False, 1)


def test_shares_add_up_and_a_quota_says_what_fits(server: Server) -> None:
    ann, bob = server.token("ann"), server.token("bob")  # bob's quota is epsilon 1
    found = curve(server, bob, epsilon="2.5")
    budget = found["budget"]
    assert (budget["fits_quota"], budget["within_quota"]) == (0, False)
    parts = sum(Fraction(budget[name]["exact"]) for name in ("spent", "cost", "left"))
    assert parts == 1
    closest = found["closest"]
    assert Fraction(closest["margin"]) > Fraction(found["asked"]["margin"])
    assert Fraction(closest["share"]["exact"]) <= Fraction(budget["quota_left"]["exact"])
    told = server.ask(bob, PEOPLE, epsilon=None, within=closest["margin"])
    assert told.status_code == 200, told.text
    free = curve(server, ann, epsilon="0.1")["budget"]
    assert (free["fits_quota"], free["quota_left"]) == (None, None)


def test_odds_are_rounded_up_and_grow_with_what_is_spent(server: Server) -> None:
    ann = server.token("ann")
    ulm = f"{PEOPLE} WHERE city = 'Ulm'"
    small, large = (curve(server, ann, ulm, rho=rho)["odds"] for rho in ("0.0001", "0.1"))
    assert 50 < small["alone"] < large["alone"] <= 100
    for each in (small, large):
        assert max(each["alone"], each["now"]) <= each["together"]
        assert each["in_words"] == f"{each['alone']} in 100"


def test_a_statement_without_data_is_free_and_a_strange_table_is_not_there(
    server: Server,
) -> None:
    ann = server.token("ann", scope=TokenScope(("people", "visits")))
    assert curve(server, ann, "SELECT 1")["free"] is True
    for sql in ("SELECT COUNT(*) AS n FROM shifts", "SELECT COUNT(*) AS n FROM ghosts"):
        assert server.call("POST", "/v1/curve", ann, json={"sql": sql}).status_code == 404
    pure = curve(server, server.token("oscar", Role.OWNER), "SELECT COUNT(*) AS n FROM shifts")
    assert {each["rho"] for each in pure["points"]} == {None}
    median = curve(server, ann, "SELECT MEDIAN(cost) AS m FROM visits")
    assert len(median["points"]) > 10


def test_a_curve_charges_nothing_and_is_quick_once_its_shape_is_known(server: Server) -> None:
    ledger = server.curator.home.ledger
    before = ledger.status("patients").spent
    session = Session(server.curator.asked_by("ann"))
    best = 60.0
    for turn in range(20):
        started = time.perf_counter()
        session.curve(session.sql(PEOPLE), epsilon="0.3").to_dict()
        best = min(best, time.perf_counter() - started) if turn else best
    print(f"a warm curve takes {best * 1000:.1f} ms")  # noqa: T201
    assert best < 0.05
    assert ledger.status("patients").spent == before
