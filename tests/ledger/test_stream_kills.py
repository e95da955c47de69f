"""A stream killed between and inside its steps: none drawn twice, none lost, charged once.

`TACIT_STREAM_KILLS` says how often; `just campaign-streams` says 300.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from conftest import Bar
from streaming import PEOPLE, Redrawn, killed, opened, prepared, rows

from tacit.stream.sealed_noise import SealedNoise
from tacit.stream.step import Step

KILLS = int(os.environ.get("TACIT_STREAM_KILLS", "24"))
LIES, MORE = (5, 7, 9), 3
"""Cases that die when the noise is drawn and its step is not stored; steps after all kills."""
Seen = dict[tuple[str, int], set[str]]


def kill_all(
    address: str, horizon: int, cases: Iterable[int], kept: type[SealedNoise] = SealedNoise
) -> Seen:
    """What was ever told of each step: its noise, and its table."""
    seen: Seen = defaultdict(set)
    for number in cases:
        for what, step, text in killed(address, horizon, number, kept):
            seen[what, step].add(text)
    return seen


def twice(seen: Seen, what: str) -> int:
    return sum(len(told) > 1 for (kind, _), told in seen.items() if kind == what)


def test_a_killed_stream_draws_nothing_twice_and_loses_nothing(
    tmp_path: Path, bar: Bar
) -> None:
    address, horizon = prepared(tmp_path), 10 * KILLS
    seen = kill_all(address, horizon, range(KILLS))
    name = f"{KILLS} kills of a stream"
    with opened(address, horizon, lambda _: None) as running:
        reached = running.released
        bar(f"{name}: steps released by then", reached, "some, not all", 0 < reached < horizon)
        for _ in range(MORE):
            running.release()
        changed = sum(
            {repr(running.release(step).columns)} != told
            for (what, step), told in seen.items()
            if what == "table"
        )
        lost = sum(not matches(running, step) for step in range(reached + MORE))
        spent = running._place.ledger.status(PEOPLE.name).spent.amount
        running._place.ledger.verify(PEOPLE.name)
    for what, found in (
        ("steps whose noise was drawn twice", twice(seen, "noise")),
        ("steps released in two ways", twice(seen, "table")),
        ("tables that changed after they had left", changed),
        ("steps whose noise is not the kept one", lost),
    ):
        bar(f"{name}: {what}", found, "0", found == 0)
    bar(f"{name}: charged", str(spent), "1/2, once", spent == Fraction(1, 2))


def matches(running: object, number: int) -> bool:
    """Whether a step's release is its exact count with the noise that is kept for it."""
    place, quote, kept = running._place, running.quote, running._noise
    before, after = (
        Step.decode(body) if body else None
        for body in (
            place.ledger.stored_body(running._step_question(step).release_key)
            if step >= 0
            else None
            for step in (number - 1, number)
        )
    )
    noise = kept.at(number, lambda: 1 / 0)
    day = quote.stream.periods.ends(number)[0]
    table = [row for row in rows(quote.stream.horizon) if row["day"] == day]
    for place_, ward in enumerate(("north", "south")):
        exact = sum(row["ward"] == ward for row in table) * 2**quote.factor.bits
        earlier = int(before.totals[0][place_]) if before else 0
        if int(after.totals[0][place_]) - earlier != exact + int(noise[place_]):
            return False
    return True


def test_noise_that_is_drawn_when_asked_for_is_caught(tmp_path: Path, bar: Bar) -> None:
    seen = kill_all(prepared(tmp_path), 50, LIES, Redrawn)
    found = twice(seen, "noise")
    bar("lie: noise not kept, 3 kills: drawn twice", found, "at least 1", found > 0)
