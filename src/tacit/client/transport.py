"""What a person sees while an answer is waited for."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import httpx
from rich.console import Console
from rich.text import Text

from tacit.client.retry import RetryPolicy, error_of, is_pending
from tacit.errors import ConnectionLost

Tell = Callable[[str], None]
"""Shows another line in place of the last."""

Waiting = Callable[[str], AbstractContextManager[Tell]]
"""Shows a line as long as something is waited for."""


@contextmanager
def on_terminal(line: str, console: Console | None = None) -> Iterator[Tell]:
    """A line that moves, on a terminal or in a notebook; elsewhere nothing."""
    shown = console or Console(stderr=True)
    if not (shown.is_terminal or shown.is_jupyter):
        yield lambda _: None
        return
    with shown.status(Text(line)) as status:
        yield lambda text: status.update(Text(text))


# ------------------------------------------------------------------ wire
# HTTP to a server: the same request again where a reply is lost, and never another one.

KEY = "Idempotency-Key"
EXACT = "application/vnd.tacit.release+json"
"""An answer as the ledger keeps it: numbers are exact, and what is shown is made here."""

BUSY = (429, 502, 503, 504)
CONFLICT = 409
CONNECT_SECONDS = 10.0
LONGEST_WANTED = 60.0
"""Seconds that a server may ask us to wait."""


class Transport:
    """A connection to one server, with one token, which is in no text of ours.

    Guarantee: whatever is sent again is the same request, its key included.
    """

    def __init__(
        self, url: str, token: str, patience: RetryPolicy, waiting: Waiting = on_terminal
    ) -> None:
        self.url = url
        self._patience = patience
        self._waiting = waiting
        self._http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(patience.reply, connect=min(patience.reply, CONNECT_SECONDS)),
            follow_redirects=False,  # a token goes to the server that was named
        )

    def get(self, path: str) -> Any:
        """What a server tells at ``path``."""
        return self._told("GET", path, None, {})

    def post(self, path: str, body: Mapping[str, Any], key: str | None = None) -> Any:
        """What a server answers to ``body``; a ``key`` names the request for good."""
        headers = {"Accept": f"{EXACT}, application/json"}
        return self._told("POST", path, body, headers | ({} if key is None else {KEY: key}))

    def close(self) -> None:
        """Let go of the server."""
        self._http.close()

    def _told(
        self, method: str, path: str, body: Mapping[str, Any] | None, headers: dict[str, str]
    ) -> Any:
        request = self._http.build_request(method, path, json=body, headers=headers)
        with self._waiting(f"Waiting for {self.url}") as tell:
            reply = self._sent(request, tell)
        told = _read(reply)
        if not reply.is_success:
            raise error_of(reply.status_code, told)
        return told

    def _sent(self, request: httpx.Request, tell: Tell) -> httpx.Response:
        """The reply to a request, which is sent until there is one."""
        reply = None
        for attempt in range(self._patience.tries):
            if attempt:
                seconds = self._pause(attempt, reply)
                tell(f"{self.url} is busy or away; asking again ({attempt + 1})")
                time.sleep(seconds)
            try:
                reply = self._http.send(request)
            except httpx.TransportError:
                reply = None
                continue
            if not _again(reply):
                return reply
        if reply is not None:
            return reply
        raise ConnectionLost(
            f"{self.url} did not answer, {self._patience.tries} times; whether it was charged "
            "is not known. Ask the same again: that is the same request, and is charged once."
        )

    def _pause(self, attempt: int, reply: httpx.Response | None) -> float:
        said = "" if reply is None else reply.headers.get("Retry-After", "")
        wanted = min(float(said), LONGEST_WANTED) if said.isdigit() else 0.0
        return max(self._patience.before(attempt), wanted)


def _again(reply: httpx.Response) -> bool:
    if reply.status_code == CONFLICT:
        return is_pending(_read(reply))
    return reply.status_code in BUSY


def _read(reply: httpx.Response) -> Any:
    try:
        return reply.json()
    except ValueError:
        return None
