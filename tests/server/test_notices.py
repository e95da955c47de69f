"""Owners are told what waits for them, whoever wrote it, and nothing about any question."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from asking import LEASE_MS, ask, open_pure
from serving import Server, make_project, serving

from tacit.core.loss import Loss
from tacit.errors import InvalidValue
from tacit.ledger import Ledger, OwnerAdded, entries
from tacit.ledger.charge import Charge
from tacit.project import DELAY, ServerTime
from tacit.project.document import Fault, TomlEntry
from tacit.project.project import Notify, Serving, serving_of
from tacit.server import notices
from tacit.server.notices import ChainFollower, Notice, senders_of
from tacit.server.time_alarm import ANSWERS, SLOWER
from tacit.server.token_policy import Role
from tacit.session.project import project_and_ledger
from tacit.store.connect import open_sqlite

QUESTION = "SELECT city, COUNT(*) AS secret_name FROM people GROUP BY city"


@dataclass
class Hook:
    """A receiver on loopback, and what it received."""

    address: str
    status: int = 204
    got: list[dict[str, Any]] = field(default_factory=list)

    def wait(self, what: str, seconds: float = 30) -> dict[str, Any]:
        """The first notice about ``what``, once it is there."""
        wait_until(lambda: any(each["what"] == what for each in self.got), seconds)
        return next(each for each in self.got if each["what"] == what)


def wait_until(ready: Callable[[], bool], seconds: float = 30) -> None:
    last = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < last
        time.sleep(0.02)


@pytest.fixture
def hook() -> Iterator[Hook]:
    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.got.append(json.loads(body) | {"path": self.path})
            self.send_response(made.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    made = Hook(f"http://127.0.0.1:{http.server_port}/hook?to=owners")
    thread = Thread(target=http.serve_forever)
    thread.start()
    yield made
    http.shutdown()
    http.server_close()
    thread.join()


def notifying(**settings: Any) -> Serving:
    return Serving(requests_per_minute=10**6, notify=Notify(**settings))


# ------------------------------------------------------------------ over a server


def test_owners_are_told_by_a_webhook_whoever_wrote_it(
    tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "SECONDS", 0.05)
    file = make_project(tmp_path)
    with serving(file, serving=notifying(webhook=hook.address)) as server:
        assert server.ask(server.token("ann"), QUESTION).status_code == 200
        with project_and_ledger(file, {}) as (_, home):  # as `tacit freeze` does
            home.ledger.freeze("patients", by="olga")
        frozen = hook.wait("frozen")
        assert (frozen["population"], frozen["by"]) == ("patients", "olga")
        owner = server.token("olga", Role.OWNER)
        assert server.call("POST", "/v1/ledger/patients/thaw", owner).status_code == 200
        hook.wait("thawed")
        bob = server.token("bob")
        more = {"epsilon": "2", "reason": "not told"}
        wish = server.call("POST", "/v1/ledger/patients/requests", bob, json=more)
        found = server.call("GET", "/v1/ledger/patients/requests", owner).json()["requests"]
        numbers = {each["id"]: each["number"] for each in found}
        assert hook.wait("quota requested")["entry"] == numbers[wish.json()["id"]]
    names = {"what", "population", "entry", "by", "at", "path"}
    assert all(set(each) == names for each in hook.got)
    assert {each["path"] for each in hook.got} == {"/hook?to=owners"}
    assert [each["what"] for each in hook.got] == ["frozen", "thawed", "quota requested"]
    assert "secret_name" not in str(hook.got)
    assert "not told" not in str(hook.got)
    # whoever starts a server later hears what still waits, and not what is over
    hook.got.clear()
    with serving(file, serving=notifying(webhook=hook.address)):
        hook.wait("quota requested")
    assert [each["what"] for each in hook.got] == ["quota requested"]


def test_owners_and_the_log_are_warned_of_slow_answers(tmp_path: Path, hook: Hook) -> None:
    rule = ServerTime(DELAY, expected_ms=Fraction(50))
    settings = replace(notifying(webhook=hook.address), time=rule)
    with serving(make_project(tmp_path), serving=settings) as server:
        watch = server.app.state.current.curator.watch
        for taken in (0.31, 1.31):  # seconds, of which 0.3 are the delay
            assert not hook.got
            for number in range(ANSWERS):
                watch.note_leaving(taken + number / 1e6, 0.3)
        hook.wait(SLOWER)
        wait_until(lambda: len(hook.got) == 2)
        [line] = [line for line in server.logged() if "times" in line]
    assert (line["times"], line["answers"], line["expected_ms"]) == (SLOWER, ANSWERS, 50)
    assert line["mean_ms"] == pytest.approx(1010, abs=1)
    assert {each["population"] for each in hook.got} == {"patients", "staff"}
    assert all((each["entry"], each["by"]) == (0, None) for each in hook.got)


def test_a_webhook_that_fails_is_logged_and_stops_nothing(
    tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "SECONDS", 0.05)
    monkeypatch.setattr(notices, "PAUSES", (0.0, 0.0))
    hook.status = 302
    file = make_project(tmp_path)
    with serving(file, serving=notifying(webhook=hook.address)) as server:
        server.curator.home.ledger.freeze("staff", by="oscar")
        wait_until(lambda: logged(server) != [])
        assert [each["what"] for each in hook.got] == ["frozen", "frozen"]
        assert server.ask(server.token("ann")).status_code == 200
        (line,) = logged(server)
        assert {**line, "at": 0} == {
            "at": 0,
            "notice": "not sent",
            "what": "frozen",
            "population": "staff",
            "entry": server.curator.home.ledger.chain_ends()["staff"],
            "failed": "OtherStatusError",
        }


def logged(server: Server) -> list[dict[str, Any]]:
    return [line for each in server.log if "notice" in (line := json.loads(each))]


# ------------------------------------------------------------------ what is told


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    store = open_sqlite(tmp_path / "ledger.db")
    made = Ledger(store)
    open_pure(made)
    yield made
    store.close()


def paid(ledger: Ledger, plan: str) -> Charge:
    charge = ledger.reserve(ask(plan), lease_ms=LEASE_MS)
    assert isinstance(charge, Charge)
    return charge


def seen(follower: ChainFollower, ledger: Ledger) -> list[tuple[str, int]]:
    found = follower.look(ledger, ["patients", "not opened"])
    return [(each.what, each.entry) for each in found]


def test_each_lock_freeze_and_proposal_is_told_once(ledger: Ledger) -> None:
    follower = ChainFollower()
    assert seen(follower, ledger) == []
    ledger.keep(paid(ledger, "answered"), b"an answer")
    assert seen(follower, ledger) == []  # questions are nobody's business
    late = paid(ledger, "late")
    ledger.miss(late)
    assert seen(follower, ledger) == [("locked", 5)]
    assert seen(follower, ledger) == []
    ledger.look("patients", by="olga")
    ledger.propose("patients", OwnerAdded("omar"), by="olga")
    raised = ledger.raise_cap("patients", Loss.pure(1), "why not", by="olga")
    assert seen(follower, ledger) == [("reviewed", 6), ("proposed", 7), ("proposed", 8)]
    assert seen(ChainFollower(), ledger) == [("proposed", 8)]
    ledger.approve("patients", raised.seq, by="omar")
    ledger.freeze("patients", by="omar")
    assert seen(follower, ledger) == [("approved", 9), ("frozen", 10)]
    assert seen(ChainFollower(), ledger) == [("frozen", 0)]


def test_a_withdrawal_and_a_lowered_cap_are_told(ledger: Ledger) -> None:
    follower = ChainFollower()
    seen(follower, ledger)
    ledger.propose("patients", OwnerAdded("omar"), by="olga")
    first = ledger.raise_cap("patients", Loss.pure(1), "why not", by="olga").seq
    ledger.raise_cap("patients", Loss.pure(2), "why not", by="omar")
    assert [what for what, _ in seen(follower, ledger)] == [
        *("proposed", "proposed", "withdrawn", "proposed"),
    ]
    ledger.lower_cap("patients", Loss.pure("0.5"), by="omar")
    lowered = [what for what, _ in seen(follower, ledger)]
    assert lowered == ["withdrawn", "cap lowered"]
    assert seen(ChainFollower(), ledger) == []
    assert first == 3


def test_a_question_that_is_run_again_is_told_if_it_locks(ledger: Ledger) -> None:
    follower = ChainFollower()
    seen(follower, ledger)
    for number in range(2):
        charge = paid(ledger, f"again {number}")
        ledger.retry(charge)
        ledger.keep(charge, b"an answer")
    assert seen(follower, ledger) == []
    ledger.retry(paid(ledger, "a third time"))
    assert [what for what, _ in seen(follower, ledger)] == ["locked"]
    assert seen(ChainFollower(), ledger) == [("locked", 0)]


def test_a_kind_that_is_left_out_is_missed(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = {kind: what for kind, what in notices.KINDS.items() if kind is not entries.Failed}
    follower, lying = ChainFollower(), ChainFollower()
    assert seen(follower, ledger) == seen(lying, ledger) == []
    ledger.fail(paid(ledger, "failed"))
    assert [what for what, _ in seen(follower, ledger)] == ["locked"]
    monkeypatch.setattr(notices, "KINDS", rest)
    assert seen(lying, ledger) == []


def test_only_entries_that_owners_hear_of_are_decoded(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = ChainFollower()
    seen(follower, ledger)
    ledger.keep(paid(ledger, '"kind":"frozen"'), b"an answer")
    ledger.freeze("patients", by="olga")
    decoded: list[str] = []
    real = entries.decode_act
    monkeypatch.setattr(entries, "decode_act", lambda body: decoded.append(body) or real(body))
    assert [what for what, _ in seen(follower, ledger)] == ["frozen"]
    assert len(decoded) == 1


def test_many_entries_are_read_page_by_page(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.ledger.ledger.PAGE", 2)
    follower = ChainFollower()
    seen(follower, ledger)
    for _ in range(3):
        ledger.freeze("patients", by="olga")
        ledger.thaw("patients", by="olga")
    assert [what for what, _ in seen(follower, ledger)] == ["frozen", "thawed"] * 3
    ledger.freeze("patients", by="olga")
    monkeypatch.setattr(Ledger, "entries", lambda *_: ())
    assert seen(follower, ledger) == []  # a chain with a gap: it does not read for ever
    assert seen(follower, ledger) == []


# ------------------------------------------------------------------ settings


def test_a_command_gets_three_more_words(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("/bin/sh", "-c", f'echo "$@" $HOST $TACIT_STATE_KEY > {out}', "tell", "owners")
    around = {"HOST": "here", "TACIT_STATE_KEY": "a secret"}
    (send,) = senders_of(Notify(command=words), around)
    send(Notice("locked", "a b", 7, None, 1))
    assert out.read_text() == "owners locked a b 7 here\n"  # and not the secret
    for broken in (("/bin/false",), ("/no/such/command",), ("/bin/true", "\0")):
        (send,) = senders_of(Notify(command=broken), {})
        with pytest.raises(OSError):  # noqa: PT011 - any
            send(Notice("locked", "patients"))


def test_an_address_may_be_in_the_environment(hook: Hook) -> None:
    (send,) = senders_of(Notify(webhook="env:HOOK"), {"HOOK": hook.address})
    notice = Notice("frozen", "patients", 3, "olga", 9)
    send(notice)
    assert hook.got == [asdict(notice) | {"path": "/hook?to=owners"}]
    for wrong in (
        "",
        "http://owners.example",
        "https://",
        "https:///path",
        "https://owners.example:port/",
        "https://owners.example:0/",
        "https://user:canary@owners.example/",
        "http://127.0.0.1:80@owners.example/",
        "http://127.0.0.1:80.owners.example/",
        "https://[owners/",
        "https://owners.example/a b",
        "https://owners.example/\u00fc",
    ):
        with pytest.raises(InvalidValue, match="must be an https:// address") as told:
            senders_of(Notify(webhook="env:HOOK"), {"HOOK": wrong})
        assert "canary" not in str(told.value)
    hook.status = 500
    with pytest.raises(OSError):  # noqa: PT011 - any
        send(notice)


def test_an_address_of_no_host_does_not_end_the_thread_that_sends() -> None:
    (send,) = senders_of(Notify(webhook=f"https://{'x' * 70}.example/"), {})
    with pytest.raises(OSError):  # noqa: PT011 - any
        send(Notice("frozen", "patients"))


def test_notices_are_settings_of_a_server() -> None:
    def said(**notify: Any) -> Notify:
        return serving_of(TomlEntry({"notify": notify}, ("server",))).notify

    assert said(command=["tell"]) == Notify(("tell",))
    assert said(webhook="https://a.example/x") == Notify((), "https://a.example/x")
    assert serving_of(TomlEntry({}, ("server",))).notify == Notify()
    for wrong, why in (
        ({}, "a command or a webhook"),
        ({"command": []}, "Name a command"),
        ({"webhook": "http://a.example"}, "over TLS"),
        ({"mail": "olga"}, "not a known name"),
    ):
        with pytest.raises(Fault, match=why):
            said(**wrong)
