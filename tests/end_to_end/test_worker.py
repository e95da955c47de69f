"""What is below the line runs in a child process, and nothing but a release comes out."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from clinic import WARDS, catalog, database

from tacit.core.catalog import Limits
from tacit.core.codec import decode_release
from tacit.core.loss import Loss
from tacit.engines.duckdb import open_duckdb
from tacit.errors import EngineUnreachable, InternalError
from tacit.query.below_charge import Broken
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.query.worker import Allowed, Worker
from tacit.sql.parser import parse

CLINIC = catalog(Limits(max_groups=1, max_rows=2))
RECEIPT = bytes(range(32))
ROOM = Allowed(memory_bytes=8 * 2**30, seconds=60)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("worker") / "clinic.duckdb"
    row = {"person": "p", "ward": "north", "age": 4, "pay": 1.5, "cost": 1, "smoker": True}
    source = database([{**row, "day": None, "doctor": "dee", "room": 1}])
    source.execute(
        f"ATTACH '{file}' AS kept; CREATE TABLE kept.visits AS FROM visits; DETACH kept"
    )
    source.close()
    return str(file)


@pytest.fixture
def worker(place: str) -> Iterator[Worker]:
    made = Worker(open_duckdb, place, CLINIC, ROOM)
    yield made
    made.close()


def quoted(text: str = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward") -> Quote:
    return price(parse(text, CLINIC), CLINIC, Loss.zcdp("0.5"))


def test_a_paid_question_goes_in_and_a_release_comes_out(worker: Worker) -> None:
    release = decode_release(worker.run(quoted(), b"salt", RECEIPT))
    assert release.receipt == RECEIPT
    assert release.columns[0].values == WARDS
    again = decode_release(worker.run(quoted(), b"salt", RECEIPT))
    assert again.columns[1].values != release.columns[1].values or again == release


def test_a_child_that_died_is_told_in_one_wording_and_started_again(worker: Worker) -> None:
    worker.run(quoted(), b"salt", RECEIPT)
    for wrong in (signal.SIGKILL, signal.SIGSTOP):
        assert worker._child is not None
        first = worker._child[0].pid or 0
        os.kill(first, wrong)
        assert worker.ready()  # which is asked before anything is charged
        assert worker._child[0].pid != first
        assert worker.ready()
    os.kill(worker._child[0].pid or 0, signal.SIGKILL)
    time.sleep(0.2)
    with pytest.raises(Broken, match="failed after it was charged") as told:
        worker.run(quoted(), b"salt", RECEIPT)
    assert (told.value.stage, told.value.drawn) == ("worker", False)
    assert decode_release(worker.run(quoted(), b"salt", RECEIPT)).receipt == RECEIPT


def test_a_table_that_is_gone_is_an_outage_and_a_late_answer_a_failure(
    place: str, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.duckdb"
    duckdb.connect(str(empty)).close()
    worker = Worker(open_duckdb, str(empty), CLINIC, ROOM)
    with pytest.raises(
        EngineUnreachable, match="ask the same question again"
    ):  # no row is the cause
        worker.run(quoted(), b"salt", RECEIPT)
    worker.close()
    worker = Worker(open_duckdb, place, CLINIC, Allowed(memory_bytes=8 * 2**30, seconds=0))
    with pytest.raises(InternalError, match="failed after it was charged"):
        worker.run(quoted(), b"salt", RECEIPT)
    worker.close()


def test_memory_has_a_limit_that_is_the_same_for_all(place: str) -> None:
    worker = Worker(open_duckdb, place, CLINIC, Allowed(memory_bytes=2**28, seconds=60))
    with pytest.raises(InternalError, match="failed after it was charged"):
        worker.run(quoted(), b"salt", RECEIPT)
    worker.close()
