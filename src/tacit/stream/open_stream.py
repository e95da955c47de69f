"""Release the steps of a stream: the horizon is charged once, and each step is stored once.

`OpenStream` is the interface. A step is stored in the ledger under its own release key with a
loss of zero, because the first step charged the whole horizon. The noise of a step is sealed
in the store before the engine reads any row (see `tacit.stream.sealed_noise`), so that a step
that is computed again after a crash has the same noise.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from hashlib import sha256

from tacit.core import Catalog, Nothing, ReleaseDates
from tacit.engines import Engine
from tacit.errors import AnswerLost, AnswerPending, Conflict, InternalError, InvalidValue
from tacit.ledger import Charge, ChargeRequest, Ledger, StoredRelease, Target
from tacit.noise import Integers
from tacit.numeric.entropy import SystemEntropy, fresh_bytes
from tacit.query import (
    ENCODE,
    Keep,
    PaidWork,
    Progress,
    Tell,
    attempt,
    nobody,
    rehearse_step,
    run_below,
)
from tacit.store import State, States
from tacit.stream.quote import StreamQuote, bounded_step
from tacit.stream.sealed_noise import SealedNoise
from tacit.stream.step import Step, StreamRelease, fresh_noise, released_step, table_of
from tacit.stream.stream import Stream, check_covered, check_over

RACES = 100
"""Number of attempts to release a step that another process releases at the same time."""

FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.2
"""Seconds before the second attempt, and the longest pause between two attempts."""


def race() -> Iterator[None]:
    """Yield once for each attempt, with a pause between two attempts.

    An attempt replaces the attempt of another process, so that processes which try again at
    once could prevent each other for ever. The pauses grow, and their lengths are random, so
    that one process soon has enough time to finish.
    """
    longest = FIRST_PAUSE
    yield
    for _ in range(RACES - 1):
        time.sleep(longest * int.from_bytes(fresh_bytes(2)) / 2**16)
        longest = min(2 * longest, LONGEST_PAUSE)
        yield


@dataclass(frozen=True, slots=True)
class Place:
    """The environment of a stream: ledger, sealed states, engine, catalog and principal.

    ``facts`` are the declarations that a stream uses, and ``policy`` is their version. Version
    0.1.0 identified a stream by all declarations of its tables; ``former`` is that version of
    the policy.
    """

    ledger: Ledger
    states: States
    engine: Engine
    catalog: Catalog
    salt: bytes
    principal: str
    policy: str
    tell: Tell = nobody
    facts: tuple[str, ...] = ()
    former: str | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """A sealed state that allows or forbids further steps of a stream.

    ``check`` reads the state, and raises `Withdrawn` where no further step may be released. It
    runs before the engine does, and again in the transaction that stores a step.
    """

    states: States
    name: str
    check: Callable[[bytes], None]

    def keep(self, ledger: Ledger, charge: Charge, body: bytes) -> StoredRelease:
        """Store ``body``, after a check of the state in the same transaction."""

        def decide(found: State) -> tuple[bytes, bytes]:
            self.check(found.value)
            return body, found.value

        return ledger.take_turn(charge, self.states, self.name, decide)


class OpenStream:
    """A stream whose steps can be released. The first step charges the whole horizon.

    Guarantee: a step is released once, after all steps before it, and a repeated request
    returns the same bytes. A crash at any moment neither draws a step's noise twice nor loses
    it, and the horizon is charged once. Windowed sums are post-processing of released steps.
    """

    def __init__(self, quote: StreamQuote, place: Place, guard: Guard | None = None) -> None:
        self.quote = quote
        self._guard = guard
        self._place = _with_charged_policy(self.quote, place)
        self._question = _charge_request(self.quote, self._place)
        name = f"noise of stream {self._question.release_key.hex()}"
        self._noise = SealedNoise(place.states, name, self.quote.factor)
        self._last: Step | None = None
        self._receipt = b""
        self._charged: date | None = None

    @property
    def stream(self) -> Stream:
        """The declaration of the stream."""
        return self.quote.stream

    @property
    def policy(self) -> str:
        """The version of the declarations under which the stream is charged."""
        return self._place.policy

    @property
    def facts(self) -> tuple[str, ...]:
        """The declarations that the stream uses, as they are now."""
        return self._place.facts

    @property
    def charged(self) -> bool:
        """Whether the horizon is already charged, by this process or another."""
        return self._place.ledger.stored_body(self._question.release_key) is not None

    def under(self, policy: str) -> "OpenStream":
        """Return the same stream as it was charged under ``policy``."""
        place = replace(self._place, policy=policy, former=None)
        return OpenStream(self.quote, place, self._guard)

    def with_guard(self, guard: Guard) -> "OpenStream":
        """Return the same stream with a guard, which is checked before each step is stored."""
        return OpenStream(self.quote, self._place, guard)

    def start(self) -> bytes:
        """Charge the whole horizon once, and return the receipt of that charge."""
        if not self._receipt:
            said = f"tacit stream 1\n{self.stream.hash.hex()}".encode()
            self._receipt = self._place.ledger.enter(self._question, said).receipt
        return self._receipt

    @property
    def released(self) -> int:
        """The number of steps that are released so far, by this process or another.

        Steps are released in order, so a galloping search finds the first one that is missing.
        """
        low, high = 0, self.stream.horizon  # steps below low are released, from high on not
        if self._last is not None:
            low = self._last.number + 1
        reach = 1
        while low < high and self._find(min(low + reach, high) - 1) is not None:
            low, reach = min(low + reach, high), 2 * reach
        high = min(high, low + reach)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._find(middle) else (low, middle)
        return low

    def release(self, number: int | None = None) -> StreamRelease:
        """Return the table of step ``number``, counted from 0; the default is the next step."""
        wanted = self.released if number is None else number
        return self._windowed_table(self.advance(wanted))

    def advance(self, number: int) -> Step:
        """Return step ``number`` in its stored form, and release it if it is not yet stored."""
        if not 0 <= number < self.stream.horizon:
            steps = "1 step" if self.stream.horizon == 1 else f"{self.stream.horizon} steps"
            raise InvalidValue(
                f"This stream has {steps}, and step {number} is not one of them. If all steps "
                "are released, declare a new stream to continue."
            )
        return self._find(number) or self._next(number)

    def _windowed_table(self, step: Step) -> StreamRelease:
        width = self.stream.window.steps
        first = None if width is None or step.number < width else step.number - width
        earlier = None if first is None else self._find(first)
        name = self.quote.population.name
        status = self._place.ledger.status(name)
        noted, delta = status.record.assumptions, status.conversion_delta
        receipt = self.start()
        if self._charged is None:
            self._charged = self._place.ledger.day_charged(name, receipt)
        table = table_of(self.quote, step, earlier, receipt, noted, delta)
        return replace(table, dates=ReleaseDates(self._charged))

    def _next(self, number: int) -> Step:
        """Release a step; its noise is sealed in the store before the engine reads a row."""
        self._check_due(number)
        place, guard = self._place, self._guard
        if guard is not None:
            guard.check(guard.states.find(guard.name).value)
        plan = bounded_step(self.stream, number, place.catalog).plan
        rehearse_step(plan, place.engine, place.catalog, place.salt)
        receipt = self.start()
        before = self._find(number - 1) if number else None
        if number and before is None:
            raise InvalidValue(
                f"Steps must be released in order, and the next step is {self.released}."
            )
        entropy = SystemEntropy(receipt)
        for _ in race():
            with suppress(Conflict, AnswerLost, AnswerPending):
                charge = place.ledger.reserve(
                    attempt_at(self._step_question(number)), lease_ms=0
                )
                if isinstance(charge, StoredRelease):
                    return Step.decode(charge.body)
                noise = self._noise.at(number, lambda: fresh_noise(self.quote, entropy))
                work = StepWork(self.quote, place, before, noise)
                keep = None if guard is None else partial(guard.keep, place.ledger)
                stored = run_work(place, charge, work, keep)
                self._last = Step.decode(stored.body)
                return self._last
            found = self._find(number)
            if found is not None:
                return found
        raise InternalError(
            "Too many processes release this step at the same time, or the stored noise of the "
            "stream is ahead of its released steps. Try again later."
        )

    def _check_due(self, number: int) -> None:
        """Raise for a step whose data cannot be complete, because its release is final."""
        periods, place = self.stream.periods, self._place
        check_over(periods, number, place.ledger.today())
        tables = self.quote.bound.plan.source.datasets
        check_covered(periods, number, place.catalog, tables)

    def _find(self, number: int) -> Step | None:
        """Return a released step, or None if it is not yet released."""
        if self._last is not None and self._last.number == number:
            return self._last
        body = self._place.ledger.stored_body(self._step_question(number).release_key)
        return None if body is None else Step.decode(body)

    def _step_question(self, number: int) -> ChargeRequest:
        name = sha256(b"tacit step %d\n" % number + self._question.release_key).digest()
        question = replace(
            self._question,
            targets=(Target(self.quote.population, Nothing()),),
            plan=name,
            loss=self.stream.loss * 0,
            price_delta=self.quote.price_delta * 0,
        )
        return replace(question, request=question.release_key.hex())


@dataclass(frozen=True, slots=True)
class StepWork:
    """The work of a step below its charge: run the plan, add the stored noise, encode.

    The noise was drawn and sealed before the engine runs, so that every attempt to release the
    step adds the same noise.
    """

    quote: StreamQuote
    place: Place
    before: Step | None
    noise: Integers = field(repr=False)

    def __call__(self, engine: Engine, progress: Progress) -> bytes:
        """Return the encoded step."""
        number = 0 if self.before is None else self.before.number + 1
        catalog, salt = self.place.catalog, self.place.salt
        plan = bounded_step(self.quote.stream, number, catalog).plan
        table = engine.run(plan, catalog, salt)
        gateway = progress.gateway_for(b"a step draws nothing")
        step = released_step(self.quote, self.before, self.noise, table, gateway)
        progress.stage = ENCODE
        return step.encode()


def run_work(
    place: Place, charge: Charge, work: PaidWork, keep: Keep | None = None
) -> StoredRelease:
    """Run ``work`` for ``charge`` in the same way as every paid query, and store its result."""
    return run_below(
        place.ledger,
        charge,
        lambda _: attempt(work, place.engine, Progress()),
        tell=place.tell,
        keep=keep,
    )


def attempt_at(question: ChargeRequest) -> ChargeRequest:
    """Return ``question`` with a fresh request identifier.

    Steps and shares have a loss of zero, so each attempt can have its own charge. If a process
    is killed during an attempt, the next attempt does not have to wait for it.
    """
    return replace(question, request=f"{question.release_key.hex()} {fresh_bytes(16).hex()}")


def _with_charged_policy(quote: StreamQuote, place: Place) -> Place:
    """Return the environment of the stream with the policy version of its charge.

    A stream that version 0.1.0 charged continues under the policy of that version.
    """
    if place.former is None:
        return place
    former = replace(place, policy=place.former, former=None)
    for known in (replace(place, former=None), former):
        if place.ledger.stored_body(_charge_request(quote, known).release_key) is not None:
            return known
    return replace(place, former=None)


def _charge_request(quote: StreamQuote, place: Place) -> ChargeRequest:
    """Return the charge for the whole horizon; an equal stream is charged only once."""
    question = ChargeRequest(
        targets=(Target(quote.population, quote.event),),
        principal=place.principal,
        request="the same again",
        plan=quote.stream.hash,
        loss=quote.stream.loss,
        policy=place.policy,
        epochs=(),
        price_delta=quote.price_delta,
    )
    return replace(question, request=question.release_key.hex())
