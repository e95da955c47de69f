"""The client by itself: lost replies, slow answers, wrong addresses; one charge in all."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import duckdb
import pytest
from losing import Fragile, LosingWire, curator_over, served, token_for
from prepared import ROWS, TEXT
from rich.console import Console
from serving import running

import tacit
from tacit.client.patience import Patience
from tacit.client.refusal import KINDS, error_of
from tacit.client.session import RemoteSession
from tacit.client.waiting import Tell, on_terminal
from tacit.client.wire import Wire
from tacit.core.catalog import Catalog
from tacit.core.stored_catalog import encode
from tacit.engines.duckdb import open_duckdb
from tacit.errors import (
    AnswerLost,
    AnswerPending,
    ConnectionLost,
    InternalError,
    InvalidValue,
    KeyReused,
    MissingExtra,
    NotPermitted,
    SecretMisuse,
    StoreFailed,
    TacitError,
    UnknownName,
)
from tacit.ledger.ledger import Ledger
from tacit.server.refusal import ErrorBody, refusal_of
from tacit.session.project import apply_project

NONE = "a token of nobody"
QUICK = Patience(reply=5, tries=4, pause=0.01)
QUESTION = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
AMOUNTS = (f"0.{number}" for number in count(1000))


class Site:
    """A served project, its engine, and its ledger."""

    def __init__(self, url: str, token: str, engine: Fragile, ledger: Ledger) -> None:
        self.url, self.token, self.engine, self.ledger = url, token, engine, ledger

    def charges(self) -> int:
        return len(self.ledger.book("patients").requests)

    @contextmanager
    def client(self, url: str, patience: Patience = QUICK) -> Iterator[RemoteSession]:
        with tacit.connect(url, token=self.token, patience=patience) as made:
            yield made


def project(folder: Path) -> Path:
    """A project over one table, which the ledger holds."""
    with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
        owner.execute(ROWS)
    file = folder / "tacit.toml"
    engine = 'kind = "duckdb"\npath = "clinic.duckdb"'
    file.write_text(TEXT.replace("ENGINE", engine).replace("epsilon = 3", "epsilon = 90"))
    apply_project(file, by="olga")
    return file


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    file = project(folder)
    whole = curator_over(file)
    whole.engines["warehouse"].close()
    fragile = Fragile(open_duckdb(str(folder / "clinic.duckdb"), {}))
    curator = replace(whole, engines={"warehouse": fragile})
    token = token_for(curator)
    with served(curator) as url:
        yield Site(url, token, fragile, curator.home.ledger)


class FreshKeys(Wire):
    """The lie: a client that names each sending anew."""

    def _sent(self, request: object, tell: Tell) -> object:
        send = self._http.send

        def renamed(given: object) -> object:
            given.headers["Idempotency-Key"] = uuid4().hex  # type: ignore[attr-defined]
            return send(given)  # type: ignore[arg-type]

        self._http.send = renamed  # type: ignore[method-assign, assignment]
        try:
            return super()._sent(request, tell)  # type: ignore[arg-type]
        finally:
            self._http.send = send  # type: ignore[method-assign]


# ------------------------------------------------------------------ one charge


def test_a_lost_reply_is_fetched_again_for_nothing(site: Site) -> None:
    before, amount = site.charges(), next(AMOUNTS)
    with LosingWire(site.url, losses=2) as wire, site.client(wire.url) as session:
        answer = session.sql(QUESTION).ask(epsilon=amount)
    assert len(wire.heard) == 3
    assert len(set(wire.heard)) == 1
    assert wire.heard[0] != ""
    assert site.charges() == before + 1
    with site.client(site.url) as session:
        again = session.sql(QUESTION).ask(epsilon=amount)
    assert again.columns == answer.columns


def charged_after_a_failure(site: Site, session: RemoteSession) -> int:
    """Charges of a question whose answer failed, and whose failure did not arrive."""
    before = site.charges()
    site.engine.failures = 1
    with suppress(AnswerLost):
        session.sql(QUESTION).ask(epsilon=next(AMOUNTS))
    return site.charges() - before


def test_an_answer_that_was_lost_is_not_paid_for_twice_unawares(site: Site) -> None:
    with LosingWire(site.url, losses=1) as wire, site.client(wire.url) as session:
        assert charged_after_a_failure(site, session) == 1
    assert len(wire.heard) == 2
    # the lie: a fresh key for each sending
    with LosingWire(site.url, losses=1) as wire:
        lying = RemoteSession.over(FreshKeys(wire.url, site.token, QUICK))
        with lying:
            assert charged_after_a_failure(site, lying) == 2


def test_a_slow_answer_is_waited_for_and_charged_once(site: Site) -> None:
    before = site.charges()
    site.engine.seconds = 0.6
    hasty = Patience(reply=0.2, tries=8, pause=0.05)
    try:
        with site.client(site.url, hasty) as session:
            answer = session.sql(QUESTION).ask(epsilon=next(AMOUNTS))
    finally:
        site.engine.seconds = 0.0
    assert answer["ward"].values == ("north", "south")
    assert site.charges() == before + 1


def test_where_no_reply_comes_at_all_the_same_again_is_charged_once(site: Site) -> None:
    before, amount = site.charges(), next(AMOUNTS)
    with LosingWire(site.url, losses=4) as wire, site.client(wire.url) as session:
        with pytest.raises(ConnectionLost, match="Ask the same again"):
            session.sql(QUESTION).ask(epsilon=amount)
        answer = session.sql(QUESTION).ask(epsilon=amount)
    assert site.charges() == before + 1
    assert answer.standing.cost.amount == 0


def test_the_same_question_in_other_words_has_the_same_key(site: Site) -> None:
    other = "SELECT COUNT(*) AS many, ward FROM visits GROUP BY ward ORDER BY many LIMIT 1"
    with LosingWire(site.url) as wire, site.client(wire.url) as session:
        session.sql(QUESTION).ask(epsilon="0.2")
        session.sql(other).ask(epsilon=0.2)
        session.sql(QUESTION).ask(epsilon="0.3")
        session.sql(QUESTION).ask(epsilon="0.2", request="my own")
    same, again, dearer, own = wire.heard
    assert same == again != dearer
    assert own == "my own"


def test_what_was_asked_of_an_older_state_is_not_paid_for_again_unawares(
    tmp_path: Path,
) -> None:
    file = project(tmp_path)
    curator = curator_over(file)
    token = token_for(curator)
    with served(curator) as url, tacit.connect(url, token=token) as old:
        old.sql(QUESTION).ask(epsilon=1)
    file.write_text(file.read_text().replace("2026-W46", "2026-W47"))
    apply_project(file, by="olga")
    later = curator_over(file)
    with served(later) as url, tacit.connect(url, token=token, patience=QUICK) as new:
        stale = RemoteSession(old.catalog, new._wire)
        with pytest.raises(KeyReused, match="connect again"):
            stale.sql(QUESTION).ask(epsilon=1)
        assert len(later.home.ledger.book("patients").requests) == 1
        assert new.sql(QUESTION).ask(epsilon=1).standing.cost.amount > 0


# ------------------------------------------------------------------ who is asked, and how


def test_a_token_is_needed_and_is_in_no_text(site: Site) -> None:
    url = site.url
    with pytest.raises(InvalidValue, match="tacit token issue NAME --role analyst"):
        tacit.connect(url, environment={})
    with pytest.raises(NotPermitted, match="This needs a valid token"):
        tacit.connect(url, token=NONE, patience=QUICK)
    with tacit.connect(url, environment={"TACIT_TOKEN": site.token}) as session:
        shown = f"{session!r} {session.sql(QUESTION)!r} {vars(session)}"
    assert site.token not in shown


@pytest.mark.parametrize("url", ["clinic", "ftp://clinic", "https://", "https://a:b@clinic"])
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue, match="The url of a server is https://host"):
        tacit.connect(url, token=NONE)


def test_a_token_goes_over_tls_or_to_this_machine(site: Site) -> None:
    with pytest.raises(InvalidValue, match="others could read your token"):
        tacit.connect("http://tacit.clinic.example", token=NONE)
    with pytest.raises(InvalidValue, match="others could read your token"):
        tacit.connect("http://127.0.0.1.clinic.example", token=NONE)
    once = Patience(reply=1, tries=1)
    with pytest.raises(ConnectionLost):
        tacit.connect("http://tacit.invalid", token=NONE, plain_http=True, patience=once)
    with tacit.connect(site.url.replace("127.0.0.1", "localhost"), token=site.token) as session:
        assert session.catalog.datasets


def test_who_is_no_server_of_ours_is_told_of(site: Site) -> None:
    url = f"{site.url}/elsewhere"
    with pytest.raises(UnknownName, match="Not Found"):
        tacit.connect(url, token=site.token, patience=QUICK)
    with http_server() as port, pytest.raises(InternalError, match="look at the url"):
        tacit.connect(f"http://127.0.0.1:{port}", token=site.token, patience=QUICK)


@contextmanager
def http_server() -> Iterator[int]:
    """Somebody else, who answers in HTML."""
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        thread = Thread(target=other.serve_forever)
        thread.start()
        yield other.server_port
        other.shutdown()
        thread.join()


def test_without_the_library_the_command_that_installs_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(tacit.extras.EXTRAS, "client", "a_library_that_nobody_installs")
    with pytest.raises(MissingExtra, match=r'pip install "tacit\[client\]"'):
        tacit.connect("https://clinic", token=NONE)


class Odd:
    """A server that says what may be asked about, and to all else the same, in turn."""

    def __init__(self, catalog: Catalog, *replies: tuple[int, object]) -> None:
        self.catalog, self.replies, self.asked = encode(catalog), list(replies), 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        await receive()
        status, told = 200, self.catalog
        if scope["path"] != "/v1/datasets":
            self.asked += 1
            status, told = self.replies[min(self.asked, len(self.replies)) - 1]
        headers = [(b"content-type", b"application/json"), (b"retry-after", b"0")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(told).encode()})


BUSY = (503, {"error": {"code": "store_failed", "message": "The store is away."}})
PENDING = (409, {"error": {"code": "answer_pending", "message": "Wait."}})
REUSED = (409, {"error": {"code": "key_reused", "message": "Another."}})


@pytest.mark.parametrize(
    ("replies", "asked", "kind", "told"),
    [
        ([BUSY], 4, StoreFailed, "The store is away."),
        ([BUSY, PENDING, REUSED], 3, KeyReused, "Another."),
        ([PENDING], 4, AnswerPending, "being answered for another request"),
        ([(500, BUSY[1])], 1, StoreFailed, "The store is away."),
        ([(301, {})], 1, InternalError, "look at the url"),
        ([(200, {"release": 1})], 1, InvalidValue, "is no answer"),
    ],
)
def test_a_busy_server_is_asked_again_and_a_refusal_is_not(
    site: Site, replies: list[tuple[int, object]], asked: int, kind: type, told: str
) -> None:
    with tacit.connect(site.url, token=site.token) as known:
        odd = Odd(known.catalog, *replies)
    with running(odd) as url, tacit.connect(url, token=NONE, patience=QUICK) as session:
        with pytest.raises(kind, match=told):
            session.sql(QUESTION).ask(epsilon=1, request="mine")
        assert odd.asked == asked


def test_what_is_no_quote_and_no_budget_is_told_of(site: Site) -> None:
    with tacit.connect(site.url, token=site.token) as known:
        odd = Odd(known.catalog, (200, {"columns": []}), (200, {"budgets": []}))
    with running(odd) as url, tacit.connect(url, token=NONE) as session:
        with pytest.raises(InvalidValue, match="is no quote"):
            session.sql(QUESTION).quote()
        with pytest.raises(InvalidValue, match="nothing of the budget of 'patients'"):
            session.status()


ERRORS = [
    AnswerLost(),
    AnswerPending(7),
    *[
        kind("what was wrong")
        for kind in KINDS.values()
        if kind not in {AnswerLost, AnswerPending, InternalError, TacitError, SecretMisuse}
    ],
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_the_server_is_raised_as_the_same_error(error: TacitError) -> None:
    refused = refusal_of(error)
    told = error_of(refused.status, ErrorBody(error=refused.told).model_dump())
    assert type(told) is type(error)
    assert str(told) == str(error)


@pytest.mark.parametrize(
    ("status", "told", "kind"),
    [
        (401, {"error": {"code": "unauthenticated", "message": "no"}}, NotPermitted),
        (
            422,
            {"error": {"code": "new", "message": "no", "allowed": "a", "next": "b"}},
            InvalidValue,
        ),
        (500, {"error": {"code": "new", "message": "no"}}, InternalError),
        (200, ["no"], InternalError),
        (502, None, InternalError),
        (404, {"detail": "Not Found"}, InternalError),
    ],
)
def test_what_we_do_not_know_is_told_by_its_status(
    status: int, told: object, kind: type[TacitError]
) -> None:
    assert type(error_of(status, told)) is kind


# ------------------------------------------------------------------ what a person sees


def test_who_waits_is_shown_that_it_is_asked_again(site: Site) -> None:
    lines: list[str] = []

    @contextmanager
    def heard(line: str) -> Iterator[Tell]:
        lines.append(line)
        yield lines.append

    with LosingWire(site.url, losses=1) as wire:
        session = RemoteSession.over(Wire(wire.url, site.token, QUICK, heard))
        with session:
            session.sql(QUESTION).ask(epsilon=next(AMOUNTS))
    assert lines == [
        f"Waiting for {wire.url}",
        f"Waiting for {wire.url}",
        f"{wire.url} is busy or away; asking again (2)",
    ]


def test_progress_is_for_terminals_and_goes_when_it_is_done() -> None:
    shown, piped = StringIO(), StringIO()
    with on_terminal("Waiting for [red]x", Console(file=shown, force_terminal=True)) as tell:
        tell("asking [red]again")
    assert "asking [red]again" in shown.getvalue()
    with on_terminal("Waiting", Console(file=piped)) as tell:
        tell("asking again")
    assert piped.getvalue() == ""


def test_patience_is_some() -> None:
    with pytest.raises(InvalidValue, match="once or more"):
        Patience(tries=0)
