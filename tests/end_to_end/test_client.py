"""The client by itself: tokens, wrong addresses, and what a person sees who waits."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from threading import Thread

import pytest
from losing import LosingWire
from rich.console import Console
from site_of_clients import AMOUNTS, NONE, QUESTION, QUICK, Site, made_site

import tacit
from tacit.client.retry import RetryPolicy
from tacit.client.session import RemoteSession
from tacit.client.transport import Tell, Transport, on_terminal
from tacit.errors import (
    ConnectionLost,
    InternalError,
    InvalidValue,
    MissingExtra,
    NotPermitted,
    UnknownName,
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with made_site(tmp_path_factory.mktemp("site")) as made:
        yield made


def test_a_token_is_needed_and_is_in_no_text(site: Site) -> None:
    url = site.url
    with pytest.raises(InvalidValue, match="tacit token issue NAME --role analyst"):
        tacit.connect(url, environment={})
    with pytest.raises(NotPermitted, match="This request needs a valid token"):
        tacit.connect(url, token=NONE, patience=QUICK)
    with tacit.connect(url, environment={"TACIT_TOKEN": site.token}) as session:
        shown = f"{session!r} {session.sql(QUESTION)!r} {vars(session)}"
    assert site.token not in shown


@pytest.mark.parametrize("url", ["clinic", "ftp://clinic", "https://", "https://a:b@clinic"])
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue, match="The url of a server must be https://host"):
        tacit.connect(url, token=NONE)


def test_a_token_goes_over_tls_or_to_this_machine(site: Site) -> None:
    with pytest.raises(InvalidValue, match="others could read your token"):
        tacit.connect("http://tacit.clinic.example", token=NONE)
    with pytest.raises(InvalidValue, match="others could read your token"):
        tacit.connect("http://127.0.0.1.clinic.example", token=NONE)
    once = RetryPolicy(reply=1, tries=1)
    nobody = r"Nothing answered at http://tacit.invalid. Check the address, and that the server"
    with pytest.raises(ConnectionLost, match=nobody):
        tacit.connect("http://tacit.invalid", token=NONE, plain_http=True, patience=once)
    with tacit.connect(site.url.replace("127.0.0.1", "localhost"), token=site.token) as session:
        assert session.catalog.datasets


def test_who_is_no_server_of_ours_is_told_of(site: Site) -> None:
    url = f"{site.url}/elsewhere"
    with pytest.raises(UnknownName, match="Not Found"):
        tacit.connect(url, token=site.token, patience=QUICK)
    with http_server() as port, pytest.raises(InternalError, match="Check the url"):
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


def test_who_waits_is_shown_that_it_is_asked_again(site: Site) -> None:
    lines: list[str] = []

    @contextmanager
    def heard(line: str) -> Iterator[Tell]:
        lines.append(line)
        yield lines.append

    with LosingWire(site.url, losses=1) as wire:
        session = RemoteSession.over(Transport(wire.url, site.token, QUICK, heard))
        with session:
            session.sql(QUESTION).ask(epsilon=next(AMOUNTS))
    assert lines == [
        f"Waiting for {wire.url}",
        f"Waiting for {wire.url}",
        f"{wire.url} is busy or not reachable; trying again (2)",
    ]


def test_progress_is_for_terminals_and_goes_when_it_is_done() -> None:
    shown, piped = StringIO(), StringIO()
    with on_terminal("Waiting for [red]x", Console(file=shown, force_terminal=True)) as tell:
        tell("asking [red]again")
    assert "asking [red]again" in shown.getvalue()
    with on_terminal("Waiting", Console(file=piped)) as tell:
        tell("trying again")
    assert piped.getvalue() == ""


def test_patience_is_some() -> None:
    with pytest.raises(InvalidValue, match="tries >= 1"):
        RetryPolicy(tries=0)
