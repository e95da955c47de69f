"""The HTTP transport: it sends a request until there is a reply, always the same request.

If a reply is lost, or the server is busy, the request is sent again with the same idempotency
key. While it waits, a terminal or a notebook shows a status line.
"""

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
"""A function that replaces the status line."""

Waiting = Callable[[str], AbstractContextManager[Tell]]
"""A context manager that shows a status line while its block runs."""


@contextmanager
def on_terminal(line: str, console: Console | None = None) -> Iterator[Tell]:
    """Show a status line on a terminal or in a notebook, and nothing elsewhere."""
    screen = console or Console(stderr=True)
    if not (screen.is_terminal or screen.is_jupyter):
        yield lambda _: None
        return
    with screen.status(Text(line)) as status:
        yield lambda text: status.update(Text(text))


# ------------------------------------------------------------------ transport

KEY = "Idempotency-Key"
EXACT = "application/vnd.tacit.release+json"
"""The media type of an answer with exact numbers, as the ledger stores it."""

BUSY = (429, 502, 503, 504)
CONFLICT = 409
CONNECT_SECONDS = 10.0
LONGEST_WANTED = 60.0
"""Largest number of seconds for which we wait at a server's request (Retry-After)."""


class Transport:
    """A connection to one server, with one token, which is never printed.

    Guarantee: a request that is sent again is the same request, with the same idempotency key.
    """

    def __init__(
        self, url: str, token: str, patience: RetryPolicy, waiting: Waiting = on_terminal
    ) -> None:
        self.url = url
        self._retry = patience
        self._waiting = waiting
        self._http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(patience.reply, connect=min(patience.reply, CONNECT_SECONDS)),
            follow_redirects=False,  # the token must not go to another server
        )

    def get(self, path: str) -> Any:
        """Return the server's reply at ``path``."""
        return self._request("GET", path, None, {})

    def text(self, path: str, accept: str) -> str:
        """Return the text of the server's reply at ``path``, in the media type ``accept``."""
        request = self._http.build_request("GET", path, headers={"Accept": accept})
        with self._waiting(f"Waiting for {self.url}") as tell:
            reply = self._send(request, tell)
        if not reply.is_success:
            raise error_of(reply.status_code, _read(reply))
        return reply.text

    def post(self, path: str, body: Mapping[str, Any], key: str | None = None) -> Any:
        """Send ``body``, with the idempotency key ``key`` if given, and return the reply."""
        headers = {"Accept": f"{EXACT}, application/json"}
        return self._request("POST", path, body, headers | ({} if key is None else {KEY: key}))

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None, headers: dict[str, str]
    ) -> Any:
        request = self._http.build_request(method, path, json=body, headers=headers)
        with self._waiting(f"Waiting for {self.url}") as tell:
            reply = self._send(request, tell)
        content = _read(reply)
        if not reply.is_success:
            raise error_of(reply.status_code, content)
        return content

    def _send(self, request: httpx.Request, tell: Tell) -> httpx.Response:
        """Send a request until there is a reply, and return the reply."""
        reply = None
        for attempt in range(self._retry.tries):
            if attempt:
                seconds = self._pause(attempt, reply)
                tell(f"{self.url} is busy or not reachable; trying again ({attempt + 1})")
                time.sleep(seconds)
            try:
                reply = self._http.send(request)
            except httpx.TransportError:
                reply = None
                continue
            if not _should_retry(reply):
                return reply
        if reply is not None:
            return reply
        if KEY not in request.headers:  # it charges nothing
            raise ConnectionLost(
                f"Nothing answered at {self.url}. Check the address, and that the server runs."
            )
        raise ConnectionLost(
            f"{self.url} did not respond to {self._retry.tries} attempts, and it is not known "
            "whether the question was charged. Ask the same question again: it is the same "
            "request, and is charged once."
        )

    def _pause(self, attempt: int, reply: httpx.Response | None) -> float:
        header = "" if reply is None else reply.headers.get("Retry-After", "")
        requested = min(float(header), LONGEST_WANTED) if header.isdigit() else 0.0
        return max(self._retry.before(attempt), requested)


def _should_retry(reply: httpx.Response) -> bool:
    if reply.status_code == CONFLICT:
        return is_pending(_read(reply))
    return reply.status_code in BUSY


def _read(reply: httpx.Response) -> Any:
    try:
        return reply.json()
    except ValueError:
        return None
