"""Streams whose process dies: where it is killed follows from the number of its case alone."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from fractions import Fraction
from hashlib import sha256
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Column, Keys, Kind, Schema
from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.engines.reference import Reference
from tacit.ledger.ledger import Ledger
from tacit.ledger.sealed_states import ChainWitness
from tacit.noise.integers import Integers
from tacit.plan.expression import Span
from tacit.sql.parser import parse
from tacit.store.connect import open_store
from tacit.store.sealed_state import SealingKey, States
from tacit.store.store import Store
from tacit.stream.factor import ALL
from tacit.stream.open_stream import OpenStream, Place
from tacit.stream.quote import price_stream
from tacit.stream.sealed_noise import SealedNoise
from tacit.stream.stream import Periods, Stream

PEOPLE = Population("patients", PrivacyUnit("person"))
FIRST, PATIENCE, LONGEST = date(2026, 1, 1), 60, 0.15
WARDS = ("north", "south")
POINTS = tuple(
    f"{when} {what}"
    for what in ("seal", "run", "keep", "reserve")
    for when in ("before", "after")
)
"""Inside a step: around sealing its noise, asking the engine, and storing what it releases."""

CATALOG = Catalog(
    (PEOPLE,),
    (
        Dataset(
            name="visits",
            population="patients",
            schema=Schema(
                (
                    Column("patient", Kind.INTEGER),
                    Column("ward", Kind.TEXT, keys=Keys(WARDS)),
                    Column("day", Kind.DATE),
                )
            ),
            unit=UnitColumn("patient"),
            limits=Limits(max_groups=1, max_rows=1),
            location=Location("here", ("visits",)),
            epoch=Epoch("1"),
        ),
    ),
)

Reach = Callable[[str], None]
LATER = 4_102_444_800_000
"""In 2100, when all periods of these streams are over."""


def stream(horizon: int) -> Stream:
    plan = parse("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", CATALOG)
    periods = Periods("day", Span.DAYS, FIRST, horizon)
    return Stream(plan, periods, Loss.zcdp("0.5"), ALL, 1)


def rows(horizon: int) -> list[dict[str, Any]]:
    """Each day one row more than the day before, in turns of wards."""
    days = [day for day in range(horizon) for _ in range(day % 5 + 1)]
    return [
        {"patient": number, "ward": WARDS[number % 2], "day": FIRST + timedelta(days=day)}
        for number, day in enumerate(days)
    ]


class Watched:
    """A part of a stream that tells when one of its calls begins and ends."""

    def __init__(self, part: Any, call: str, name: str, reach: Reach) -> None:
        self._part, self._call, self._name, self._reach = part, call, name, reach

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if name != self._call:
            return found

        def watched(*given: Any, **named: Any) -> Any:
            self._reach(f"before {self._name}")
            done = found(*given, **named)
            self._reach(f"after {self._name}")
            return done

        return watched


def watched(ledger: Ledger, reach: Reach) -> Any:
    """A ledger that tells when the horizon or a step is charged, and when a step is stored."""
    found: Any = ledger
    for call in ("enter", "reserve", "keep"):
        found = Watched(found, call, call, reach)
    return found


class Redrawn(SealedNoise):
    """The lie: noise that is drawn when it is asked for, and not looked up."""

    def at(self, number: int, draw: Callable[[], Integers]) -> Integers:
        return self._factor.next(number, (), draw())[0]


def _states(store: Store) -> States:
    return States(store, SealingKey(bytes(32)), ChainWitness()).of(PEOPLE.name)


@contextmanager
def opened(
    address: str, horizon: int, reach: Reach, kept: type[SealedNoise] = SealedNoise
) -> Iterator[OpenStream]:
    with closing(open_store(address)) as store:
        ledger, states = Ledger(store, clock=lambda: LATER), _states(store)
        place = Place(
            ledger=watched(ledger, reach),
            states=Watched(states, "change", "seal", reach),  # type: ignore[arg-type]
            engine=Watched(Reference({("visits",): rows(horizon)}), "run", "run", reach),
            catalog=CATALOG,
            salt=b"salt",
            principal="ann",
            policy="1",
        )
        running = OpenStream(price_stream(stream(horizon), place.catalog), place)
        running._noise = kept(place.states, running._noise._name, running.quote.factor)
        yield running


def release(
    address: str, horizon: int, number: int, pipe: Connection, kept: type[SealedNoise]
) -> None:
    """Release step after step, and send each, until killed at the point of the case."""
    made = Random(number)  # noqa: S311 - a test that can be repeated
    point = POINTS[number // 2 % len(POINTS)] if number % 2 else None
    left = made.randrange(1, 4)

    def reach(at: str) -> None:
        nonlocal left
        if at == point:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    with opened(address, horizon, reach, kept) as running:
        noise = running._noise.at

        def told(step: int, draw: Callable[[], Integers]) -> Integers:
            found = noise(step, draw)
            pipe.send(("noise", step, sha256(str(found.tolist()).encode()).hexdigest()))
            return found

        running._noise.at = told  # type: ignore[method-assign]
        pipe.send(("open", 0, ""))
        while (step := running.released) < horizon:
            pipe.send(("table", step, repr(running.release(step).columns)))


def killed(
    address: str, horizon: int, number: int, kept: type[SealedNoise] = SealedNoise
) -> list[tuple[str, int, str]]:
    """What a process sent before it was killed, or was done."""
    context = get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process: BaseProcess = context.Process(
        target=release, args=(address, horizon, number, theirs, kept)
    )
    process.start()
    theirs.close()
    if number % 2 == 0:
        mine.poll(PATIENCE)
        time.sleep(Random(number).uniform(0, LONGEST))  # noqa: S311
        process.kill()
    found = []
    try:
        while True:
            found.append(mine.recv())
    except (EOFError, OSError):
        pass
    process.join(PATIENCE)
    process.close()
    return found


def prepared(place: Path) -> str:
    """A new store with a budget for one such stream, and no second one."""
    address = f"sqlite:///{place}/ledger.db"
    with closing(open_store(address)) as store:
        budget = Budget(Loss.zcdp("0.5"), Fraction(1, 10**6))
        Ledger(store).open_budget(PEOPLE, budget, ("ann",), by="ann")
    return address
