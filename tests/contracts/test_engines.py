"""Every engine keeps its contract, and an engine that is wrong in one way does not."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date

import pytest
from conftest import Bar
from engines_over import ENGINES, duckdb_over
from spark_over import spark_tables_over

from tacit.core.catalog import Catalog, Dataset
from tacit.core.domain import Column, Kind, Schema
from tacit.engines.duckdb import TYPES
from tacit.engines.engine import CheckedEngine, Engine, SecretTable
from tacit.engines.reference import Cell, Reference, Row, Tables
from tacit.engines.storage_rules import Types, check_types
from tacit.engines.synthetic_duckdb import WRITTEN, SyntheticDuckDB
from tacit.errors import EngineUnreachable, InternalError, InvalidValue
from tacit.plan.bounded_plan import BoundedPlan
from tacit.testing.engine_contract import WIDE, EngineContract
from tacit.testing.engine_tables import CELLS, PEOPLE, catalog, tables
from tacit.testing.engine_tables import QUESTIONS as EVERY

QUESTIONS = 48
ONE_OF = {"spark": int(os.environ.get("TACIT_CONTRACT_ON_SPARK", "4"))}
"""Of so many questions one is asked there; `just contract` asks Spark all of them."""


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_keeps_its_contract(name: str, bar: Bar) -> None:
    one_of = ONE_OF.get(name, 1)
    over = spark_tables_over if name == "spark" else ENGINES[name]
    contract = EngineContract(over, one_of=one_of, shared=True)
    broken = contract.violations()
    assert broken == []
    asked = len(contract.questions)
    bar(
        f"questions of the contract kept by {name}",
        asked,
        f">= {QUESTIONS // one_of}",
        asked >= QUESTIONS // one_of,
    )


def test_an_engine_of_ones_own_is_closed_twice() -> None:
    contract = EngineContract(lambda declared, rows: SyntheticDuckDB().over(declared, rows))
    assert [*contract.incomplete(), *contract.left_open(), *contract.wrong_descriptions()] == []


class Altered:
    """DuckDB, with one member of its own: the lie of each test below."""

    def __init__(self, engine: object, **members: object) -> None:
        self._engine = engine
        vars(self).update(members)

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)


def gone(*_: object) -> tuple[object, ...]:
    return ()


def fails(*_: object) -> None:
    raise ValueError


@pytest.mark.parametrize(
    ("member", "value", "check", "found"),
    [
        ("tables", gone, "wrong_descriptions", "The engine does not list the table visits."),
        (
            "columns",
            gone,
            "wrong_descriptions",
            "The engine describes visits.id differently than it checks it.",
        ),
        (
            "identities",
            list,
            "wrong_types",
            "The engine's identities has a value of another type than the port says.",
        ),
        (
            "plain",
            fails,
            "wrong_types",
            "The engine's plain raises ValueError: ",
        ),
        (
            "dialect",
            "klingon",
            "wrong_types",
            "The engine's dialect has a value of another type than the port says.",
        ),
        (
            "check",
            gone,
            "wrong_types",
            "The engine's check has a value of another type than the port says.",
        ),
        (
            "close",
            fails,
            "left_open",
            "The engine fails with ValueError when it is closed twice.",
        ),
    ],
)
def test_each_member_of_the_port_is_looked_at(
    member: str, value: object, check: str, found: str
) -> None:
    def over(declared: Catalog, rows: Tables) -> object:
        return Altered(SyntheticDuckDB().over(declared, rows), **{member: value})

    contract = EngineContract(over)  # type: ignore[arg-type]
    assert found in list(getattr(contract, check)())


def test_rows_of_a_fit_are_looked_at() -> None:
    def over(declared: Catalog, rows: Tables) -> object:
        engine = SyntheticDuckDB().over(declared, rows)
        fewer = SyntheticDuckDB().over(declared, tables(PEOPLE[1:]))
        return Altered(engine, rows=fewer.rows)

    found = list(EngineContract(over).unequal_rows())  # type: ignore[arg-type]
    assert found == ["The engine returns other rows for a fit than the reference."]


def test_an_engine_that_lacks_a_member_is_found() -> None:
    found = list(EngineContract(wrong_over(honest)).incomplete())
    assert "The engine has no close, which every engine must have." in found


Asked = tuple[BoundedPlan, Tables]
Changed = Callable[[BoundedPlan, Tables], Asked]


@dataclass(frozen=True)
class Wrong:
    """The reference, but for one lie about the plan or the rows."""

    tables: Tables
    lie: Changed

    def check(self, declared: Catalog) -> None:
        for dataset in declared.tables:
            if dataset.location.table not in self.tables:
                raise InvalidValue("It is not there.")

    def run(self, plan: BoundedPlan, declared: Catalog, salt: bytes) -> SecretTable:
        changed, rows = self.lie(plan, self.tables)
        return Reference(dict(rows)).run(changed, declared, salt)


def with_cells(tables: Tables, change: Callable[[str, Cell], Cell]) -> Tables:
    def row(found: Row) -> Row:
        return {name: change(name, cell) for name, cell in found.items()}

    return {table: [row(found) for found in rows] for table, rows in tables.items()}


def honest(plan: BoundedPlan, rows: Tables) -> Asked:
    return plan, rows


def keeps_all_rows(plan: BoundedPlan, rows: Tables) -> Asked:
    """A lie: the bound on rows is forgotten."""
    return replace(plan, max_rows=10**6), rows


def keeps_all_groups(plan: BoundedPlan, rows: Tables) -> Asked:
    """A lie: the bound on groups is forgotten."""
    return replace(plan, max_groups=10**6), rows


def named_null(plan: BoundedPlan, rows: Tables) -> Asked:
    """A lie: rows whose key is NULL form a group."""
    return plan, with_cells(
        rows, lambda name, cell: "?" if name == "doctor" and cell is None else cell
    )


def clamps_before(plan: BoundedPlan, rows: Tables) -> Asked:
    """A lie: numbers are clamped before they are compared with others."""
    return plan, with_cells(
        rows,
        lambda name, cell: (
            min(cell, 10**6) if name == "room" and isinstance(cell, int) else cell
        ),
    )


def trims(plan: BoundedPlan, rows: Tables) -> Asked:
    """A lie: texts that differ in blanks are one, as those of CHAR(n) are."""
    return plan, with_cells(
        rows, lambda _, cell: cell.strip() if isinstance(cell, str) else cell
    )


def first_rows(plan: BoundedPlan, rows: Tables) -> Asked:
    """A lie: a table is cut at a place, which somebody else's rows move."""
    return plan, {table: found[:40] for table, found in rows.items()}


LIES = [keeps_all_rows, keeps_all_groups, named_null, clamps_before, trims, first_rows]


def wrong_over(lie: Changed) -> Callable[[Catalog, Tables], CheckedEngine]:
    return lambda _, rows: Wrong(rows, lie)


def test_an_honest_engine_of_that_make_is_not_blamed() -> None:
    contract = EngineContract(wrong_over(honest))
    assert [*contract.unequal(), *contract.distinguished_neighbours()] == []


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_an_engine_that_is_wrong_in_one_way_is_found(lie: Changed) -> None:
    assert any(EngineContract(wrong_over(lie)).unequal())


@pytest.mark.parametrize("lie", [keeps_all_rows, keeps_all_groups, first_rows])
def test_what_breaks_a_promise_is_found_on_neighbours_alone(lie: Changed) -> None:
    assert any(EngineContract(wrong_over(lie)).distinguished_neighbours())


class Talkative:
    """The lie of an engine that passes on what its database says, and checks nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def check(self, declared: Catalog) -> None:
        del declared

    def run(self, plan: BoundedPlan, declared: Catalog, salt: bytes) -> SecretTable:
        try:
            return self._engine.run(plan, declared, salt)
        except (EngineUnreachable, InternalError) as error:
            told: BaseException = error
            while told.__cause__ is not None:
                told = told.__cause__
            raise told from None


def test_an_engine_that_says_what_failed_is_found() -> None:
    contract = EngineContract(lambda declared, rows: Talkative(duckdb_over(declared, rows)))
    assert len(list(contract.revealing_errors())) == 2


def test_an_engine_that_fails_on_a_special_value_is_found() -> None:
    def fails(plan: BoundedPlan, rows: Tables) -> Asked:
        return plan, with_cells(rows, lambda name, cell: float(cell) if name == "pay" else cell)

    found = list(EngineContract(wrong_over(fails)).unequal())
    assert any(sentence.startswith("The engine fails with") for sentence in found)


@dataclass(frozen=True)
class Narrow:
    """DuckDB, with fewer types than it has."""

    engine: Engine
    types: Types

    def check(self, declared: Catalog) -> None:
        for dataset in declared.tables:
            names = {column.name: WRITTEN[column.kind] for column in dataset.schema.columns}
            check_types(dataset, names, self.types)

    def run(self, plan: BoundedPlan, declared: Catalog, salt: bytes) -> SecretTable:
        return self.engine.run(plan, declared, salt)


LACKED = frozenset({Kind.DECIMAL, Kind.TIMESTAMP})


def test_what_an_engine_lacks_is_refused() -> None:
    types = {kind: names for kind, names in TYPES.items() if kind not in LACKED}
    contract = EngineContract(
        lambda declared, rows: Narrow(duckdb_over(declared, rows), types), LACKED
    )
    assert list(contract.wrongly_accepted_kinds()) == []
    assert 30 < len(contract.questions) < sum(map(len, EVERY.values()))


def test_an_engine_that_takes_what_it_says_it_lacks_is_found() -> None:
    contract = EngineContract(
        lambda declared, rows: Narrow(duckdb_over(declared, rows), TYPES), LACKED
    )
    assert len(list(contract.wrongly_accepted_kinds())) == len(LACKED)


def test_a_kind_without_a_type_is_told() -> None:
    visits = catalog(WIDE).datasets[0]
    costs = Schema((Column("person", Kind.TEXT), visits.schema["cost"]))
    dataset: Dataset = replace(visits, schema=costs)
    with pytest.raises(
        InvalidValue, match=r"visits.cost is declared as decimal, for which this"
    ):
        check_types(dataset, {"person": "VARCHAR"}, {Kind.TEXT: TYPES[Kind.TEXT]})


def test_the_tables_are_hard() -> None:
    """Every special value stands in a row of somebody, and somebody in many rows."""
    visits = tables()["visits",]
    for name in CELLS.keys() - {"value"}:
        cells = {str(row[name]) for row in visits if row["person"] is not None}
        assert cells == set(map(str, CELLS[name]))
    assert {"nan", "inf", "-inf", "-0.0", "None"} < {str(row["pay"]) for row in visits}
    assert {date.min, date.max} < {row["day"] for row in visits}
    assert {row["person"] for row in visits} == set(PEOPLE)
    assert len(visits) > 4 * len(PEOPLE)
