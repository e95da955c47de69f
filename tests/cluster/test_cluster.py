"""Spark on two workers finds the same integers, and one of them killed at work changes none."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import duckdb
import hospital
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from clinic import catalog
from conftest import Bar
from engines_over import reference
from neighbouring import SALT, opened
from pyspark import SparkStageInfo, StatusTracker
from pyspark.sql import SparkSession
from spark_over import TYPES, file, quoted, show
from spark_session import folder
from standalone import cluster, executors
from test_written import CORPORA, TIGHT, crowd

from tacit.core.catalog import Catalog
from tacit.engines.duckdb import DuckDB
from tacit.engines.spark import Spark
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.sql.parser import parse

ONE_OF = 15
FILES, COPIES = 24, 60
LONG = "SELECT ward, COUNT(*), SUM(cost), AVG(pay), MEDIAN(age) FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    with cluster() as made:
        yield made


def planned(text: str, declared: Catalog) -> BoundedPlan:
    return bound(canonical(parse(text, declared)).plan, declared).plan


def test_written_questions_mean_the_same_on_two_workers(
    session: SparkSession, bar: Bar
) -> None:
    assert len(executors()) == 2
    equal = []
    for declared, texts in CORPORA:
        found = declared(TIGHT)
        public = {table.location.table: hospital.REGIONS for table in found.public}
        tables = {**crowd(found), **public}
        engine, meaning = Spark(session), reference(found, tables)
        show(engine._session, found, tables)
        for text in texts[::ONE_OF]:
            plan = planned(text, found)
            one, other = (each.run(plan, found, SALT) for each in (engine, meaning))
            equal.append(opened(one) == opened(other))
    bar("written plans on a cluster", len(equal), "the reference's integers", all(equal))


def many(declared: Catalog) -> Path:
    """The crowd many times over, each time other people, in many files."""
    table = declared.tables[0]
    few = pq.read_table(file(table, crowd(declared)[table.location.table]))
    place = folder() / "many"
    place.mkdir()
    person = few.schema.get_field_index("person")
    for number in range(FILES):
        parts = []
        for copy in range(COPIES):
            named = pc.binary_join_element_wise(few["person"], f"{number}-{copy}", " ")
            parts.append(few.set_column(person, "person", named))
        pq.write_table(pa.concat_tables(parts), place / f"{number}.parquet")
    return place


@dataclass(frozen=True, slots=True)
class Seen:
    """What is seen of a cluster at work: processes that are gone, and work done again."""

    lost: set[int]
    again: int


def run(
    engine: Spark, plan: BoundedPlan, declared: Catalog, *, kill: bool
) -> tuple[object, Seen]:
    """What the engine finds, and what was seen meanwhile; ``kill`` ends one worker process."""
    tracker = engine._session.sparkContext.statusTracker()
    before = executors()
    done: set[int] = set()
    again: dict[int, int] = {}
    with ThreadPoolExecutor(1) as aside:
        answer: Future[object] = aside.submit(lambda: opened(engine.run(plan, declared, SALT)))
        while not answer.done():
            stages = _stages(tracker)
            for stage in stages:
                repeated = stage.currentAttemptId + stage.numFailedTasks
                again[stage.stageId] = max(again.get(stage.stageId, 0), repeated)
            if (
                kill
                and not done
                and any(0 < each.numCompletedTasks < each.numTasks for each in stages)
            ):
                done.add(min(before))
                os.kill(min(before), signal.SIGKILL)
                assert not answer.done()
            sleep(0.01)
    assert done == ({min(before)} if kill else set())
    return answer.result(), Seen(before - executors(), sum(again.values()))


def _stages(tracker: StatusTracker) -> list[SparkStageInfo]:
    jobs = [tracker.getJobInfo(each) for each in tracker.getActiveJobsIds()]
    found = [tracker.getStageInfo(each) for job in jobs if job for each in job.stageIds]
    return [each for each in found if each is not None]


def test_a_worker_killed_at_work_changes_no_integer(session: SparkSession, bar: Bar) -> None:
    declared = catalog(TIGHT)
    place, plan = many(declared), planned(LONG, declared)
    engine = Spark(session)
    # one task a file, so that there is a middle of the work
    engine._session.conf.set("spark.sql.files.openCostInBytes", str(2**27))
    columns = declared.tables[0].schema.columns
    types = ", ".join(f"{quoted(each.name)} {TYPES[each.kind][0]}" for each in columns)
    engine._session.read.schema(types).parquet(str(place)).createOrReplaceTempView("visits")

    quiet, unseen = run(engine, plan, declared, kill=False)
    killed, seen = run(engine, plan, declared, kill=True)
    beside = duckdb.connect()
    beside.read_parquet(f"{place}/*.parquet").create("visits")
    assert quiet == opened(DuckDB(beside).run(plan, declared, SALT))
    assert killed == quiet
    # the lie: nothing of this is seen where nobody is killed
    assert unseen == Seen(set(), 0)
    assert len(seen.lost) == 1
    bar("work done again by other workers", seen.again, ">= 1", seen.again >= 1)
