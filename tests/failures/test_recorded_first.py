"""A failure is recorded before anybody is told of it, and whether or not they can be told."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from asking import ask, open_pure, population

import tacit
from tacit.core.event import Nothing
from tacit.errors import EngineUnreachable
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.query.below_charge import ENGINE, NOISE, Broken, Trouble, run_below

Ends = list[Callable[[], bytes]]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger with one population, which olga owns."""
    with tacit.open(
        pd.DataFrame({"who": ["a"]}),
        population="people",
        unit="who",
        max_groups=1,
        max_rows=1,
        table="people",
        folder=tmp_path,
        budget=(3, "1e-6"),
    ) as session:
        open_pure(session.ledger, name="law")
        yield session.ledger


def breaks(stage: str, *, drawn: bool) -> Callable[[], bytes]:
    def attempt() -> bytes:
        raise Broken(stage, drawn=drawn)

    return attempt


def raises(error: Exception) -> Callable[[], bytes]:
    def attempt() -> bytes:
        raise error

    return attempt


def run(ledger: Ledger, ends: Ends, tell: Callable[[Trouble], None]) -> StoredRelease:
    """Charge for something, and let its attempts end one after the other as they are given."""
    charge = ledger.reserve(ask("a", of=population("law"), event=Nothing()), lease_ms=60_000)
    assert isinstance(charge, Charge)
    left = iter(ends)
    return run_below(ledger, charge, lambda _: next(left)(), tell=tell)


def full_disk(_: Trouble) -> None:
    raise OSError(28, "No space left on device")


FAILURES: dict[str, Ends] = {
    "after a draw": [breaks(NOISE, drawn=True)],
    "twice": [breaks(ENGINE, drawn=False), breaks(ENGINE, drawn=False)],
    "by something that nobody foresaw": [raises(RuntimeError("p17 earns 66"))],
    "by a pipe to a worker": [raises(BrokenPipeError())],
}


@pytest.mark.parametrize("ends", FAILURES.values(), ids=FAILURES)
def test_a_failure_locks_where_its_log_cannot_be_written(ledger: Ledger, ends: Ends) -> None:
    with pytest.raises(Broken) as caught:
        run(ledger, ends, full_disk)
    assert caught.value.__cause__ is None
    assert "p17" not in str(caught.value)
    status = ledger.status("law")
    assert (status.failed, status.locked) == (1, True)


def test_a_failure_stands_in_the_chain_when_somebody_hears_of_it(ledger: Ledger) -> None:
    seen: list[tuple[str, int, int]] = []

    def tell(trouble: Trouble) -> None:
        status = ledger.status("law")
        seen.append((trouble.what, status.retried, status.failed))

    with pytest.raises(Broken):
        run(ledger, FAILURES["twice"], tell)
    assert seen == [("retried", 1, 0), ("failed", 1, 1)]


def test_what_was_paid_for_is_answered_where_a_log_cannot_be_written(ledger: Ledger) -> None:
    ends: Ends = [breaks(ENGINE, drawn=False), lambda: b"an answer"]
    assert run(ledger, ends, full_disk).body == b"an answer"
    assert (ledger.status("law").retried, ledger.status("law").locked) == (1, False)


def test_an_outage_waits_where_a_log_cannot_be_written(ledger: Ledger) -> None:
    with pytest.raises(EngineUnreachable):
        run(ledger, [raises(EngineUnreachable("down"))], full_disk)
    assert ledger.status("law").failed == 0
