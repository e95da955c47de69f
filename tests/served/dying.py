"""Servers that kill themselves at a named point of the path of a question (TD-1)."""

import os
import signal
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from crashing import Case
from instances import Seed

from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.server import app
from tacit.session import ask as path

ASKED = "/v1/ask"


def dying(case: Case, seed: Seed) -> Seed:
    """A server that lies as ``seed`` does, and dies where ``case`` has a point."""
    return seed if case.point is None else partial(_die, case.point, case.at_question, seed)


def _die(point: str, at_question: int, seed: Seed) -> None:
    seed()
    times = count()

    def reach(name: str) -> None:
        if name == point and next(times) >= at_question:
            os.kill(os.getpid(), signal.SIGKILL)

    _below(reach)
    _sent(reach)


def _below(reach: Callable[[str], None]) -> None:
    """Tell of the steps between the price of a question and its stored answer."""
    reserve, below = Ledger.reserve, path.run_below

    def charged(
        ledger: Ledger, question: ChargeRequest, *, lease_ms: int
    ) -> Charge | StoredRelease:
        reach("before reserve")
        found = reserve(ledger, question, lease_ms=lease_ms)
        reach("after reserve")
        return found

    def stored(
        ledger: Ledger, paid: Charge, once: Callable[[Charge], bytes], **given: Any
    ) -> StoredRelease:
        def ran(paid: Charge) -> bytes:
            reach("before run")
            body = once(paid)
            reach("after run")
            reach("before keep")
            return body

        found = below(ledger, paid, ran, **given)
        reach("after keep")
        return found

    Ledger.reserve, path.run_below = charged, stored  # type: ignore[method-assign]


def _sent(reach: Callable[[str], None]) -> None:
    """Tell of the moments before and after the answer is written to the socket."""
    watched_app = app.watched_app

    def told(*given: Any) -> Any:
        inner = watched_app(*given)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            async def sent(message: Any) -> None:
                last = (scope.get("path"), message["type"]) == (ASKED, "http.response.body")
                if last:
                    reach("before answer")
                await send(message)
                if last:
                    reach("after answer")

            await inner(scope, receive, sent)

        return app

    app.watched_app = told
