"""A writer killed at any moment leaves no answer without its charge, and no broken chain.

`TACIT_KILLS` says how often, over both stores. With `TACIT_CAMPAIGN`, a folder, the figures and
the SQLite store are kept there, and another run goes on where the last one stopped.
"""

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from asking import open_pure
from conftest import Bar, given_seconds
from crashing import (
    OPENED,
    PATIENCE,
    PEOPLE,
    Case,
    Received,
    charge_then_release,
    drained,
    killed,
    release_then_charge,
    writer,
)
from postgres_cluster import PostgresCluster
from surviving import Figures, Survey

from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.store.connect import open_store

KINDS = ["sqlite", "postgresql"]
KILLS = int(os.environ.get("TACIT_KILLS", "300")) // len(KINDS)
CAMPAIGN = os.environ.get("TACIT_CAMPAIGN")
LIES = 60
SERVER_CRASHES = 5
RUN = uuid4().hex
CASES = [Case(number, RUN) for number in range(100)]


def prepare(address: str) -> str:
    """The store at ``address``, with a budget that will not end."""
    with closing(open_store(address)) as store:
        try:
            open_pure(Ledger(store), "1000000", PEOPLE.name)
        except InvalidValue:
            # a campaign goes on
            Ledger(store).status(PEOPLE.name)
    return address


def verified(address: str) -> int:
    """How many chains of the store do not verify from their start, of one."""
    with closing(open_store(address)) as store:
        try:
            Ledger(store).verify(PEOPLE.name)
        except LedgerBroken:
            return 1
    return 0


def show(bar: Bar, name: str, figures: Figures) -> None:
    bar(f"{name}: answers received", figures.answers, "some", figures.answers > 0)
    for what, seen in (
        ("answers without their charge", figures.uncharged),
        ("answers not as they were stored", figures.changed),
        ("fresh draws for a charged request", figures.redrawn),
        ("chains broken", figures.broken),
    ):
        bar(f"{name}: {what}", seen, "0", seen == 0)
    slowest = figures.slowest_restart
    bar(f"{name}: seconds of the slowest restart", slowest, "at most 2", slowest <= 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_writer_leaves_no_answer_without_its_charge(
    kind: str, tmp_path: Path, new_store: Callable[[str], str], bar: Bar
) -> None:
    place = Path(CAMPAIGN).absolute() if CAMPAIGN else tmp_path
    place.mkdir(parents=True, exist_ok=True)
    progress = place / f"kills-{kind}.json"
    figures = Figures.load(progress)
    lasting = f"sqlite:///{place}/ledger.db"
    address = prepare(lasting if kind == "sqlite" else new_store(kind))
    survey = Survey(address, figures)
    while figures.crashes < KILLS:
        case, began = Case(figures.crashes, RUN), time.perf_counter()
        try:
            survey.look(case, killed(address, case))
        finally:
            # what was seen is seen, whoever stops the campaign here
            figures.seconds += time.perf_counter() - began
            figures.save(progress)
    figures.broken += verified(address)
    figures.save(progress)
    name = f"{figures.crashes} kills on {kind}"
    show(bar, name, figures)
    bar(f"{name}: charged, answer lost", figures.lost, "some", figures.lost > 0)


@pytest.mark.parametrize("kind", KINDS)
def test_releasing_before_charging_is_caught(
    kind: str, new_store: Callable[[str], str], bar: Bar
) -> None:
    address = prepare(new_store(kind))
    figures = Figures()
    survey = Survey(address, figures)
    at_random = 0
    for case in CASES[:LIES]:
        before = figures.uncharged
        survey.look(case, killed(address, case, release_then_charge))
        at_random += case.point is None and figures.uncharged > before
    name = f"release then charge, {LIES} kills on {kind}"
    shown = f"{figures.uncharged}, {at_random} of them at random moments"
    caught = figures.uncharged >= 1
    bar(f"{name}: answers without their charge", shown, "at least 1", caught)


def test_a_server_that_crashes_loses_no_charge(
    cluster: PostgresCluster, new_store: Callable[[str], str], bar: Bar
) -> None:
    address = prepare(new_store("postgresql"))
    figures = Figures()
    survey = Survey(address, figures)
    cases = [case for case in CASES if case.point is None][:SERVER_CRASHES]
    for place, case in enumerate(cases):
        with writer(address, case, charge_then_release) as (process, pipe):
            pipe.poll(PATIENCE)
            if place % 2:  # every second crash comes after an answer, on a slow machine too
                assert pipe.recv_bytes() == OPENED
                pipe.poll(PATIENCE)
            time.sleep(case.delay)
            cluster.stop("immediate")
            process.join(PATIENCE)
            received = drained(pipe)
        cluster.start()  # its own recovery takes its own time: ours begins here
        survey.look(case, received)
    figures.broken += verified(address)
    show(bar, f"{SERVER_CRASHES} crashes of PostgreSQL itself", figures)


class ForgetfulLedger(Ledger):
    """The lie: a ledger that does not know a request again."""

    def reserve(self, question: ChargeRequest, *, lease_ms: int) -> Charge | StoredRelease:
        again = uuid4()
        new = replace(question, request=f"{again}", plan=again.bytes * 2)
        return super().reserve(new, lease_ms=lease_ms)


def test_a_second_draw_is_seen(new_store: Callable[[str], str]) -> None:
    address = prepare(new_store("sqlite"))
    figures = Figures()
    case = next(case for case in CASES if case.point == "after run")
    received = killed(address, case)
    Survey(address, figures, ForgetfulLedger).look(case, received)
    assert figures.redrawn >= 1


def test_a_changed_answer_is_seen(new_store: Callable[[str], str]) -> None:
    address = prepare(new_store("sqlite"))
    figures = Figures()
    case = next(case for case in CASES if case.point and case.at_question)
    sent, *more = killed(address, case)
    changed = Received(sent.number, replace(sent.answer, body=bytes(48)))
    Survey(address, figures).look(case, [changed, *more])
    assert figures.changed == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_killed_while_its_tables_are_made_opens_again(
    kind: str, new_store: Callable[[str], str], bar: Bar
) -> None:
    slowest = 0.0
    for case in CASES[:16]:
        address = new_store(kind)
        with writer(address, case, charge_then_release) as (process, _):
            time.sleep(2 * case.delay)
            process.kill()
            process.join()
        began = given_seconds()
        prepare(address)
        slowest = max(slowest, given_seconds() - began)
    name = f"16 new stores on {kind}, killed while they were made"
    bar(f"{name}: seconds of the slowest opening", slowest, "at most 2", slowest <= 2)
