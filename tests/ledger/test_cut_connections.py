"""A connection to PostgreSQL that is cut at every message: one charge, at most one answer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from pathlib import Path

import postgres_cluster
import pytest
from asking import answer, ask, open_pure
from conftest import Bar
from cutting_proxy import MOMENTS, Cut, CuttingProxy
from judging import charges, complaints
from lying import AnswersUncharged, AnswersUnkept
from postgres_cluster import PostgresCluster
from sqlalchemy import text

from tacit.core.event import LaplaceNoise
from tacit.errors import BudgetExceeded, ConnectionLost, StoreFailed
from tacit.ledger import reserve
from tacit.ledger.charge import StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.store.store import SqlStore

COMMIT = b"COMMIT\0"
LOST_COMMIT = Cut("after", words=COMMIT)
"""The famous one: the server did it, and the client does not hear of it."""

UNSENT_COMMIT = Cut("before", words=COMMIT)
HANG_UP = text("SELECT pg_terminate_backend(pg_backend_pid())")
TOO_DEAR = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(1, 1000))


@dataclass
class Wire:
    """A ledger behind a proxy, the same one without it, and what was asked and received."""

    proxy: CuttingProxy
    store: SqlStore
    direct: SqlStore
    asked: list[str] = field(default_factory=list)
    received: dict[str, StoredRelease] = field(default_factory=dict)

    def ask(self, cut: Cut, ledger: Ledger | None = None) -> str:
        """Ask a new question while the wire is cut; what came of it."""
        plan = f"question {len(self.asked)}"
        self.asked.append(plan)
        self.proxy.arm(cut)
        try:
            self.received[plan] = answer(ledger or Ledger(self.store), ask(plan))
        except StoreFailed as error:
            return type(error).__name__
        finally:
            cuts = self.proxy.cuts
            self.proxy.arm(None)
        return "answered" if cuts else "not cut"

    def complaints(self) -> list[str]:
        return complaints(self.direct, self.received, self.asked)


@pytest.fixture
def wire(
    cluster: PostgresCluster,
    new_store: Callable[[str], str],
    opened: Callable[[str], SqlStore],
) -> Iterator[Wire]:
    address = new_store("postgresql")
    direct = opened(address)
    open_pure(Ledger(direct), "100")
    proxy = CuttingProxy(cluster.port)
    through = address.replace(f":{cluster.port}/", f":{proxy.port}/")
    store = opened(f"{through}?sslmode=disable&gssencmode=disable")
    yield Wire(proxy, store, direct)
    store.close()
    proxy.close()


def sweep(wire: Wire, cut: Cut) -> list[str]:
    """What came of the question whose first request is cut, whose second, and so on."""
    outcomes = []
    for at in count(1):
        outcomes.append(wire.ask(replace(cut, at=at)))
        if outcomes[-1] == "not cut":
            return outcomes[:-1]
    raise AssertionError


def test_a_charge_whose_reply_was_lost_is_found_and_not_paid_twice(wire: Wire) -> None:
    assert wire.ask(LOST_COMMIT) == "answered"
    assert wire.ask(replace(LOST_COMMIT, at=2)) == "answered"
    assert wire.ask(replace(LOST_COMMIT, times=5)) == "answered"
    assert wire.complaints() == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_wherever_the_wire_is_cut_once_the_answer_comes_and_is_paid_once(
    moment: str, wire: Wire, bar: Bar
) -> None:
    outcomes = sweep(wire, Cut(moment))
    wrong = wire.complaints()
    bar(f"cuts {moment}: violations at {len(outcomes)} requests", len(wrong), "0", not wrong)
    assert set(outcomes) == {"answered"}
    assert len(outcomes) > 15


@pytest.mark.parametrize("moment", MOMENTS)
def test_wherever_the_server_is_gone_for_good_nothing_leaves_unpaid(
    moment: str, wire: Wire, bar: Bar
) -> None:
    outcomes = sweep(wire, Cut(moment, gone=True))
    wrong = wire.complaints()
    bar(f"gone {moment}: violations at {len(outcomes)} requests", len(wrong), "0", not wrong)
    assert set(outcomes) == {"StoreFailed"}


def test_a_wire_that_stalls_only_delays(wire: Wire) -> None:
    assert wire.ask(replace(LOST_COMMIT, stall=1)) == "answered"
    assert wire.ask(replace(LOST_COMMIT, at=2, stall=1)) == "answered"
    assert wire.complaints() == []


def test_a_session_that_the_server_ended_is_lost_and_the_next_one_answers(wire: Wire) -> None:
    with pytest.raises(ConnectionLost), wire.store.writing() as work:
        work.one(HANG_UP, {})
    assert wire.ask(replace(LOST_COMMIT, stall=0.01)) == "answered"
    assert wire.complaints() == []


def test_a_refusal_stays_a_refusal_where_its_rollback_is_cut(wire: Wire) -> None:
    wire.proxy.arm(Cut("before", words=b"ROLLBACK\0"))
    with pytest.raises(BudgetExceeded):
        answer(Ledger(wire.store), ask("all of it", event=TOO_DEAR))
    assert wire.proxy.cuts == 1
    assert wire.ask(replace(LOST_COMMIT, stall=0.01)) == "answered"
    assert wire.complaints() == []


def test_who_pays_again_under_a_new_key_pays_twice(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reserve, "ATTEMPTS", 1)
    ledger = Ledger(wire.store)
    wire.proxy.arm(LOST_COMMIT)
    with pytest.raises(StoreFailed):
        ledger.reserve(ask("count"), lease_ms=0)
    wire.proxy.arm(None)
    ledger.reserve(ask("count", request="another key"), lease_ms=0)
    assert len(charges(wire.direct)) == 2
    wire.asked.append("count")
    assert wire.complaints() == ["count was charged 2 times"]


@pytest.mark.parametrize(
    ("lie", "commit", "seen"),
    [
        (AnswersUncharged, 1, "question 0 was answered, and not charged"),
        (AnswersUnkept, 2, "question 0 was answered, and its answer is not stored"),
    ],
)
def test_who_takes_a_lost_connection_for_success_is_caught(
    lie: type[Ledger], commit: int, seen: str, wire: Wire
) -> None:
    cut = replace(UNSENT_COMMIT, at=commit, gone=True)
    assert wire.ask(cut, lie(wire.store)) == "answered"
    assert seen in wire.complaints()


def test_a_postgresql_that_does_not_sync_is_refused(
    open_folder: Path, opened: Callable[[str], SqlStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = postgres_cluster.SETTINGS
    own = PostgresCluster(open_folder)
    try:
        address = own.database("tacit")
        opened(address).close()
        for setting in ("fsync", "full_page_writes"):
            own.stop()
            unsound = sound.replace(f"{setting}=on", f"{setting}=off")
            monkeypatch.setattr(postgres_cluster, "SETTINGS", unsound)
            own.start()
            with pytest.raises(StoreFailed, match="without fsync"):
                opened(address)
    finally:
        own.stop("immediate")
