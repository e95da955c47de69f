"""Around the whole app: one line of log a request, and no error that is not in our words."""

import json
import time
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.server.refusal import refusal_of
from tacit.server.traffic import Traffic

UNMATCHED = "-"
"""The route of a request that fits none: its path is not repeated."""

Write = Callable[[str], Any]


def outliving(write: Write) -> Write:
    """``write``, where a log that cannot be written any more stops nothing but itself.

    A pipe whose reader has gone, a full disk, or a closed stream must not end a request that
    was paid for, nor the thread that looks for new declarations.
    """

    def written(line: str) -> object:
        try:
            return write(line)
        except (OSError, ValueError):
            return None

    return written


class Watch:
    """Logs and counts each request: its route's template, never a part of what was asked."""

    def __init__(self, app: ASGIApp, traffic: Traffic, write: Write) -> None:
        self._app = app
        self._traffic = traffic
        self._write = outliving(write)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, told = time.monotonic(), scope.setdefault("tacit", {})

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except Exception as error:  # noqa: BLE001 - its words may hold a value, its kind does not
            told["failed"] = type(error).__name__
            if "status" not in told:
                await refusal_of(error).response()(scope, receive, sent)
        finally:
            self._log(scope, told, time.monotonic() - began)

    def _log(self, scope: Scope, told: dict[str, Any], seconds: float) -> None:
        route, status = told.get("route", UNMATCHED), told.get("status", 0)
        self._traffic.add(route, status, seconds)
        line = {
            "at": time.time_ns() // 1_000_000,
            "method": scope["method"] if route != UNMATCHED else UNMATCHED,
            "route": route,
            "status": status,
            "principal": told.get("principal"),
            "ms": round(1000 * seconds, 1),
            "charge": told.get("charge"),
            "failed": told.get("failed"),
        }
        self._write(
            json.dumps({name: part for name, part in line.items() if part is not None}) + "\n"
        )
