"""Generated statements: post-processing changes no charge, and free ones ask nobody."""

# ruff: noqa: S608, E501 - a question is a line

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ward import CATALOG

from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.plan import canonical
from tacit.query.free_question import FreeQuestion
from tacit.query.pricing import price
from tacit.session.session import Session
from tacit.sql import parse, show

LOSS = Loss.zcdp("0.1")
KEYS = {"ward": "ward", "urgent": "urgent", "m": "DATE_TRUNC('month', day)"}
MEASURES = ("COUNT(*)", "SUM(stay)", "AVG(cost)", "MAX(stay)", "COUNT(*) FILTER (WHERE urgent)")
ROWS = ("", "WHERE stay > 3", "WHERE day >= '2026-03-01' AND ward IN ('north', 'south')")


@cache
def charge(text: str) -> tuple[bytes, Event]:
    plan = parse(text, CATALOG)
    return canonical(plan).hash, price(plan, CATALOG, LOSS).event


@st.composite
def values(draw: st.DrawFn, names: list[str], keys: list[str], *, windows: bool) -> str:
    """An expression over released numbers."""
    kind = draw(st.integers(0, 8 if windows else 4))
    one, other = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    by = draw(st.sampled_from(keys))
    return [
        f"{one} + 2 * {other}",
        f"ROUND({one} / NULLIF({other}, 0), {draw(st.integers(-2, 4))})",
        f"COALESCE(ABS({one} - {other}), FLOOR({one}))",
        f"CASE WHEN {one} > {other} THEN {one} ELSE CEIL({other}) END",
        f"CAST({one} AS {draw(st.sampled_from(['INTEGER', 'FLOAT', 'DECIMAL(9, 1)']))})",
        f"{one} * 100.0 / SUM({one}) OVER (PARTITION BY {by})",
        f"SUM({one}) OVER (ORDER BY {by} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        f"{one} - LAG({one}) OVER (ORDER BY {by} DESC NULLS FIRST)",
        f"RANK() OVER (ORDER BY {one} DESC)",
    ][kind]


@st.composite
def statements(draw: st.DrawFn) -> tuple[str, str]:
    """A question, and the same question with post-processing."""
    keys = draw(st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=2, unique=True))
    asked = draw(st.lists(st.sampled_from(MEASURES), min_size=1, max_size=3, unique=True))
    names = [f"n{place}" for place in range(len(asked))]
    listed = [f"{KEYS[key]} AS {key}" if key == "m" else key for key in keys]
    listed += [f"{measure} AS {name}" for measure, name in zip(asked, names, strict=True)]
    places = ", ".join(str(place + 1) for place in range(len(keys)))
    plain = f"SELECT {', '.join(listed)} FROM visits {draw(st.sampled_from(ROWS))} GROUP BY {places}"
    way = draw(st.integers(0, 4))
    made = [draw(values(names, keys, windows=way != 3)) for _ in range(draw(st.integers(1, 3)))]
    more = ", ".join(f"{value} AS x{place}" for place, value in enumerate(made))
    order = f"ORDER BY {draw(st.sampled_from(names))} DESC LIMIT {draw(st.integers(0, 9))}"
    where = f"WHERE {draw(st.sampled_from(names))} > {draw(st.integers(0, 9))}"
    every = ", ".join([*keys, *names])
    return plain, [
        f"{plain} HAVING COUNT(*) > 3" if "COUNT(*)" in asked else f"{plain} {order}",
        f"SELECT {every}, {more} FROM ({plain}) t {where} {order}",
        f"WITH t AS ({plain}), u AS (SELECT {every}, {more} FROM t) SELECT * FROM u {where}",
        f"SELECT * FROM ({plain} {order}) t UNION ALL SELECT {every} FROM ({plain}) t {where}",
        f"SELECT {every}, {more} FROM ({plain} UNION ALL {plain}) t {order}",
    ][way]


@settings(max_examples=200, deadline=None)
@given(statements())
def test_post_processing_changes_no_charge(pair: tuple[str, str]) -> None:
    plain, more = pair
    plan = parse(more, CATALOG)
    assert (canonical(plan).hash, price(plan, CATALOG, LOSS).event) == charge(plain)
    assert canonical(parse(show(plan, CATALOG), CATALOG)) == canonical(plan)


def test_another_measure_changes_the_charge() -> None:
    plain = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    assert charge(f"{plain} HAVING AVG(cost) > 3") != charge(plain)
    assert charge(plain.replace("visits", "visits WHERE stay > 3")) != charge(plain)


class NoCurator:
    """A curator with a catalogue alone: whatever else is asked of it fails."""

    catalog = CATALOG


@st.composite
def free_statements(draw: st.DrawFn) -> str:
    """A statement that needs no data."""
    if draw(st.booleans()):
        order = draw(st.sampled_from(["", "ORDER BY 1", "ORDER BY ward DESC LIMIT 2"]))
        head = draw(
            st.sampled_from(
                ["SELECT DISTINCT ward FROM visits", "SELECT ward FROM visits GROUP BY 1"]
            )
        )
        return f"{head} {order}"
    number = st.integers(0, 99).map(str)
    parts = draw(st.lists(st.one_of(number, st.just("'a'"), st.just("NULL")), min_size=1))
    sums = [f"{each} + {draw(number)}" if each.isdigit() else each for each in parts]
    return f"SELECT {', '.join(sums)}"


@settings(max_examples=200, deadline=None)
@given(free_statements())
def test_free_statements_ask_neither_ledger_nor_engine(text: str) -> None:
    question = Session(NoCurator()).sql(text)  # type: ignore[arg-type]
    assert isinstance(question, FreeQuestion)
    assert question.quote(epsilon=1).standing.cost.amount == 0
    assert question.ask(epsilon=1).columns


def test_a_question_about_data_needs_more_than_a_catalogue() -> None:
    with pytest.raises(AttributeError):
        Session(NoCurator()).sql("SELECT COUNT(*) FROM visits").ask(epsilon=1)  # type: ignore[arg-type]
