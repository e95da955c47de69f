"""A failure is a release: charged once, run again only before a draw, locked, looked at.

A fault strikes at each stage of each kind of work, here and in a worker. The recipe
`just campaign-failures` runs the same at its real size (``TACIT_FAILURES``), with PostgreSQL
stopped for 20 seconds.
"""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import date
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import duckdb
import numpy as np
import psycopg
import pytest
from asking import ask, open_pure
from conftest import Bar
from faults import BEFORE_A_DRAW, STAGES, WORDS, Faults, put_into, start_faulty
from postgres_cluster import PostgresCluster
from scipy.stats import binomtest

import tacit
from tacit.core.event import Nothing
from tacit.core.loss import Loss
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.engines.engine import Engine
from tacit.engines.postgres_role import reader
from tacit.errors import EngineUnreachable, InternalError, PopulationLocked, TacitError
from tacit.ledger.charge import Charge
from tacit.mechanisms.additive_noise import AddNoise
from tacit.ml.pipeline import StandardScaler
from tacit.noise.laplace import DiscreteLaplace
from tacit.plan.expression import Span
from tacit.query import below_charge
from tacit.query.below_charge import Broken, Progress, attempt, run_below
from tacit.query.worker import Allowed, Worker
from tacit.query.worker_pool import Pool
from tacit.session.session import Session
from tacit.session.workers import alarm, read_work
from tacit.stream.stream import Periods

ROUNDS = int(os.environ.get("TACIT_FAILURES", "1"))
"""How often each fault strikes; 1 in CI."""

OUTAGE_SECONDS = 20 if ROUNDS > 1 else 2
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
TRUE = 0.5
"""The share of rows in the north, which a holdout is asked for."""

Ask = Callable[[Session, int], object]
"""Asks something new, by a number, and gives what left."""


def question(session: Session, number: int) -> object:
    asked = COUNT.replace("GROUP", f"WHERE ward <> 'no ward {number}' GROUP")
    return session.sql(asked).ask(rho="0.001")["n"].values


def same_question(session: Session, number: int) -> object:
    """The same question at larger and larger losses, which is rehearsed once."""
    return session.sql(COUNT).ask(rho=f"0.001{number:04d}")["n"].values


def fit(session: Session, number: int) -> object:
    model = StandardScaler(epsilon=0.01 + number / 10**5, bounds=(0, 100))
    return session.fit(model, "visits", features=["pay"]).mean_


def share(session: Session, number: int) -> object:
    asked = session.sql("SELECT COUNT(*) AS n FROM visits WHERE ward = 'north'")
    holdout = session.holdout("visits", epsilon=1, answers=1000, rows=400, threshold="0.2")
    return holdout.share(asked, f"0.{number:04d}1")


def step(session: Session, number: int) -> object:
    del number  # the next one, whichever it is
    periods = Periods("day", Span.DAYS, date(2026, 1, 1), 1000)
    return session.stream(session.sql(COUNT), Loss.zcdp("0.1"), periods).release()["n"].values


ONE = Sensitivity.of(1, Norm.L1, Rule("a row changes a count by 1"))
KINDS: dict[str, Ask] = {"question": question, "fit": fit, "holdout": share, "step": step}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as owner:
        owner.execute(
            "CREATE TABLE visits AS SELECT 'p' || range AS patient, "
            "CASE range % 2 WHEN 0 THEN 'north' ELSE 'south' END AS ward, "
            "DATE '2026-01-01' + CAST(range % 9 AS INTEGER) AS day, "
            "CAST(range % 100 AS DOUBLE) AS pay FROM range(400)"
        )
    return tmp_path


@pytest.fixture
def faults(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Faults:
    made = Faults(folder)
    made.clear()
    put_into(made, monkeypatch.setattr)
    return made


class House:
    """One ledger over the visits, whose owner is olga, and sessions of whoever asks."""

    def __init__(self, folder: Path, closing: ExitStack) -> None:
        self._folder, self._closing = folder, closing
        self.log: list[dict[str, Any]] = []
        self.owner = self.session("olga")
        self.ledger = self.owner.ledger

    def session(self, who: str, *, pool: Pool | None = None, **changes: object) -> Session:
        """A session of ``who``; where there is a pool, its questions run in workers."""
        declared = {
            "population": "patients",
            "unit": "patient",
            "bounds": {"pay": (0, 100), "day": (date(2026, 1, 1), date(2028, 12, 31))},
            "keys": {"ward": ("north", "south")},
            "max_groups": 1,
            "max_rows": 1,
            "budget": (30, "1e-6"),
            "table": "visits",
            "folder": self._folder / ".tacit",
            "principal": who,
            "source": self._folder / "visits.duckdb",
        } | changes
        opened = self._closing.enter_context(tacit.open(declared.pop("source"), **declared))
        curator = opened._curator.telling(alarm(self.log.append))
        if pool is not None:
            curator = curator.answered_by({"here": pool}, 60_000)
        return Session(curator)

    def pool(self, session: Session) -> Pool:
        """One worker over the visits, with the faults of the folder."""
        room = Allowed(memory_bytes=8 * 2**30, seconds=60)
        catalog = session.catalog
        worker = Worker(start_faulty, str(self._folder), catalog, room, reads=read_work)
        made = Pool([worker])
        self._closing.callback(made.close)
        assert made.start()
        return made

    def charged(self) -> int:
        """How many charges there are, free ones among them."""
        return len(self.ledger.book("patients").requests)

    def look(self) -> None:
        """What the owner does after a failure."""
        if self.ledger.status("patients").locked:
            self.ledger.look("patients", by="olga")


@pytest.fixture
def house(folder: Path) -> Iterator[House]:
    with ExitStack() as closing:
        yield House(folder, closing)


def raised(session: Session, ask: Ask, number: int) -> BaseException | None:
    """Return what asking raised, whatever it is."""
    try:
        ask(session, number)
    except Exception as error:  # noqa: BLE001 - also an engine's own, where it is let through
        return error
    return None


def reveals(error: BaseException | None) -> bool:
    """Return whether the words of an error, or of its causes, hold a value of a row."""
    while error is not None:
        if WORDS in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def caught(session: Session, ask: Ask, number: int) -> BaseException | None:
    """Return what asking raised, which is an error of ours without a value of a row."""
    error = raised(session, ask, number)
    assert error is None or isinstance(error, TacitError)
    assert not reveals(error)
    return error


def wrong(  # noqa: PLR0913, PLR0917 - a fault, and where it strikes
    house: House,
    faults: Faults,
    session: Session,
    ask: Ask,
    stage: str,
    times: int,
    number: int,
) -> list[str]:
    """What one fault did that it should not have done."""
    found: list[str] = []

    def must(holds: bool, what: str) -> None:  # noqa: FBT001
        found.extend([] if holds else [f"{stage} x{times}: {what}"])

    house.look()
    before, charges = house.ledger.status("patients"), house.charged()
    faults.set(stage, times)
    error = raised(session, ask, number)
    statements = faults.asked
    faults.clear()
    after = house.ledger.status("patients")
    survives = stage in BEFORE_A_DRAW and times == 1
    must(not reveals(error), "no value of a row in the error")
    must(house.charged() == charges + 1, "charged once")
    must((error is None) == survives, f"answered or not: {error!r}")
    must(after.failed - before.failed == (not survives), "one failure in the chain")
    must(after.retried - before.retried == (stage in BEFORE_A_DRAW), "run again where allowed")
    if stage not in BEFORE_A_DRAW:
        must(statements <= 2, f"run again after a draw: {statements} statements")
    if not survives:
        must(isinstance(error, InternalError), "one opaque error")
        must(after.locked, "locked")
        spent = after.spent
        refused = caught(house.session("bob"), question, 5000 + number)
        must(isinstance(refused, PopulationLocked), "the next analyst is refused")
        must("tacit ledger look patients" in str(refused), "and told what to do")
        must(house.ledger.status("patients").spent == spent, "and charged nothing")
        house.look()
        must(caught(session, ask, 2500 + number) is None, "an owner's look opens it")
        lines = [set(line) for line in house.log if line["below"] == "failed"]
        named = {"at", "below", "charge", "stage", "populations"}
        must(bool(lines) and lines[-1] == named, "the log's line")
    house.ledger.verify("patients")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_faults_in_this_process_end_as_they_must(
    kind: str, house: House, faults: Faults, bar: Bar
) -> None:
    session, ask, amiss, count = house.session("ann"), KINDS[kind], list[str](), 0
    assert caught(session, ask, 0) is None
    for turn in range(ROUNDS):
        for stage in STAGES:
            for times in (1, 2):
                count += 1
                number = 1 + 20 * turn + count
                amiss += wrong(house, faults, session, ask, stage, times, number)
    bar(f"failures of a {kind}, in process: {count} faults, amiss", amiss, "[]", amiss == [])


@pytest.mark.parametrize("kind", ["question", "fit"])
def test_faults_in_a_worker_end_as_they_must(
    kind: str, house: House, faults: Faults, bar: Bar
) -> None:
    pool = house.pool(house.owner)
    session, ask, amiss, count = house.session("ann", pool=pool), KINDS[kind], list[str](), 0
    assert caught(session, ask, 0) is None
    for _ in range(ROUNDS):
        for stage in STAGES:
            for times in (1, 2):
                count += 1
                amiss += wrong(house, faults, session, ask, stage, times, count)
    bar(f"failures of a {kind}, in a worker: {count} faults, amiss", amiss, "[]", amiss == [])


@pytest.mark.parametrize("stage", ["statement", "noise"])
def test_a_worker_that_dies_is_run_again_only_where_it_had_not_drawn(
    stage: str, house: House, faults: Faults, bar: Bar
) -> None:
    session = house.session("ann", pool=house.pool(house.owner))
    faults.set(stage, 1, "die")
    error = caught(session, question, 1)
    status = house.ledger.status("patients")
    ended = (error is None, status.failed, status.retried, status.locked)
    meant = (True, 0, 1, False) if stage == "statement" else (False, 1, 0, True)
    bar(f"a worker that dies at {stage}: as it must", ended == meant, "True", ended == meant)


def test_an_idle_worker_that_is_killed_costs_nobody_anything(
    house: House, faults: Faults, bar: Bar
) -> None:
    pool = house.pool(house.owner)
    session, lost = house.session("ann", pool=pool), 0
    for number in range(3 * ROUNDS):
        (worker,) = pool._workers
        while worker._child is None:
            time.sleep(0.01)
        os.kill(worker._child[0].pid or 0, signal.SIGKILL)
        lost += caught(session, question, number) is not None
    status = house.ledger.status("patients")
    cost = (lost, status.failed, status.retried, status.locked)
    faults.clear()
    name = f"{3 * ROUNDS} idle workers killed: questions lost, failed, run twice, locked"
    bar(name, cost, "(0, 0, 0, False)", cost == (0, 0, 0, False))


def test_three_retries_lock(house: House, faults: Faults) -> None:
    session = house.session("ann")
    for number in range(3):
        faults.set("statement", 1)
        assert caught(session, question, number) is None
    assert isinstance(caught(session, question, 9), PopulationLocked)
    house.look()
    answer = session.sql(COUNT).ask(rho="0.003")
    assert "3 retried answers were retried" in str(answer)
    assert "no more than 100000 further questions are tried" in str(answer)


# ---------------------------------------------------------------- the law of what leaves


LEAST = 1e-9
"""A probability below which a law is not believed."""


def failures_where_noise_is_low(house: House, count: int) -> int:
    """How many of ``count`` paid pieces of work failed, which fail where their noise is low."""

    def work(engine: Engine, progress: Progress) -> bytes:
        del engine
        draw = AddNoise(DiscreteLaplace(Fraction(100)))
        noisy = progress.gateway_for(b"a charge").release(Secret(np.array([0])), ONE, draw)
        if noisy[0] < 0:
            raise ValueError(WORDS)
        return b"%d" % noisy[0]

    failed, engine, ledger = 0, house.owner._curator.engines["here"], house.ledger
    people = open_pure(ledger, name="law")
    for number in range(count):
        asked = ask(f"law {number}", of=people, event=Nothing())
        charge = ledger.reserve(asked, lease_ms=60_000)
        assert isinstance(charge, Charge)
        try:
            run_below(ledger, charge, lambda _: attempt(work, engine, Progress()))
        except Broken:
            failed += 1
        if ledger.status("law").locked:
            ledger.look("law", by="olga")
    return failed


def low(failed: int, count: int) -> float:
    """How likely so few failures are, where each draw is made once."""
    below_0 = 1 / (math.exp(1 / 100) + 1)
    return float(binomtest(failed, count, below_0, alternative="less").pvalue)


def test_what_leaves_has_the_law_of_one_draw(house: House, bar: Bar) -> None:
    count = 500 * ROUNDS
    failed = failures_where_noise_is_low(house, count)
    likely = low(failed, count)
    name = f"{failed} of {count} whose noise is low fail: probability under one draw"
    bar(name, likely, f"above {LEAST}", likely > LEAST)


def test_a_retry_after_a_draw_is_caught_by_the_law(
    house: House, bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(self: Broken, stage: str, *, drawn: bool) -> None:
        InternalError.__init__(self, "It failed.")
        self.stage, self.drawn = stage, drawn and False

    monkeypatch.setattr(Broken, "__init__", forgetful)
    count = 500 * ROUNDS
    failed = failures_where_noise_is_low(house, count)
    likely = low(failed, count)
    name = f"lie, a retry after a draw: {failed} of {count} fail, probability under one draw"
    bar(name, likely, f"below {LEAST}", likely < LEAST)


# ---------------------------------------------------------------- outages, and who waits


@pytest.fixture
def engine(folder: Path, open_folder: Path) -> Iterator[Any]:
    """A PostgreSQL of its own with the visits, and the address of its quiet role."""
    cluster = PostgresCluster(open_folder)
    address, role = cluster.database("clinic"), f"tacit_{uuid4().hex[:8]}"
    with ExitStack() as closing, psycopg.connect(address, autocommit=True) as owner:
        owner.execute("CREATE TABLE visits (patient text, ward text, day date, pay float8)")
        with owner.cursor().copy("COPY visits FROM STDIN") as rows:
            for number in range(400):
                ward = ("north", "south")[number % 2]
                rows.write_row(
                    (f"p{number}", ward, date(2026, 1, 1 + number % 9), number % 100)
                )
        catalog = House(folder, closing).owner.catalog
        for statement in reader(role, catalog):
            owner.execute(statement.encode())
    yield cluster, address, address.replace("postgres@", f"{role}@")
    cluster.stop()


def start_again(cluster: PostgresCluster) -> None:
    """Start a server whose port may have been taken, for a moment, by a client's own end."""
    ends = time.monotonic() + 90
    while True:
        try:
            return cluster.start()
        except subprocess.CalledProcessError:
            if time.monotonic() > ends:
                raise
            time.sleep(1)


def test_an_engine_that_is_stopped_locks_nobody(
    house: House, engine: Any, bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, _, address = engine
    monkeypatch.setattr(below_charge, "OUTAGE_SECONDS", 0.5)
    session = house.session("olga", source=address, budget=None)
    assert caught(session, same_question, 1) is None
    cluster.stop()
    ends = time.monotonic() + OUTAGE_SECONDS
    outcomes = [caught(session, same_question, 2)]
    spent, charges = house.ledger.status("patients").spent, house.charged()
    while time.monotonic() < ends:
        outcomes.append(caught(session, same_question, 2))
    assert {type(each) for each in outcomes} == {EngineUnreachable}
    assert "is charged" in str(outcomes[0])
    start_again(cluster)
    assert caught(session, same_question, 2) is None  # on the same charge
    status = house.ledger.status("patients")
    same = (status.spent == spent, house.charged() == charges)
    marks = (status.failed, status.retried, status.locked)
    name = (
        f"PostgreSQL stopped for {OUTAGE_SECONDS} s: charged once, and failed, retried, locked"
    )
    bar(name, (*same, *marks), "(True, True, 0, 0, False)", (*same, *marks) == (1, 1, 0, 0, 0))
    house.ledger.verify("patients")


def hold_visits(address: str, seconds: float) -> Thread:
    """Lock the table for a while, so that a question about it waits inside its statement."""
    holding = psycopg.connect(address)
    holding.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")

    def let_go() -> None:
        time.sleep(seconds)
        with suppress(psycopg.Error):
            holding.close()

    thread = Thread(target=let_go)
    thread.start()
    return thread


def waiting_backend(address: str) -> int:
    """The process of the server that waits for the lock."""
    with psycopg.connect(address, autocommit=True) as owner:
        while True:
            row = owner.execute(
                "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            ).fetchone()
            if row is not None:
                return int(row[0])
            time.sleep(0.02)


def test_a_row_that_crashes_the_server_does_not_look_like_an_outage(
    house: House, engine: Any, bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost inside the statement, and for a while no other can be had."""
    _, owner, address = engine
    monkeypatch.setattr(below_charge, "OUTAGE_SECONDS", 10)
    session = house.session("olga", source=address, budget=None)
    assert caught(session, same_question, 1) is None  # its statement is rehearsed from here on

    def crash() -> None:
        os.kill(waiting_backend(owner), signal.SIGKILL)

    outcomes = []
    for number in (2, 3):
        hold_visits(owner, 2)
        crashing = Thread(target=crash)
        crashing.start()
        outcomes.append(caught(session, same_question, number))
        crashing.join()
    status = house.ledger.status("patients")
    marks = (outcomes, status.retried, status.failed)
    bar("a backend killed inside a statement: run twice each", marks, "2", status.retried == 2)


def test_an_operator_who_stops_the_server_inside_a_statement_locks_nobody(
    house: House, engine: Any, bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, owner, address = engine
    monkeypatch.setattr(below_charge, "OUTAGE_SECONDS", 0.5)
    session = house.session("olga", source=address, budget=None)
    assert caught(session, same_question, 1) is None  # its statement is rehearsed from here on
    holding = hold_visits(owner, 5)

    def stop() -> None:
        waiting_backend(owner)
        cluster.stop()

    stopping = Thread(target=stop)
    stopping.start()
    error = caught(session, same_question, 2)
    stopping.join()
    holding.join()
    start_again(cluster)
    again = caught(session, same_question, 2)
    status = house.ledger.status("patients")
    marks = (type(error).__name__, again, status.failed, status.retried, status.locked)
    meant = ("EngineUnreachable", None, 0, 0, False)
    bar("PostgreSQL stopped inside a statement", marks, str(meant), marks == meant)


INTERRUPTED = """
import os, signal, sys, threading, time
sys.path[:0] = {path!r}
from pathlib import Path
from contextlib import ExitStack
from test_failures import House, question
from tacit.engines.duckdb import DuckDB

found = DuckDB._fetch
def slowly(self, text):
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    time.sleep(1.0)
    return found(self, text)

with ExitStack() as closing:
    house = House(Path({folder!r}), closing)
    session = house.session("ann")
    DuckDB._fetch = slowly
    began = time.monotonic()
    try:
        question(session, 1)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - began < 0.9)
    DuckDB._fetch = found
    spent = session.status().spent
    question(session, 1)
    status = session.status()
    print(status.spent == spent, status.failed, status.locked)
"""


def test_an_interrupt_ends_the_wait_and_not_the_work(folder: Path, bar: Bar) -> None:
    code = INTERRUPTED.format(path=sys.path, folder=str(folder))
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )
    told = done.stdout.split("\n")[:2]
    meant = ["interrupted True", "True 0 False"]
    bar("an interrupt: the wait ends, and the answer is there", told, str(meant), told == meant)


def test_the_owner_is_told_by_a_command_and_of_nothing_but_the_charge(tmp_path: Path) -> None:
    told, script = tmp_path / "told", tmp_path / "tell.py"
    script.write_text(
        f"import sys, json; open({str(told)!r}, 'w').write(json.dumps(sys.argv[1:]))"
    )
    tell = alarm(lambda _: None, (sys.executable, str(script), "--to", "olga; echo"))
    tell(below_charge.Trouble(below_charge.RETRIED, ("patients",), bytes(2), "engine"))
    assert not told.exists()
    tell(below_charge.Trouble(below_charge.FAILED, ("patients",), bytes(2), "engine"))
    ends = time.monotonic() + 20
    while time.monotonic() < ends and not (told.exists() and told.read_text()):
        time.sleep(0.05)
    assert json.loads(told.read_text()) == ["--to", "olga; echo", "patients", "0000", "engine"]


def test_a_draw_is_marked_by_whoever_takes_entropy_or_opens_a_secret() -> None:
    for use in (
        lambda gateway: gateway._entropy.words(1),
        lambda gateway: gateway.release(Secret(np.array([1])), None, lambda values, _: values),
    ):
        progress = Progress()
        use(progress.gateway_for(b"a charge"))
        assert progress.drawn
