"""Readiness is the last result of a check, and says so when checks end no more."""

from contextlib import contextmanager
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.errors import LedgerBroken, StoreFailed
from tacit.server import readiness
from tacit.server.readiness import ANCHOR_CHECKS, LONGEST_CHECK, Readiness


class Parts:
    """A curator whose store, workers and anchor can fail."""

    def __init__(self) -> None:
        self.fails: dict[str, Exception] = {}
        self.dead = False
        self.curator = SimpleNamespace(
            home=SimpleNamespace(
                ledger=SimpleNamespace(numbers=lambda: self._use("store")),
                mark=SimpleNamespace(check=lambda _: self._use("anchor")),
                store=None,
                anchors=SimpleNamespace(is_current=True),
            ),
            pools={"warehouse": SimpleNamespace(replace_dead=lambda: not self.dead)},
        )

    def _use(self, name: str) -> None:
        if name in self.fails:
            raise self.fails[name]

    @contextmanager
    def borrow(self) -> Any:
        yield self.curator


def checked(parts: Parts, times: int = 1) -> dict[str, bool]:
    readiness = Readiness(parts)  # type: ignore[arg-type]
    for _ in range(times):
        readiness.check_store()
        readiness.check_workers()
    return readiness.parts()


def test_each_part_is_told_apart() -> None:
    parts = Parts()
    assert checked(parts) == {"store": True, "workers": True, "anchor": True, "ledger": True}
    parts.dead = True
    assert checked(parts) == {"store": True, "workers": False, "anchor": True, "ledger": True}
    parts.fails["anchor"] = LedgerBroken("It is older.")
    assert checked(parts) == {"store": True, "workers": False, "anchor": False, "ledger": True}
    parts.fails.pop("anchor")
    parts.curator.home.anchors.is_current = False  # no anchor can be written
    assert checked(parts, 10)["anchor"] is False
    parts.fails["store"] = StoreFailed("It is away.")
    assert checked(parts)["store"] is False


def test_an_error_of_any_kind_does_not_end_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "PAUSE_SECONDS", 0.001)
    parts, second = Parts(), Event()
    errors = iter([ZeroDivisionError("unexpected")])

    def check() -> None:
        for error in errors:
            raise error
        second.set()

    checks = Readiness(parts)  # type: ignore[arg-type]
    thread = Thread(target=checks._watch, args=(check,))
    thread.start()
    assert second.wait(30)
    checks.close()
    checks._ended.set()
    thread.join()


def test_the_anchor_is_compared_again_and_again_but_not_each_time() -> None:
    parts, seen = Parts(), []
    parts.curator.home.mark.check = seen.append
    checked(parts, 2 * ANCHOR_CHECKS)
    assert len(seen) == 2


@pytest.mark.parametrize(("seconds", "known"), [(LONGEST_CHECK, True), (60.0, False)])
def test_a_check_that_does_not_end_means_that_the_store_does_not_respond(
    seconds: float, known: object
) -> None:
    now = [0.0]
    readiness = Readiness(Parts(), lambda: now[0])  # type: ignore[arg-type]
    readiness.check_store()
    now[0] += seconds
    assert readiness.parts()["store"] is known
