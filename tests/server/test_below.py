"""What is below the line: child processes, their limits, deadlines, and what they leave."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing.util import get_temp_dir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import given_seconds
from serving import COUNT, Server, make_project, running

from tacit.cli.main import main
from tacit.errors import InvalidValue
from tacit.query.worker import PREFIX, Scratch, sweep
from tacit.server.app import make_app, watched_app
from tacit.server.token_policy import Role
from tacit.session.project import open_for_serving

DEADLINE = 2.0
NEW = count()
"""Each question has a condition of its own: a repeat is free, and asks no child."""
SETTINGS = f"[server]\nprocesses = 1\ndeadline = {DEADLINE}\nrequests_per_minute = 3000\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("below"), more=SETTINGS)


@pytest.fixture(scope="module")
def server(file: Path) -> Iterator[Server]:
    curator, serving = open_for_serving(file, {})
    log: list[str] = []
    with running(watched_app(make_app(curator, serving), log.append)) as address:
        yield Server(address, curator, log)


def child_of(server: Server) -> int:
    """The process that answers."""
    (worker,) = server.curator.pools["warehouse"]._workers
    worker.start()
    time.sleep(0.05)
    assert worker._child is not None
    return worker._child[0].pid or 0


def test_paid_answers_leave_at_the_deadline_and_repeats_at_once(server: Server) -> None:
    ann = server.token("ann")
    assert answered_again(server)
    for sql in (COUNT, "SELECT AVG(cost) AS c FROM visits"):
        began, given = time.monotonic(), given_seconds()
        assert server.ask(ann, sql).status_code == 200
        assert time.monotonic() - began >= DEADLINE
        assert given_seconds() - given < DEADLINE + 2
    given = given_seconds()
    assert server.ask(ann).status_code == 200
    assert given_seconds() - given < DEADLINE


def new() -> str:
    """A question that nobody has asked."""
    return COUNT.replace("GROUP", f"WHERE city <> 'no city {next(NEW)}' GROUP")


def answered_again(server: Server) -> bool:
    """Whether a new child answers, once an owner looked; its first question may be late."""
    bob = server.token("bob")
    for _ in range(4):
        look(server)
        if server.ask(bob, new(), epsilon="0.01").status_code == 200:
            return True
    return False


def look(server: Server) -> None:
    """What an owner does after an answer was late."""
    if server.curator.home.ledger.status("patients").locked:
        server.curator.home.ledger.look("patients", by="olga")


@contextmanager
def hurt(server: Server, wrong: signal.Signals) -> Iterator[None]:
    """Hurt the child that answers, once: after the charge, when it is given its question."""
    (worker,) = server.curator.pools["warehouse"]._workers
    pid, original = child_of(server), worker._run

    def run(*given: Any) -> bytes:
        worker._run = original  # type: ignore[method-assign]
        os.kill(pid, wrong)
        return original(*given)

    worker._run = run  # type: ignore[method-assign]
    try:
        yield
    finally:
        worker._run = original  # type: ignore[method-assign]


def test_a_child_that_died_or_hangs_while_nobody_asked_costs_nobody_anything(
    server: Server,
) -> None:
    ann, ledger = server.token("ann"), server.curator.home.ledger
    look(server)
    before = ledger.status("patients")
    for wrong in (signal.SIGKILL, signal.SIGSTOP):
        os.kill(child_of(server), wrong)
        assert server.ask(ann, new(), epsilon="0.02").status_code == 200
    after = ledger.status("patients")
    assert (after.missed, after.failed, after.retried) == (
        before.missed,
        before.failed,
        before.retried,
    )


def test_a_child_that_died_is_replaced_before_anybody_asks(server: Server) -> None:
    dead = child_of(server)
    os.kill(dead, signal.SIGKILL)
    (worker,) = server.curator.pools["warehouse"]._workers
    ends = time.monotonic() + 60
    while worker._child is None or worker._child[0].pid == dead:
        assert time.monotonic() < ends
        time.sleep(0.05)
    with worker._lock:  # once it is ready
        assert worker._answers_ping()


def test_a_child_that_dies_or_is_late_gives_one_answer_at_one_time(server: Server) -> None:
    ann, ledger = server.token("ann"), server.curator.home.ledger
    told = []
    for place in range(2):
        assert answered_again(server)
        charged = len(ledger.book("patients").requests)
        began, given = time.monotonic(), given_seconds()
        with hurt(server, signal.SIGSTOP):
            failed = server.ask(ann, epsilon=f"0.2{place}")
        assert time.monotonic() - began >= DEADLINE
        assert given_seconds() - given < DEADLINE + 2
        told.append((failed.status_code, failed.text, sorted(failed.headers)))
        assert len(ledger.book("patients").requests) == charged + 1
    assert told[0] == told[1]
    assert told[0][0] == 500
    assert answered_again(server)
    lost = server.ask(ann, epsilon="0.20")
    assert (lost.status_code, lost.json()["error"]["code"]) == (410, "answer_lost")


def test_an_owner_looks_over_http(server: Server) -> None:
    ann, olga = server.token("ann"), server.token("olga", Role.OWNER)
    assert answered_again(server)
    with hurt(server, signal.SIGSTOP):
        assert server.ask(ann, new(), epsilon="0.03").status_code == 500
    asked = new()
    assert server.ask(ann, asked, epsilon="0.03").status_code == 423
    lines = [json.loads(line) for line in server.log]  # each of them, failures too
    assert [line["stage"] for line in lines if line.get("below") == "late"]
    looked = server.call("POST", "/v1/ledger/patients/look", olga)
    assert (looked.status_code, looked.json()["locked"]) == (200, False)
    assert server.ask(ann, asked, epsilon="0.03").status_code == 200


def test_after_a_late_answer_nothing_about_the_same_people_is_charged_until_an_owner_looks(
    server: Server, file: Path
) -> None:
    ann, bob, ledger = server.token("ann"), server.token("bob"), server.curator.home.ledger
    assert answered_again(server)
    paid = server.ask(ann, epsilon="0.15")
    with hurt(server, signal.SIGSTOP):
        assert server.ask(ann, epsilon="0.16").status_code == 500
    spent = ledger.status("patients").spent
    for who, sql in ((ann, COUNT), (bob, "SELECT AVG(cost) AS c FROM visits")):
        refused = server.ask(who, sql, epsilon="0.17").json()["error"]
        assert refused["code"] in {"deadline_missed", "population_locked"}
        assert "tacit ledger look patients" in refused["message"]
    assert ledger.status("patients").spent == spent
    # others are answered, and what was paid for before is told again
    assert server.ask(ann, "SELECT COUNT(*) AS n FROM shifts").status_code == 200
    assert server.ask(bob, epsilon="0.15").json()["columns"] == paid.json()["columns"]
    told = server.call("GET", "/v1/status", ann).json()["budgets"][0]
    assert told["locked"]
    words = ["ledger", "look", "patients", "--as", "olga", "--project", str(file)]
    done = CliRunner().invoke(main, words)
    assert f"{told['missed']} late, " in done.output
    assert ": late, 20" in done.output  # the charge that was, and when
    late = [line for each in server.log if (line := json.loads(each)).get("below") == "late"]
    assert f"UTC, receipt {late[-1]['charge']}\n" in done.output
    again = server.ask(bob, epsilon="0.18").json()
    said = "late answer was" if told["missed"] == 1 else "late answers were"
    assert f"{told['missed']} {said} late" in again["guarantee"]
    assert ledger.verify("patients")


def test_a_weaker_question_is_free_for_another_analyst_and_asks_no_child(
    server: Server,
) -> None:
    ann, bob, ledger = server.token("ann"), server.token("bob"), server.curator.home.ledger
    assert answered_again(server)
    asked = new()
    paid = server.ask(ann, asked, epsilon="0.04").json()
    spent = ledger.status("patients").spent
    with hurt(server, signal.SIGKILL):  # nobody gives the child a question
        for who, key in ((bob, None), (ann, "weaker"), (ann, "weaker")):
            again = server.ask(who, f"{asked} ORDER BY city", epsilon="0.03", key=key)
            assert again.status_code == 200
            assert again.json()["columns"] == paid["columns"]
            assert again.json()["release_key"] == paid["release_key"]
    assert ledger.status("patients").spent == spent
    assert server.ask(bob, asked, epsilon="0.05").json()["columns"] != paid["columns"]
    assert ledger.status("patients").spent.amount > spent.amount


def test_the_parent_reads_no_row(server: Server) -> None:
    child = child_of(server)
    table = (Path(f"/proc/{child}/status")).read_text()
    assert "VmPeak" in table
    assert child != os.getpid()
    limits = Path(f"/proc/{child}/limits").read_text()
    assert str(8192 * 2**20) in limits.split("Max address space")[1].split("\n")[0]
    assert limits.split("Max core file size")[1].split()[0] == "0"


def test_what_a_child_wrote_is_gone_with_it(server: Server) -> None:
    (worker,) = server.curator.pools["warehouse"]._workers
    child, scratch = child_of(server), worker._scratch
    assert scratch is not None
    assert Path(f"/proc/{child}/cwd").resolve() == scratch.path.resolve()
    (scratch.path / ".tmp").mkdir()
    (scratch.path / ".tmp" / "spilled").write_text("a row of the table")
    os.kill(child, signal.SIGKILL)
    assert server.ask(server.token("ann"), new(), epsilon="0.04").status_code == 200
    assert not scratch.path.exists()


def test_what_is_left_where_all_died_is_swept_by_the_next_and_not_before() -> None:
    held, left = Scratch(), Scratch()
    left._lock.close()  # as a crash does
    sweep()
    assert held.path.exists()
    assert not left.path.exists()
    held.close()
    assert not held.path.exists()


def test_a_child_that_cannot_start_stops_the_server_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make_project(tmp_path / "clinic", more="[server]\nmegabytes = 64\n")
    get_temp_dir()  # kept for all children of this process, and so not in a folder that ends
    with TemporaryDirectory(prefix="tacit-short-") as place:
        monkeypatch.setattr("tempfile.tempdir", place)
        with pytest.raises(InvalidValue, match="does not start in a process of 64 megabytes"):
            open_for_serving(file, {})
        assert list(Path(place).glob(f"{PREFIX}*")) == []


def test_a_folder_whose_name_is_too_long_for_a_socket_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make_project(tmp_path / "clinic")
    folder = tmp_path / (76 * "x")
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with pytest.raises(InvalidValue, match="Set TMPDIR to a folder with a shorter name"):
        open_for_serving(file, {})
