"""The tables of every store: as declared, and with rules that the database itself keeps."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, MetaData, Text, delete, insert, inspect, select, update
from sqlalchemy.sql.expression import ClauseElement

from tacit.errors import InternalError
from tacit.store.store import SqlStore
from tacit.store.tables import answers, budgets, entries, metadata
from tacit.store.unit_of_work import Values


def run(store: SqlStore, statement: ClauseElement, **values: object) -> None:
    with store.writing() as work:
        work.run(statement, values)


BUDGET = {
    "population": "patients",
    "period": "",
    "unit": "person",
    "neighbours": "add or remove one",
    "measure": "epsilon",
    "conversion_delta": "0",
    "idealised": 0,
    "cap_amount": 10,
    "cap_delta": 0,
    "spent_amount": 10,
    "spent_delta": 0,
    "missed": 0,
    "looked": 0,
    "failed": 0,
    "retried": 0,
    "least_share": "1/100000",
    "least_amount": 0,
    "declared": 0,
    "frozen": 0,
    "head_seq": 0,
    "head_hash": bytes(32),
}


def test_a_sum_above_its_cap_or_below_nothing_is_refused_by_the_database(
    store: SqlStore,
) -> None:
    for wrong in ({"spent_amount": 11}, {"spent_delta": 1}, {"spent_amount": -1}):
        with pytest.raises(InternalError, match="violates one of its constraints"):
            run(store, insert(budgets), **BUDGET | wrong)
    run(store, insert(budgets), **BUDGET)


ENTRY = {"population": "patients", "seq": 1, "body": "{}", "hash": bytes(32), "state": None}
ANSWER: Values = {"release": b"k", "receipt": b"r", "until": 5, "body": b"42", "places": None}
FORBIDDEN = {
    "change an entry": update(entries).values(body="{ }"),
    "delete an entry": delete(entries),
    "change an answer": update(answers).values(body=b"43"),
    "take an answer over": update(answers).values(receipt=b"s"),
    "delete an answer": delete(answers),
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_database_itself_refuses_to(store: SqlStore, what: str) -> None:
    run(store, insert(entries), **ENTRY)
    run(store, insert(answers), **ANSWER)
    with pytest.raises(InternalError, match="violates one of its constraints"):
        run(store, FORBIDDEN[what])
    with store.reading() as work:
        assert work.all(select(entries.c.body), {}) == [("{}",)]
        assert work.all(select(answers.c.receipt, answers.c.body), {}) == [(b"r", b"42")]


def test_an_answer_that_is_not_written_yet_may_be_taken_over(store: SqlStore) -> None:
    run(store, insert(answers), **{**ANSWER, "body": None})
    run(store, FORBIDDEN["take an answer over"])
    run(store, FORBIDDEN["change an answer"])
    with store.reading() as work:
        assert work.all(select(answers.c.receipt, answers.c.body), {}) == [(b"s", b"43")]


def test_the_steps_lead_to_the_tables_of_today(store: SqlStore) -> None:
    with store._engine.connect() as connection:
        migrated = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(migrated, metadata) == []
        rules = {
            (table, rule["name"])
            for table in metadata.tables
            for rule in inspect(connection).get_check_constraints(table)
        }
    assert rules == {
        ("budgets", "within_cap"),
        ("budgets", "never_negative"),
        ("holders", "never_negative"),
    }


def test_a_column_that_no_step_makes_is_found_out(store: SqlStore) -> None:
    tomorrow = MetaData()
    for table in metadata.tables.values():
        table.to_metadata(tomorrow)
    tomorrow.tables["states"].append_column(Column("note", Text))
    with store._engine.connect() as connection:
        (found,) = compare_metadata(MigrationContext.configure(connection), tomorrow)
    assert found[0] == "add_column"
