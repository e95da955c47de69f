"""Requests that are lost, sent again, reordered and replayed: one charge, and one answer."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conftest import Bar
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from replaying import Replays
from sqlalchemy import bindparam, delete, select

from tacit.errors import AnswerLost
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.ledger.reserve import _own_charge
from tacit.store.tables import requests

RUNS = int(os.environ.get("TACIT_REPLAYS", settings.default.max_examples))
STEPS = 50

_mine = (requests.c.principal == bindparam("who")) & (requests.c.request == bindparam("key"))
_FORGET = delete(requests).where(_mine)
_PLACES = select(requests.c.places).where(_mine)


class Forgetful(Ledger):
    """Knows no request again: each one that is sent twice is charged twice."""

    def reserve(self, question: ChargeRequest, *, lease_ms: int) -> Charge | StoredRelease:
        with self._store.writing() as work:
            work.run(_FORGET, {"who": question.principal, "key": question.request_key})
        return super().reserve(question, lease_ms=lease_ms)


class Redrawing(Ledger):
    """Runs what was charged once more, where its answer was lost."""

    def reserve(self, question: ChargeRequest, *, lease_ms: int) -> Charge | StoredRelease:
        try:
            return super().reserve(question, lease_ms=lease_ms)
        except AnswerLost:
            who = {"who": question.principal, "key": question.request_key}
            with self._store.reading() as work:
                (places,) = work.one(_PLACES, who) or ("",)
                return _own_charge(work, question, places)


class Hasty(Ledger):
    """Lets out what was just drawn, and not what is stored."""

    def keep(self, charge: Charge, body: bytes) -> StoredRelease:
        super().keep(charge, body)
        return StoredRelease(body, charge.receipt)


@pytest.fixture
def in_memory() -> Iterator[str]:
    """A real SQLite file where a sync costs nothing: nothing here is about disks."""
    memory = Path("/dev/shm")  # noqa: S108
    with TemporaryDirectory(dir=memory if memory.exists() else None) as folder:
        yield f"sqlite:///{folder}/ledger.db"


def replay(address: str, runs: int, ledger_type: type[Ledger] = Ledger) -> Counter[str]:
    class Here(Replays):
        pass

    Here.address, Here.ledger_type, Here.tally = address, ledger_type, Counter()
    honest = ledger_type is Ledger
    how = settings(
        max_examples=runs,
        stateful_step_count=STEPS,
        phases=settings.default.phases if honest else [Phase.generate],
        database=settings.default.database if honest else None,
    )
    run_state_machine_as_test(Here, settings=how)
    return Here.tally


def test_one_charge_and_at_most_one_answer_for_each_key(in_memory: str, bar: Bar) -> None:
    tally = replay(in_memory, RUNS)
    runs, steps = tally["runs"], tally["steps"]
    bar("replays: runs without a second charge or answer", runs, f"{RUNS}", runs >= RUNS)
    bar(
        "replays: steps after which all of it was checked",
        steps,
        f"{10 * RUNS}",
        steps >= 10 * RUNS,
    )
    met = {name.removeprefix("met by "): tally[name] for name in sorted(tally) if "by" in name}
    enough = len(met) == 6 or RUNS < 100
    bar("replays: requests by what they met", met, "all six, in 100 runs", enough)


def test_the_same_on_postgresql(new_store: Callable[[str], str]) -> None:
    assert replay(new_store("postgresql"), 10)["steps"] > 100


@pytest.mark.parametrize("lie", [Forgetful, Redrawing, Hasty])
def test_a_ledger_that_forgets_redraws_or_hurries_is_caught(
    in_memory: str, lie: type[Ledger]
) -> None:
    with pytest.raises(AssertionError):
        replay(in_memory, 200, lie)
