"""An answer that a worker cannot hold is refused when it is priced, and locks nobody."""

from pathlib import Path

import duckdb
import pytest
from faults import Faults, start_faulty

import tacit
from tacit.errors import InvalidValue
from tacit.query.rehearsal import most_numbers
from tacit.query.worker import Allowed, Worker
from tacit.query.worker_pool import Pool
from tacit.session.session import Session
from tacit.session.workers import read_work

SIDE = 100
LARGE = (
    "SELECT FLOOR(a / 1) * 1 AS x, FLOOR(b / 1) * 1 AS y, SUM(a) AS s, SUM(b) AS t "
    "FROM pairs GROUP BY x, y"
)


def test_an_answer_that_no_worker_can_make_is_free(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as owner:
        owner.execute(
            "CREATE TABLE pairs AS SELECT range AS person, 1 AS a, 2 AS b FROM range(9)"
        )
    Faults(tmp_path).clear()
    with tacit.open(
        tmp_path / "visits.duckdb",
        population="people",
        unit="person",
        bounds={"a": (0, SIDE - 1), "b": (0, SIDE - 1)},
        max_groups=1,
        max_rows=1,
        budget=(30, "1e-6"),
        table="pairs",
        folder=tmp_path / ".tacit",
        principal="olga",
    ) as opened:
        room = Allowed(memory_bytes=4 * 2**30, seconds=4)  # 20,000 numbers
        worker = Worker(start_faulty, str(tmp_path), opened.catalog, room, reads=read_work)
        pool = Pool([worker])
        try:
            assert pool.start()
            served = Session(opened._curator.answered_by({"here": pool}, 60_000))
            for ask in (served.sql(LARGE).ask, served.sql(LARGE).quote):
                with pytest.raises(InvalidValue, match=r"10000 groups .* Nothing was charged"):
                    ask(rho="0.001")
            status = served.status()
            assert (status.spent.amount, status.failed, status.locked) == (0, 0, False)
            served.sql("SELECT SUM(a) AS s FROM pairs").ask(rho="0.001")
        finally:
            pool.close()
        opened.sql(LARGE).quote(rho="0.001")  # a session of one's own has no such cap


def test_a_worker_makes_as_many_numbers_as_its_memory_and_time_allow() -> None:
    assert most_numbers(2048 * 2**20, 30) == 150_000
    assert most_numbers(2**26, 600) < most_numbers(2**27, 600)
