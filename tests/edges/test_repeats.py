"""F-A5: repeats that need no new noise cost nothing, and all others are charged.

In version 0.1.0, a question that was asked again at a smaller epsilon was charged again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import Bar

from tacit.cli.demo import PROJECT, TABLES
from tacit.core import Answer
from tacit.engines.duckdb import make_duckdb
from tacit.errors import KeyReused
from tacit.ledger import Ledger, Offer
from tacit.session import apply_project, open_project
from tacit.session.session import Session

BY_CITY = (
    "SELECT patients.city, COUNT(*) AS n FROM visits "
    "JOIN patients ON visits.patient = patients.id GROUP BY patients.city"
)
TWO = (
    "SELECT patients.city, COUNT(cost) AS n, SUM(cost) AS paid FROM visits "
    "JOIN patients ON visits.patient = patients.id "
    "WHERE cost > 100 AND ward IN ('north', 'south') GROUP BY patients.city"
)
JOINED = "FROM visits JOIN patients ON visits.patient = patients.id "
BOTH = f"SELECT patients.city, ward, COUNT(*) AS n {JOINED} GROUP BY patients.city, ward"
ALL = "SELECT COUNT(*) AS n FROM visits"
MEAN = "SELECT ward, AVG(cost) AS mean FROM visits GROUP BY ward"
MEDIAN = "SELECT MEDIAN(cost) AS middle FROM visits"
SPREAD = "SELECT VARIANCE(cost) AS spread FROM visits"
PEOPLE = f"SELECT patients.city, COUNT(DISTINCT person) AS n {JOINED} GROUP BY patients.city"
DOCTORS = "SELECT doctor, COUNT(*) AS n FROM visits GROUP BY doctor"
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits WHERE cost < 900 GROUP BY ward"
SUBQUERY = (
    "SELECT COUNT(*) AS n FROM (SELECT person, COUNT(*) AS v FROM visits "
    "JOIN patients ON visits.patient = patients.id GROUP BY person) AS each WHERE v > 2"
)
EITHER = "SELECT COUNT(*) AS n FROM visits WHERE cost > 500 OR ward = 'east'"

Asked = tuple[str, dict[str, Any]]

FIRST: tuple[Asked, ...] = (
    *((sql, {"epsilon": 2}) for sql in (BY_CITY, TWO, BOTH, MEAN, MEDIAN, SPREAD, PEOPLE)),
    (DOCTORS, {"epsilon": 2, "delta": "1e-10"}),
    (BY_WARD, {"epsilon": 2}),
    (EITHER, {"epsilon": 2}),
)
"""The questions that are charged first."""

ONE: dict[str, Any] = {"epsilon": 1}
FREE: dict[str, Asked] = {
    "the same": (BY_CITY, {"epsilon": 2}),
    "half the epsilon": (BY_CITY, ONE),
    "a little less epsilon": (BY_CITY, {"epsilon": "1.999999"}),
    "a small rho": (BY_CITY, {"rho": "0.01"}),
    "a larger error": (BY_CITY, {"within": 500}),
    "the same error": (BY_CITY, {"within": 53}),
    "a share": (BY_CITY, {"within": "10%", "assume_size": [1000]}),
    "an idempotency key": (BY_CITY, {"epsilon": 1, "request": "a key"}),
    "the key again": (BY_CITY, {"epsilon": 1, "request": "a key"}),
    "another key": (BY_CITY, {"epsilon": 1, "request": "another"}),
    "join turned around": (
        (
            "SELECT patients.city, COUNT(*) AS n FROM patients "
            "JOIN visits ON visits.patient = patients.id GROUP BY patients.city"
        ),
        {"epsilon": 2},
    ),
    "sides of the join": (
        BY_CITY.replace("visits.patient = patients.id", "patients.id = visits.patient"),
        ONE,
    ),
    "aliases": (
        (
            "SELECT p.city, COUNT(*) AS n FROM visits v JOIN patients p ON v.patient = p.id "
            "GROUP BY p.city"
        ),
        ONE,
    ),
    "lower case": (BY_CITY.replace("SELECT", "select").replace("GROUP BY", "group by"), ONE),
    "other names": (BY_CITY.replace("AS n", "AS visits"), ONE),
    "other order of columns": (
        f"SELECT COUNT(*) AS n, patients.city {JOINED} GROUP BY patients.city",
        ONE,
    ),
    "ORDER BY": (f"{BY_CITY} ORDER BY n DESC", ONE),
    "LIMIT": (f"{BY_CITY} ORDER BY n LIMIT 1", ONE),
    "HAVING": (f"{BY_CITY} HAVING COUNT(*) > 100", ONE),
    "arithmetic": (BY_CITY.replace("COUNT(*)", "2 * COUNT(*) + 1"), ONE),
    "the mean as a quotient": (TWO.replace("SUM(cost) AS paid", "SUM(cost) / 2 AS half"), ONE),
    "conditions turned around": (
        TWO.replace(
            "cost > 100 AND ward IN ('north', 'south')",
            "ward IN ('north', 'south') AND cost > 100",
        ),
        ONE,
    ),
    "a comparison turned around": (TWO.replace("cost > 100", "100 < cost"), ONE),
    "a condition twice": (TWO.replace("cost > 100", "cost > 100 AND cost > 100"), ONE),
    "a list turned around": (TWO.replace("'north', 'south'", "'south', 'north'"), ONE),
    "an OR turned around": (
        "SELECT COUNT(*) AS n FROM visits WHERE ward = 'east' OR cost > 500",
        ONE,
    ),
    "measures turned around": (
        TWO.replace(
            "COUNT(cost) AS n, SUM(cost) AS paid", "SUM(cost) AS paid, COUNT(cost) AS n"
        ),
        ONE,
    ),
    "keys turned around": (
        f"SELECT ward, patients.city, COUNT(*) AS n {JOINED} GROUP BY ward, patients.city",
        ONE,
    ),
    "a mean": (MEAN, ONE),
    "a median": (MEDIAN, ONE),
    "a variance": (SPREAD, ONE),
    "people": (PEOPLE, ONE),
    "secret groups": (DOCTORS, {"epsilon": 1, "delta": "1e-10"}),
    "secret groups, less delta": (DOCTORS, {"epsilon": 1, "delta": "1e-11"}),
    "coarser": (f"SELECT COUNT(*) AS n {JOINED}", ONE),
    "coarser without the join": (ALL, ONE),
    "coarser, renamed": ("SELECT COUNT(*) AS all_visits FROM visits", ONE),
    "coarser, computed": ("SELECT COUNT(*) / 2 AS half FROM visits", ONE),
    "coarser by an error": (ALL, {"within": 120}),
    "coarser, count and sum": (
        (
            "SELECT COUNT(cost) AS n, SUM(cost) AS paid FROM visits "
            "WHERE cost > 100 AND ward IN ('north', 'south')"
        ),
        ONE,
    ),
    "coarser by ward": ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", ONE),
    "coarser by ward, ordered": (
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2",
        ONE,
    ),
}

PAID: dict[str, Asked] = {
    "more epsilon": (BY_CITY, {"epsilon": "2.000001"}),
    "more rho": (BY_CITY, {"rho": "0.2"}),
    "a smaller error": (BY_CITY, {"within": 20}),
    "more delta": (DOCTORS, {"epsilon": 1, "delta": "1e-9"}),
    "another key column": (
        f"SELECT MONTH(day) AS m, COUNT(*) AS n {JOINED} GROUP BY MONTH(day)",
        ONE,
    ),
    "a finer key": (
        BY_CITY.replace("COUNT", "MONTH(day) AS m, COUNT") + ", MONTH(day)",
        ONE,
    ),
    "a CASE": (
        (
            "SELECT CASE WHEN cost > 500 THEN 'a' ELSE 'b' END AS part, COUNT(*) AS n "
            "FROM visits GROUP BY part"
        ),
        ONE,
    ),
    "a condition more": (BY_CITY.replace("GROUP", "WHERE cost > 10 GROUP"), ONE),
    "another constant": (TWO.replace("100", "101"), ONE),
    "another comparison": (TWO.replace("cost > 100", "cost >= 100"), ONE),
    "another list": (TWO.replace("'north', 'south'", "'north', 'east'"), ONE),
    "a shorter list": (TWO.replace("'north', 'south'", "'north'"), ONE),
    "NOT": (TWO.replace("ward IN", "ward NOT IN"), ONE),
    "AND for OR": (EITHER.replace(" OR ", " AND "), ONE),
    "without a condition": (EITHER.replace(" OR ward = 'east'", ""), ONE),
    "another aggregate": (BY_CITY.replace("COUNT(*)", "SUM(cost)"), ONE),
    "values for rows": (BY_CITY.replace("COUNT(*)", "COUNT(day)"), ONE),
    "a mean for a count": (BY_CITY.replace("COUNT(*)", "AVG(cost)"), ONE),
    "a greatest value": (BY_CITY.replace("COUNT(*)", "MAX(cost)"), ONE),
    "a least value": (BY_CITY.replace("COUNT(*)", "MIN(cost)"), ONE),
    "a deviation": (SPREAD.replace("VARIANCE", "STDDEV"), ONE),
    "another quantile": ("SELECT QUANTILE(cost, 0.25) AS low FROM visits", ONE),
    "a sum of a product": (BY_CITY.replace("COUNT(*)", "SUM(cost * 2)"), ONE),
    "a measure more": (BY_CITY.replace("AS n", "AS n, SUM(cost) AS paid"), ONE),
    "a measure less": (TWO.replace("COUNT(cost) AS n, ", ""), ONE),
    "another table": ("SELECT city, COUNT(*) AS n FROM patients GROUP BY city", ONE),
    "a table more": (
        (
            "SELECT patients.city, COUNT(*) AS n FROM labs "
            "JOIN visits ON labs.visit = visits.id "
            "JOIN patients ON visits.patient = patients.id GROUP BY patients.city"
        ),
        ONE,
    ),
    "a subquery": (SUBQUERY, ONE),
    "coarser with more epsilon": (ALL, {"epsilon": 6}),
    "coarser by a smaller error": (ALL, {"within": 10}),
    "coarser people": (
        PEOPLE.replace("patients.city, ", "").replace(" GROUP BY patients.city", ""),
        ONE,
    ),
    "coarser mean": ("SELECT AVG(cost) AS mean FROM visits", ONE),
    "coarser over groups that limits cut": (
        "SELECT COUNT(*) AS n FROM visits WHERE cost < 900",
        ONE,
    ),
    "coarser with another condition": (
        "SELECT COUNT(*) AS n FROM visits WHERE cost < 800",
        ONE,
    ),
}


DECLARED: dict[str, tuple[str, str]] = {
    "another epoch": ('epoch = "2026"', 'epoch = "2027"'),
    "other bounds": ("bounds = [0, 1000]", "bounds = [0, 2000]"),
    "other limits": ("max_rows = 11", "max_rows = 12"),
    "other keys": ('"Bern", "Ulm", "Graz"', '"Bern", "Graz", "Ulm"'),
}
"""Changes of declarations after which the same question is another one."""


class Clinic:
    """The demo's clinic in a folder, and sessions of its analysts."""

    def __init__(self, folder: Path, tables: tuple[str, ...] = TABLES) -> None:
        self.project = folder / "tacit.toml"
        make_duckdb(str(folder / "clinic.duckdb"), tables)
        self.declare("", "")

    def declare(self, old: str, new: str) -> None:
        said = PROJECT.replace("OWNER", '"olga"').replace("epsilon = 3", "epsilon = 300")
        self.project.write_text(said.replace(old, new))
        apply_project(self.project, by="olga")

    @contextmanager
    def session(self, principal: str = "ann") -> Iterator[Session]:
        with open_project(self.project, principal=principal) as session:
            yield session


@pytest.fixture
def clinic(tmp_path: Path) -> Clinic:
    return Clinic(tmp_path)


def cost(session: Session, asked: Asked) -> Fraction:
    sql, amounts = asked
    before = session.status("patients").spent.amount
    answer = session.sql(sql).ask(**amounts)
    spent = session.status("patients").spent.amount - before
    assert (spent > 0) is (answer.standing.cost.amount > 0)
    return spent


def ask_first(session: Session) -> None:
    assert all(cost(session, asked) > 0 for asked in FIRST)


def test_repeats_that_need_no_new_noise_are_free(clinic: Clinic, bar: Bar) -> None:
    with clinic.session() as session:
        ask_first(session)
        charged = [name for name, asked in FREE.items() if cost(session, asked)]
    others = []
    with clinic.session("bob") as session:
        for name in ("the same", "half the epsilon", "join turned around", "coarser"):
            others += [name] if cost(session, FREE[name]) else []
    asked = len(FREE) + 4
    free = asked - len(charged) - len(others)
    bar(f"of {asked} forms of repeats: free", free, str(asked), free == asked)
    assert (charged, others) == ([], [])


def test_other_questions_are_charged(clinic: Clinic, bar: Bar) -> None:
    with clinic.session() as session:
        ask_first(session)
        free = [name for name, asked in PAID.items() if not cost(session, asked)]
    for name, change in DECLARED.items():
        clinic.declare(*change)
        with clinic.session() as session:
            free += [] if cost(session, (BY_CITY, {"epsilon": 2})) else [name]
    asked = len(PAID) + len(DECLARED)
    charged = asked - len(free)
    bar(f"of {asked} forms of other questions: charged", charged, str(asked), charged == asked)
    assert free == []


def test_both_tables_are_long_enough() -> None:
    assert len(FREE) >= 30
    assert len(PAID) + len(DECLARED) >= 30


def test_without_offers_repeats_are_charged(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: a ledger that finds only the same loss would charge such repeats."""
    monkeypatch.setattr(Ledger, "find_offers", lambda *_: ())
    with clinic.session() as session:
        assert cost(session, (BY_CITY, {"epsilon": 2}))
        assert not cost(session, FREE["the same"])
        for name in ("half the epsilon", "coarser"):
            assert cost(session, FREE[name])


def test_an_offer_that_serves_everything_is_noticed(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: if losses were not compared, a larger epsilon would be free."""
    monkeypatch.setattr(Offer, "serves", lambda *_: True)
    with clinic.session() as session:
        assert cost(session, (BY_CITY, {"epsilon": 2}))
        assert not cost(session, PAID["more epsilon"])


def pattern(folder: Path, tables: tuple[str, ...]) -> list[bool]:
    folder.mkdir()
    with Clinic(folder, tables).session() as session:
        return [cost(session, asked) > 0 for asked in (*FIRST, *FREE.values(), *PAID.values())]


def test_no_row_decides_whether_a_question_is_free(tmp_path: Path) -> None:
    fewer = tuple(each.replace("'ward'", "'another'") for each in TABLES)
    emptied = tuple(f"{each.rstrip().rstrip(';')} LIMIT 0" for each in TABLES)
    assert fewer != TABLES
    found = [
        pattern(tmp_path / str(number), tables)
        for number, tables in enumerate((TABLES, fewer, emptied))
    ]
    assert found[0] == found[1] == found[2]
    assert True in found[0]
    assert False in found[0]


def test_a_weaker_question_returns_the_same_numbers_for_ever(clinic: Clinic) -> None:
    with clinic.session() as session:
        stored = session.sql(BY_CITY).ask(epsilon=2)
        first = session.sql(BY_CITY).ask(epsilon=1, request="k")
        total = session.sql(ALL).ask(epsilon=1, request="t")
        assert first.columns == stored.columns
        assert (first.receipt, first.release_key) == (stored.receipt, stored.release_key)
        assert first.guarantee == stored.guarantee
        session.sql(BY_CITY).ask(epsilon=3)
        session.sql(ALL).ask(epsilon=3)
        again = session.sql(BY_CITY).ask(epsilon=1, request="k")
        same = session.sql(ALL).ask(epsilon=1, request="t")
        assert again.columns == first.columns
        assert same.columns == total.columns
        exact = session.sql(BY_CITY).ask(epsilon=3)
        assert exact.columns != first.columns


def test_a_key_of_another_question_is_refused(clinic: Clinic) -> None:
    with clinic.session() as session:
        session.sql(BY_CITY).ask(epsilon=2, request="k")
        with pytest.raises(KeyReused):
            session.sql(BY_CITY).ask(epsilon=1, request="k")
        assert not session.sql(BY_CITY).ask(epsilon=1, request="l").standing.cost.amount


def test_sums_of_groups_hold_the_exact_count(clinic: Clinic, bar: Bar) -> None:
    """Intervals of sums hold as often as others; a margin of half the length does not."""
    with duckdb.connect(str(clinic.project.parent / "clinic.duckdb"), read_only=True) as link:
        [[true]] = link.execute("SELECT COUNT(*) FROM visits").fetchall()
    found, halves, asked = 0, 0, 200
    with clinic.session() as session:
        for number in range(asked):
            where = f"WHERE cost < {2000 + number}"
            query = BY_CITY.replace("GROUP", f"{where} GROUP")
            session.sql(query).ask(epsilon=2)
            answer = session.sql(f"{ALL} {where}").ask(epsilon=1)
            assert not answer.standing.cost.amount
            low, high = _ends(answer)
            middle, reach = (low + high) / 2, (high - low) / 2
            found += abs(middle - true) <= reach
            halves += abs(middle - true) <= reach / 2
    share = found / asked
    bar(f"of {asked} sums of groups: hold the exact count", share, "0.85", share >= 0.85)
    assert halves / asked < 0.85


def _ends(answer: Answer) -> tuple[Fraction, Fraction]:
    [interval] = answer["n"].intervals
    assert interval is not None
    low, high = interval
    assert low is not None
    assert high is not None
    return low, high


def test_a_sum_says_from_which_answer_it_is(clinic: Clinic) -> None:
    with clinic.session() as session:
        session.sql(BY_CITY).ask(epsilon=2)
        answer = session.sql(ALL).ask(epsilon=1)
        [*_, nobodys, last] = answer.coverage
        assert last == (
            "The numbers are sums over patients.city of an answer that was released before."
        )
        assert nobodys == "Rows that belong to no person are left out."
        paid = session.sql(ALL).ask(epsilon=3)
        assert last not in paid.coverage


def test_keys_that_are_not_complete_are_not_added_up(clinic: Clinic) -> None:
    clinic.declare("complete = true, ", "")
    with clinic.session() as session:
        answer = session.sql(BY_CITY).ask(epsilon=2)
        assert "or that have a key which is not listed" in answer.coverage[-1]
        assert session.sql(ALL).ask(epsilon=1).standing.cost.amount


def test_a_declaration_that_keys_are_complete_changes_no_answer(clinic: Clinic) -> None:
    with clinic.session() as session:
        first = session.sql(BY_CITY).ask(epsilon=2)
    clinic.declare("complete = true, ", "")
    with clinic.session() as session:
        again = session.sql(BY_CITY).ask(epsilon=2)
    assert not again.standing.cost.amount
    assert (again.columns, again.release_key) == (first.columns, first.release_key)
    assert again.coverage != first.coverage
