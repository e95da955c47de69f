"""The ledger in words over HTTP: the same as where it is, for owners and auditors."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import COUNT, Server, make_project, serving

from tacit.client import connect
from tacit.errors import InvalidValue, NotPermitted, UnknownName
from tacit.ledger.history import HistoryFilter
from tacit.server.token_policy import Role

HERE = "/v1/ledger/patients/history"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(make_project(tmp_path)) as running:
        for who in ("ann", "bob"):
            assert running.ask(running.token(who)).status_code == 200
        yield running


def test_owners_and_auditors_read_what_the_ledger_says(server: Server) -> None:
    ledger = server.curator.home.ledger
    for role in (Role.OWNER, Role.AUDITOR):
        with connect(server.address, token=server.token("olga", role)) as session:
            assert session.history("patients") == ledger.history("patients")
            wanted = HistoryFilter.of(analyst="ann", kind="charge", limit=5)
            chosen = session.history("patients", analyst="ann", kind=["charge"], limit=5)
            assert chosen == ledger.history("patients", wanted)
            assert [(line.who, line.decision) for line in chosen] == [("ann", "answered")]
            since = session.history("patients", since="1970-01-01", until="1970-01-02")
            assert len(since) == 0
            with pytest.raises(InvalidValue, match="not a kind of entry"):
                session.history("patients", kind="secrets")
    shown = str(ledger.history("patients", HistoryFilter.of(kind="charge")))
    receipt = ledger.history("patients").lines[-1].receipt
    assert shown.splitlines()[-1].split()[-2:] == ["answered", receipt[:12]]
    with connect(server.address, token=server.token("olga", Role.OWNER)) as session:
        (found,) = session.history("patients", receipt=receipt)
        assert found.receipt == receipt
        with pytest.raises(UnknownName, match="has the receipt"):
            session.history("patients", receipt="00" * 32)


def test_an_analyst_reads_no_ledger(server: Server) -> None:
    with (
        connect(server.address, token=server.token("ann")) as session,
        pytest.raises(NotPermitted),
    ):
        session.history("patients")


def test_an_owner_reads_no_other_owners_ledger(server: Server) -> None:
    oscar = server.token("oscar", Role.OWNER)
    assert server.call("GET", "/v1/ledger/staff/history", oscar).status_code == 200
    assert server.call("GET", HERE, oscar).status_code == 404


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=1001", "since=yesterday", "since=2026-01-02T00:00", "analyst="],
)
def test_a_filter_that_means_nothing_is_refused(server: Server, query: str) -> None:
    told = server.call("GET", f"{HERE}?{query}", server.token("olga", Role.OWNER))
    assert told.status_code in {400, 422}, told.text


def test_a_freeze_is_in_the_status_that_everybody_prints(server: Server) -> None:
    olga = server.token("olga", Role.OWNER)
    with connect(server.address, token=server.token("ann")) as session:
        assert "stopped" not in str(session.status("patients"))
        assert server.call("POST", "/v1/ledger/patients/freeze", olga).status_code == 200
        assert "an owner has stopped all charges" in str(session.status("patients"))
        quote = session.sql(COUNT).quote(epsilon="0.2")
        assert "An owner has stopped all charges about patients." in quote.standing.stopped
        assert quote.standing.stopped in quote.notes
        again = session.sql(COUNT).ask(epsilon="0.1")  # a stored answer stays free
        assert quote.standing.stopped in repr(again)
        assert server.call("POST", "/v1/ledger/patients/thaw", olga).status_code == 200
        assert session.sql(COUNT).quote(epsilon="0.2").standing.stopped == ""
