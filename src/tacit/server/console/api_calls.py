"""Calls of the HTTP API from inside the server that offers it.

The console renders what the API answers. It calls the same application with a request that it
builds in memory: with the visitor's token, through the same guard, limits, queue and lanes. So
a page can show nothing that its visitor could not get with ``curl``.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlencode

from fastapi import Request
from starlette.types import ASGIApp, Message

CARRIED = ("principal", "charge", "failed")
"""Facts that the API logs about a request, and that the log line of a page has too."""

CALLS_OF_PAGE = 12
"""Calls that count as one request for the limit of requests, if one page makes them."""

TOO_MANY = 429

SLASHED = {
    "error": {
        "code": "not_found",
        "message": "There is nothing with this name over HTTP: a name with a slash cannot be a "
        "part of an address.",
        "next": "Ask an owner for another name, or use the command line.",
    }
}
"""The answer for a name with a slash: it would be two parts of a path, and another route."""


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """An answer of the API: its status, its headers in lower case, and its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


class ApiRefused(Exception):
    """The API refused a request; its error is shown to the visitor as it is."""

    def __init__(self, answer: ApiAnswer) -> None:
        self.error: dict[str, Any] = {"code": "failed", "message": "The server failed."}
        with suppress(ValueError, LookupError, TypeError):
            self.error |= answer.json["error"]
        self.status = answer.status
        self.answer = answer
        wait = answer.headers.get("retry-after", "")
        self.wait_seconds = int(wait) if wait.isdecimal() else None
        super().__init__(self.error["message"])


def path_of(template: str, *names: str | int) -> str:
    """Return a path of the API with ``names`` in the places of ``{}``, each escaped.

    Example:
        >>> path_of("/v1/ledger/{}/verify", "a/b ?")
        '/v1/ledger/a%2Fb%20%3F/verify'
    """
    return template.format(*(quote(str(name), safe="") for name in names))


async def call_api(  # noqa: PLR0913 - an HTTP request has so many parts
    api: ASGIApp,
    method: str,
    path: str,
    token: str,
    *,
    outer: Request,
    body: Any = None,
    query: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> ApiAnswer:
    """Send one request to the application ``api`` and return its answer.

    ``outer`` is the request for the page: its client is the client of the call. The call ends
    when the browser goes away, as a request over a connection would. A page counts as one
    request for the limit of requests, however many calls it needs, up to `CALLS_OF_PAGE`. An
    error of the server itself is an answer too.
    """
    if "%2f" in path.lower():
        return ApiAnswer(404, {}, json.dumps(SLASHED).encode())
    content = b"" if body is None else json.dumps(body).encode()
    sent = {"accept": "application/json", "authorization": f"Bearer {token}"}
    sent |= {"content-length": str(len(content)), "host": "console"}
    sent |= {} if body is None else {"content-type": "application/json"}
    sent |= {name.lower(): value for name, value in (headers or {}).items()}
    pairs = [(name, value) for name, value in (query or {}).items() if value is not None]
    logged = outer.scope.setdefault("tacit", {})
    made = logged.get("calls", 0)
    facts: dict[str, Any] = {"is_counted": 0 < made < CALLS_OF_PAGE}
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("ascii"),
        "query_string": urlencode(pairs, doseq=True).encode("ascii"),
        "root_path": "",
        "headers": [
            (name.encode(), value.encode("latin-1", "replace")) for name, value in sent.items()
        ],
        "client": outer.scope.get("client"),
        "server": outer.scope.get("server"),
        "state": dict(outer.scope.get("state", {})),
        "tacit": facts,
    }
    parts: list[bytes] = []
    start: dict[str, Any] = {}
    given = False

    async def receive() -> Message:
        nonlocal given
        if given:
            while (message := await outer.receive())["type"] != "http.disconnect":
                pass  # the page has read its own body
            return message
        given = True
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            parts.append(message.get("body", b""))

    try:
        await api(scope, receive, send)
    except Exception as error:
        facts["failed"] = type(error).__name__  # the API has answered it with a text of its own
        if not start:
            raise
    if start["status"] != TOO_MANY:
        logged["calls"] = logged.get("calls", 0) + 1
    logged.update({name: facts[name] for name in CARRIED if name in facts})
    found = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
    return ApiAnswer(start["status"], found, b"".join(parts))
