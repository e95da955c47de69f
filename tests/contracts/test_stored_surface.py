"""The texts and hashes that stored data rely on stay as they were pinned.

Each file under ``golden/surface`` is written anew by ``TACIT_GOLDEN=1``. A hash that changes
makes stored releases unfindable, so that the same question is charged twice: lines are added to
these files, and not edited.
"""

# ruff: noqa: E501 - a question is a line

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from nodes import LANGUAGE, nodes

import tacit
from tacit.cli.demo import PROJECT
from tacit.core.catalog import Catalog, Dataset, Limits, UnitColumn
from tacit.core.domain import Bounds, Column, Keys, Kind, Provenance, Schema
from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.sql_dialects import DUCKDB, PRINTED, SPARK
from tacit.engines.print.statement import question as statement
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import PLANS, Canonical, Vocabulary, canonical, text
from tacit.plan.expression import (
    Comparison,
    DatePartName,
    Function,
    Operation,
    ReleasedFunction,
    Span,
    WindowFunction,
)
from tacit.plan.plan import Plan, Scan
from tacit.publish.publication import ListedPublication, Publication, Publications
from tacit.query.pricing import price
from tacit.session.ask import request_for
from tacit.session.engines import read_project
from tacit.session.policy_version import (
    DECLARATIONS,
    policy_of,
    tables_of,
    used_facts,
    used_policy,
)
from tacit.session.session import Session
from tacit.sql.parser import parse
from tacit.store.connect import open_sqlite
from tacit.store.sealed_state import SealingKey, States
from tacit.stream.factor import ALL, EACH, Factor, Tree, Window
from tacit.stream.holdout import HoldoutState, _encode_state
from tacit.stream.sealed_noise import SealedNoise
from tacit.stream.stream import STREAMS, Periods, Stream
from tacit.stream.toeplitz import Buffered, Toeplitz
from tacit.testing.engine_tables import QUESTIONS, catalog

SALT = b"salt"
DIALECTS = sorted((*PRINTED, DUCKDB, POSTGRES, SPARK), key=lambda dialect: dialect.name)
CLINIC = catalog(Limits(max_groups=2, max_rows=3))
MORE = (
    "SELECT COUNT(*) / 2 AS half, SUM(age) - 1 AS s FROM visits HAVING COUNT(*) > 3",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC, ward LIMIT 2",
    "SELECT VAR_POP(age), STDDEV_POP(age), QUANTILE(age, 0.25) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE MONTH(day) = 2 AND DAY(day) <= 3 AND age >= 1",
    "SELECT DATE_TRUNC('month', until) AS k, COUNT(*) FROM visits GROUP BY k",
    "SELECT DATE_TRUNC('year', until) AS k, COUNT(*) FROM visits GROUP BY k",
    "SELECT DATE_TRUNC('day', until) AS k, COUNT(*) FROM visits GROUP BY k",
    (
        "SELECT ward, ROUND(AVG(age), 1) AS a, COALESCE(ABS(SUM(age)), FLOOR(AVG(age))) AS b, "
        "CEIL(AVG(age) / NULLIF(COUNT(*), 0)) AS c FROM visits GROUP BY ward"
    ),
    (
        "SELECT ward, SUM(COUNT(*)) OVER () AS a, AVG(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN 2 "
        "PRECEDING AND CURRENT ROW) AS b, MIN(COUNT(*)) OVER (PARTITION BY ward) AS c, "
        "MAX(COUNT(*)) OVER () AS d, COUNT(*) OVER () AS e, LEAD(COUNT(*), 2) OVER (ORDER BY ward "
        "DESC NULLS FIRST) AS f, LAG(COUNT(*)) OVER (ORDER BY ward) AS g FROM visits GROUP BY ward"
    ),
    (
        "SELECT * FROM (SELECT ward, RANK() OVER (ORDER BY COUNT(*)) AS r, DENSE_RANK() OVER (ORDER "
        "BY COUNT(*)) AS d, ROW_NUMBER() OVER () AS n FROM visits GROUP BY ward) AS t WHERE r < 3 "
        "ORDER BY n DESC NULLS FIRST"
    ),
    (
        "SELECT 'old' AS who, COUNT(*) AS n FROM visits WHERE age > 65 UNION ALL SELECT 'young', "
        "COUNT(*) FROM visits WHERE age < 18 ORDER BY 2"
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE HOUR(seen) < 8 AND MINUTE(seen) = 0"
        " AND seen > TIMESTAMP '2026-01-01 12:30:00'"
    ),
)
ASKED = (*(sql for group in QUESTIONS.values() for sql in group), *MORE)
LOSS = Loss.approximate(1, "1e-6")


@cache
def questions() -> dict[str, Canonical]:
    return {sql: canonical(parse(sql, CLINIC)) for sql in ASKED}


def plans() -> str:
    """The canonical text of each plan, its hash, and the key of its stored release."""
    return "\n\n".join(
        f"{sql}\n{text(asked.plan)}\n{text(asked.post)}\n"
        f"hash {asked.hash.hex()}\nrelease key {_release_key(asked.plan).hex()}"
        for sql, asked in questions().items()
    )


def _release_key(plan: Plan) -> bytes:
    return request_for(price(plan, CLINIC, LOSS), CLINIC, "ann").release_key


def catalogues() -> dict[str, Catalog]:
    """Catalogues that declare, between them, everything that can be declared."""
    with TemporaryDirectory() as place:
        file = Path(place, "tacit.toml")
        file.write_text(PROJECT.replace("OWNER", '"olga"'), encoding="utf-8")
        demo = read_project(file).catalog
    visits, labs = CLINIC.datasets
    changed = {
        "unit": UnitColumn("person", one_row=True, unique_by_constraint=True),
        "limits": Limits(1, 1, max_rows_in_all=4),
    }
    household = PrivacyUnit("household", Neighbours.REPLACE_ONE)
    return {
        "demo": demo,
        "engines": CLINIC,
        "wide limits": catalog(Limits(9, 9)),
        "one row": replace(CLINIC, datasets=(replace(visits, **changed), labs)),
        "in place": replace(CLINIC, datasets=(replace(visits, in_place=True), labs)),
        "row key": replace(CLINIC, datasets=(replace(visits, row_key="id"), labs)),
        "households": replace(CLINIC, populations=(Population("patients", household),)),
        "provenance": replace(CLINIC, datasets=(_with_provenance(visits), labs)),
    }


def _with_provenance(table: Dataset) -> Dataset:
    estimated, policy = Provenance.ESTIMATED, Provenance.POLICY
    columns = (
        *table.schema.columns,
        Column("weight", Kind.FLOAT, bounds=Bounds.of("1.5", 300, estimated)),
        Column("town", Kind.INTEGER, bounds=Bounds.of(0, 9), keys=Keys((3, 1), policy)),
    )
    return replace(table, schema=Schema(columns))


def policies() -> str:
    """The policy versions of each catalogue, and of the facts that a question uses."""
    lines = []
    for name, declared in catalogues().items():
        people, every = declared.populations[0], [table.name for table in declared.tables]
        for tables in (*([each] for each in every), every):
            made = policy_of(people, tables_of(declared, tables))
            lines.append(f"{name}, {' '.join(tables)}: {made}")
        asked = parse("SELECT COUNT(*) FROM visits WHERE id > 3", declared)
        facts = used_facts(asked, declared, people, ["visits"])
        lines += [f"    {fact}" for fact in facts]
        lines.append(f"{name}, used: {used_policy(facts)}")
    return "\n".join(lines)


def statements() -> str:
    """The digest of the statement of each plan in each dialect."""
    lines = []
    for sql, asked in questions().items():
        plan = bound(asked.plan, CLINIC).plan
        lines.append(sql)
        for dialect in DIALECTS:
            made = statement(plan, CLINIC, SALT, dialect)
            lines.append(f"    {dialect.name} {sha256(made.encode()).hexdigest()}")
    return "\n".join(lines)


FIRST = date(2026, 1, 7)
COUNTED = "SELECT ward, COUNT(*) AS n FROM visits WHERE age > 3 GROUP BY ward"
FACTORS: dict[str, Factor] = {
    "independent": Toeplitz.independent(8),
    "square root": Toeplitz.square_root(8),
    "tree": Tree(8),
    "buffered": Buffered.square_root(8),
}


def made_streams() -> dict[str, Stream]:
    plan, rho = parse(COUNTED, CLINIC), Loss.zcdp("0.5")
    days = {span: Periods("until", span, FIRST, 52) for span in Span}
    found = {span.name: Stream(plan, periods, rho) for span, periods in days.items()}
    return found | {
        "all": Stream(plan, days[Span.WEEKS], rho, ALL),
        "last four": Stream(plan, days[Span.WEEKS], rho, Window(4), 3),
    }


def streams() -> str:
    """The hashes of streams and holdouts, and what sealed states hold once they are open."""
    lines = [f"{name}: {each.hash.hex()}" for name, each in made_streams().items()]
    with TemporaryDirectory() as place:
        rows = pl.DataFrame({"person": ["a"], "age": [1], "day": [FIRST]})
        with _opened(rows, Path(place) / ".tacit") as session:
            lines += [*_open_streams(session), *_open_holdouts(session)]
        with closing(open_sqlite(Path(place) / "states.db")) as store:
            lines += _sealed(States(store, SealingKey(bytes(32))))
    return "\n".join(lines)


def _opened(rows: pl.DataFrame, folder: Path) -> Session:
    return tacit.open(
        rows,
        population="patients",
        unit="person",
        bounds={"age": (0, 100), "day": (date(2026, 1, 1), date(2026, 12, 31))},
        max_groups=1,
        max_rows=2,
        budget=Budget(Loss.zcdp(500, "1e-6"), Fraction(1, 10**6)),
        table="visits",
        folder=folder,
        principal="ann",
    )


def _open_streams(session: Session) -> Iterator[str]:
    question = session.sql("SELECT COUNT(*) AS n, SUM(age) AS s FROM visits")
    weeks, rho = Periods("day", Span.WEEKS, FIRST, 8), Loss.zcdp("0.5")
    for window, most in ((EACH, None), (ALL, 2)):
        stream = session.stream(question, rho, weeks, window=window, max_steps=most)
        yield f"{window}: {stream._question.plan.hex()} {stream._question.release_key.hex()}"
        yield f"    {stream._noise._name}"
        yield f"    step 3: {stream._step_question(3).release_key.hex()}"
        yield from (f"    {fact}" for fact in (*stream.facts, stream.policy))


def _open_holdouts(session: Session) -> Iterator[str]:
    plan = session.sql("SELECT COUNT(*) AS n FROM visits WHERE age > 3").plan
    for answers in (2, 3):
        asked = {"epsilon": "0.3", "answers": answers, "rows": 40, "threshold": "0.1"}
        holdout = session.holdout("visits", **asked)
        question, share = holdout._question, holdout._share_question(plan, Fraction(1, 3))
        yield f"holdout of {answers}: {question.plan.hex()} {question.release_key.hex()}"
        yield f"    {holdout._name}"
        yield f"    share: {share.plan.hex()} {share.release_key.hex()}"
    yield f"    {_encode_state(HoldoutState(reached=-12, left=2))!r}"
    yield f"sealed for {session.states.of('patients')._place('noise', 3)!r}"


def _sealed(states: States) -> Iterator[str]:
    for name, factor in FACTORS.items():
        kept = SealedNoise(states, name, factor)
        for number in range(3):
            kept.at(number, lambda n=number: np.array([n - 7, 3 * n + 10**6, -(n**2)]))
    for name in states.names(""):
        yield f"{name}: {states.find(name).value!r}"
    yield f"sealed for {states._place('noise', 3)!r}"
    weeks = Periods("day", Span.WEEKS, FIRST, 8)
    told = Publication("weekly", COUNTED, weeks, Loss.zcdp("0.5"), Window(4), 2, wait=3)
    listed = ListedPublication(told, "policy", ("a fact",))
    Publications(states)._change(lambda known: (*known, listed))
    yield f"publications: {states.find('publications').value!r}"


SURFACES: dict[str, Callable[[], str]] = {
    "plans.txt": plans,
    "policies.txt": policies,
    "statements.txt": statements,
    "streams.txt": streams,
}


@pytest.mark.parametrize("name", SURFACES)
def test_stored_data_is_found_by_what_was_pinned(name: str, pinned: Any) -> None:
    pinned.check(name, SURFACES[name])


@contextmanager
def renamed(kind: type, name: str) -> Iterator[None]:
    """A class under another name, as a change of the code leaves it."""
    before = kind.__name__
    kind.__name__ = name
    try:
        yield
    finally:
        kind.__name__ = before


def stored_as(
    monkeypatch: pytest.MonkeyPatch, words: Vocabulary, kind: type, name: str
) -> None:
    """The lie: a class whose stored name was changed with its own."""
    form = words.classes[kind]._replace(name=name)
    monkeypatch.setitem(words.classes, kind, form)


def test_the_plans_have_every_node_and_every_choice_in_them(pinned: Any) -> None:
    seen = {name for asked in questions().values() for name in nodes((asked.plan, asked.post))}
    assert seen == LANGUAGE
    told = pinned.text("plans.txt") + pinned.text("streams.txt")
    kinds = (Comparison, Operation, DatePartName, Span, Function)
    choices = {each.name for kind in kinds for each in kind}
    choices |= {f"RELEASED {each.name}" for each in ReleasedFunction}
    choices |= {f"WINDOW {each.name}" for each in WindowFunction}
    assert {name for name in choices | {"XOR"} if f'["enum","{name}"]' not in told} == {"XOR"}


def test_a_class_of_plans_may_be_renamed_and_its_stored_name_may_not(
    pinned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with renamed(Scan, "Rows"):
        assert not pinned.changes("plans.txt", plans())
    stored_as(monkeypatch, PLANS, Scan, "Rows")
    different = pinned.changes("plans.txt", plans())
    assert '["Rows","visits"]' in different
    assert "+release key" in different


def test_another_declaration_is_another_policy(pinned: Any) -> None:
    told = pinned.text("policies.txt")
    people, (visits, _) = CLINIC.populations[0], CLINIC.datasets
    assert policy_of(people, [visits]) in told
    for lie in (
        replace(visits, limits=Limits(2, 4)),
        replace(visits, limits=Limits(2, 3, 6)),
        replace(visits, unit=UnitColumn("person", one_row=True)),
        replace(visits, schema=Schema(visits.schema.columns[:-1])),
    ):
        assert policy_of(people, [lie]) not in told


def test_a_class_of_declarations_may_be_renamed_and_its_stored_name_may_not(
    pinned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with renamed(Limits, "ContributionLimits"):
        assert not pinned.changes("policies.txt", policies())
    stored_as(monkeypatch, DECLARATIONS, Limits, "ContributionLimits")
    assert pinned.changes("policies.txt", policies())


def test_another_statement_is_noticed(pinned: Any) -> None:
    told = pinned.text("statements.txt")
    plan = bound(questions()[ASKED[0]].plan, CLINIC).plan
    for dialect in DIALECTS:
        true = statement(plan, CLINIC, SALT, dialect)
        assert sha256(true.encode()).hexdigest() in told
        assert sha256(f"{true} ".encode()).hexdigest() not in told


def test_another_period_and_another_stored_name_in_streams_are_noticed(
    pinned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, weeks = pinned.text("streams.txt"), made_streams()["WEEKS"]
    longer = replace(weeks, periods=replace(weeks.periods, horizon=53))
    assert longer.hash.hex() not in told
    with renamed(Periods, "StreamPeriods"):
        assert weeks.hash.hex() in told
    stored_as(monkeypatch, STREAMS, Periods, "StreamPeriods")
    assert weeks.hash.hex() not in told
