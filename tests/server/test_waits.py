"""Whoever waits for an answer holds no thread, and nobody waits long for a dead server."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import requests
from conftest import Bar, given_seconds
from serving import COUNT, Server, make_project, serving

from tacit.core import ReleaseDates
from tacit.ledger import LEASE_MS
from tacit.ledger.charge import Charge
from tacit.project.project import RequestLimits, Serving
from tacit.query import Progress, QuoteWork, attempt
from tacit.server import identity
from tacit.server.lanes import Lane
from tacit.session import question_steps
from tacit.session.question_steps import PaidQuestion, Stage, paid_question
from tacit.session.session import Session
from tacit.store.tokens import Tokens

COPIES = 60
RETRY_SECONDS = 5
OTHER = "SELECT COUNT(*) AS n FROM shifts"
LIMITS = RequestLimits(questions_of_principal=2, questions_of_population=3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make_project(tmp_path / "clinic")


@pytest.fixture
def server(file: Path) -> Iterator[Server]:
    with serving(file) as running:
        yield running


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Questions about people take until this is set; others take no longer than before."""
    end, once = Event(), question_steps.answer_once

    def answer(curator: Any, quote: Any, question: Any) -> Any:
        if "people" in quote.datasets:
            assert end.wait(60)
        return once(curator, quote, question)

    monkeypatch.setattr(question_steps, "answer_once", answer)
    yield end
    end.set()


def charges(server: Server, population: str = "patients") -> int:
    return len(server.curator.home.ledger.book(population).requests)


def paid_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("tacit questions")}


def answered_beside(server: Server, end: Event) -> tuple[bool, set[str], int]:
    """Whether another question is answered beside many copies of a slow one.

    Also the answers to the copies, and how many threads of paid questions there were.
    """
    ann, before = server.token("ann"), paid_threads()  # some of servers that have ended
    with ThreadPoolExecutor(COPIES) as callers:
        asked = [callers.submit(server.ask, ann, key="slow") for _ in range(COPIES)]
        time.sleep(1)
        try:
            bob, beside = server.token("bob"), {"sql": OTHER, "epsilon": "0.1"}
            found = server.call("POST", "/v1/ask", bob, json=beside, timeout=10)
            fine = found.status_code == 200
        except requests.Timeout:
            fine = False
        threads = len(paid_threads() - before)
        end.set()
        answers = [each.result() for each in asked]
    assert {answer.status_code for answer in answers} == {200}
    return fine, {str(answer.json()["columns"]) for answer in answers}, threads


def test_copies_of_a_slow_question_hold_one_thread_and_delay_nobody(
    server: Server, slow: Event, bar: Bar
) -> None:
    fine, answers, threads = answered_beside(server, slow)
    bar(f"another question beside {COPIES} copies of a slow one", fine, True, fine)
    assert (len(answers), charges(server)) == (1, 1)
    assert threads <= 2  # the slow question's, and the other's


def test_copies_that_wait_in_threads_are_caught(
    server: Server, slow: Event, monkeypatch: pytest.MonkeyPatch, bar: Bar
) -> None:
    look = PaidQuestion.look

    def look_and_wait(paid: PaidQuestion[Any], *, dead: bool = False) -> Any:
        found = look(paid, dead=dead)
        if found is Stage.NEW and paid.quote.datasets == ("people",):
            slow.wait(60)  # the lie: the thread that looks waits for the answer
        return found

    monkeypatch.setattr(PaidQuestion, "look", look_and_wait)
    run = Lane.run  # and whoever comes first has all threads
    monkeypatch.setattr(Lane, "run", lambda lane, *given, **_: run(lane, *given))
    fine, *_ = answered_beside(server, slow)
    bar("lie, who waits holds a thread: another question is answered", fine, False, not fine)


def test_a_question_beyond_a_limit_is_refused_before_it_is_charged(
    file: Path, slow: Event
) -> None:
    settings = Serving(requests_per_minute=10**6, limits=LIMITS)
    with serving(file, serving=settings) as server, ThreadPoolExecutor(8) as callers:
        ann, bob = server.token("ann"), server.token("bob")
        held = [callers.submit(server.ask, ann, epsilon=f"0.0{place}") for place in (1, 2)]
        held.append(callers.submit(server.ask, bob, epsilon="0.03"))
        time.sleep(0.5)
        full = server.ask(ann, OTHER)
        assert (full.status_code, full.json()["error"]["code"]) == (503, "queue_full")
        assert "You have too many questions" in full.json()["error"]["message"]
        assert int(full.headers["Retry-After"]) >= 1
        people = server.ask(bob, epsilon="0.04")
        assert "about these people" in people.json()["error"]["message"]
        assert server.ask(bob, OTHER).status_code == 200
        assert charges(server, "staff") == 1
        slow.set()
        assert {each.result().status_code for each in held} == {200}
        assert charges(server) == 3
        assert server.ask(ann, OTHER).status_code == 200


def revoked_while_it_waits(file: Path, slow: Event, *, seconds: float) -> tuple[set[int], int]:
    """The statuses of questions whose token is revoked while they wait, and the charges."""
    settings = Serving(requests_per_minute=10**6)
    with serving(file, serving=settings) as server, ThreadPoolExecutor(16) as callers:
        ann = server.token("ann")
        held = [callers.submit(server.ask, ann, epsilon=f"0.0{place}") for place in range(1, 5)]
        time.sleep(1)
        rest = [callers.submit(server.ask, ann, epsilon=f"0.1{place}") for place in range(4)]
        time.sleep(seconds)
        Tokens(server.curator.home.store).revoke(ann)
        slow.set()
        # what was charged before is answered
        assert {each.result().status_code for each in held} == {200}
        return {each.result().status_code for each in rest}, charges(server)


def test_a_token_that_is_revoked_while_a_question_waits_pays_for_nothing(
    file: Path, slow: Event
) -> None:
    assert revoked_while_it_waits(file, slow, seconds=1.5) == ({401}, 4)


def test_a_server_that_checks_a_token_once_is_caught(
    file: Path, slow: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "RECHECK_SECONDS", 10**6)  # the lie
    assert revoked_while_it_waits(file, slow, seconds=1.5) == ({200}, 8)


def charged_elsewhere(server: Server, lease_ms: int) -> Charge:
    """A charge of ann's for the usual question, whose server does no more."""
    curator = server.curator.asked_by("ann")
    asked = paid_question(Session(curator).sql(COUNT), epsilon="0.1", request="monday")  # type: ignore[arg-type]
    charge = curator.home.ledger.reserve(asked.question, lease_ms=lease_ms)
    assert isinstance(charge, Charge)
    return charge


def test_a_retry_after_a_killed_server_is_answered_soon(server: Server, bar: Bar) -> None:
    ann = server.token("ann")
    charged_elsewhere(server, LEASE_MS)
    began, given = time.monotonic(), given_seconds()
    lost = server.ask(ann, key="monday")
    taken = min(time.monotonic() - began, given_seconds() - given + LEASE_MS / 1000 + 1.5)
    assert (lost.status_code, lost.json()["error"]["code"]) == (410, "answer_lost")
    name = "seconds until a retry after a killed server is answered"
    bar(name, f"{taken:.1f}", f"at most {RETRY_SECONDS}", taken <= RETRY_SECONDS)
    assert server.ask(ann, key="tuesday").status_code == 200
    assert charges(server) == 2


def test_a_retry_needs_no_worker_to_learn_that_its_answer_is_lost(
    server: Server, slow: Event
) -> None:
    assert not slow.is_set()  # every worker is at work
    charged_elsewhere(server, LEASE_MS)
    for _ in range(2):
        assert server.ask(server.token("ann"), key="monday").status_code == 410
    charge = server.curator.home.ledger.book("patients").requests
    assert len(charge) == 1


def test_a_server_with_long_leases_is_caught(server: Server) -> None:
    # the lie: a lease as long as three questions may take
    charge = charged_elsewhere(server, 60 * LEASE_MS)
    ann, sent = server.token("ann"), {"sql": COUNT, "epsilon": "0.1"}
    with pytest.raises(requests.Timeout):
        server.call(
            "POST",
            "/v1/ask",
            ann,
            json=sent,
            headers={"Idempotency-Key": "monday"},
            timeout=RETRY_SECONDS + 1,
        )
    server.curator.home.ledger.abandon(charge)  # the server ends sooner


def test_an_answer_that_comes_late_is_not_lost_to_a_store_that_was_away(
    server: Server,
) -> None:
    ann, ledger = server.token("ann"), server.curator.home.ledger
    charge = charged_elsewhere(server, 1)  # it ran out while the store was away
    stored = server.curator.asked_by("ann")
    body = paid_question(Session(stored).sql(COUNT), epsilon="0.1")  # type: ignore[arg-type]

    def later() -> None:
        time.sleep(0.7)
        _keep(ledger, charge, body)

    thread = Thread(target=later)
    thread.start()
    found = server.ask(ann, key="monday")
    thread.join()
    assert found.status_code == 200
    assert found.json()["receipt"] == charge.receipt.hex()
    assert charges(server) == 1


def _keep(ledger: Any, charge: Charge, paid: PaidQuestion[Any]) -> None:
    """Run and store what ``charge`` paid for, as its own server does."""
    curator = paid.curator
    salt, dates = curator.salt("patients"), ReleaseDates(charge.day, ())
    work = QuoteWork(paid.quote, curator.catalog, salt, charge.receipt, (), dates)
    ledger.keep(charge, attempt(work, curator.engine_of(paid.quote.datasets), Progress()))
