"""The thread that watches the ledger says what is wrong, once, and goes on."""

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from tacit.errors import LedgerBroken, StoreFailed
from tacit.server.checkpoints import BROKEN, LedgerWatch


class Watched:
    """A curator whose ledger can be broken, the log, and what owners were notified of."""

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self.lines: list[dict[str, Any]] = []
        self.notices: list[str] = []
        ledger = SimpleNamespace(populations=lambda: (), check_kept=self._check)
        self._curator = SimpleNamespace(home=SimpleNamespace(ledger=ledger, anchors=None))
        self.watch = LedgerWatch(
            self,  # type: ignore[arg-type]
            self.lines.append,
            self.notices.append,
        )

    def _check(self) -> None:
        if self.fault is not None:
            raise self.fault

    @contextmanager
    def borrow(self) -> Any:
        yield self._curator

    def look(self, fault: Exception | None) -> bool:
        self.fault = fault
        self.watch.look()
        return self.watch.is_sound


def test_a_broken_ledger_is_logged_and_told_once_and_until_it_is_sound() -> None:
    watched = Watched()
    assert watched.look(None)
    assert (watched.lines, watched.notices) == ([], [])
    for _ in range(3):
        assert not watched.look(LedgerBroken("It is older."))
    [line] = watched.lines
    assert (line["ledger"], line["why"]) == ("broken", "It is older.")
    assert watched.notices == [BROKEN]
    assert not watched.look(LedgerBroken("It is another one."))
    assert len(watched.lines) == 2
    assert watched.notices == [BROKEN]
    assert watched.look(None)
    assert not watched.look(LedgerBroken("It is older."))
    assert watched.notices == [BROKEN, BROKEN]


def test_a_store_that_is_away_changes_nothing_and_is_logged() -> None:
    watched = Watched()
    assert watched.look(StoreFailed("It is away."))
    assert [each["why"] for each in watched.lines] == ["It is away."]
    assert not watched.look(LedgerBroken("It is older."))
    assert not watched.look(StoreFailed("It is away."))  # it is not known to be sound again
    assert watched.notices == [BROKEN]


def test_of_an_error_of_others_the_log_has_the_kind_alone() -> None:
    watched = Watched()
    assert watched.look(ZeroDivisionError("a secret"))
    assert [each["why"] for each in watched.lines] == ["ZeroDivisionError"]
