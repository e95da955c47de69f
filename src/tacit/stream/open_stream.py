"""A question that is paid for once and answered at every step of a horizon."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256

from tacit.core import Catalog, Nothing
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
from tacit.stream.sealed_noise import KeptNoise
from tacit.stream.step import Step, StreamRelease, fresh_noise, released_step, table_of
from tacit.stream.stream import Stream, check_covered, check_over

RACES = 100
"""How often a step is looked up again that another scheduler is at."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stream lives: the ledger, sealed states, the engine, and who asks under what.

    ``facts`` are the declarations that a stream uses, and ``policy`` is their version. Version
    0.1.0 knew a stream by all declarations of its tables: that is ``former``.
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
    """A sealed state that allows the steps of a stream, or ends them.

    ``check`` reads it, and raises `Withdrawn` where nothing more is released. It is asked
    before the engine is, and again in the unit of work that stores a step.
    """

    states: States
    name: str
    check: Callable[[bytes], None]

    def keep(self, ledger: Ledger, charge: Charge, body: bytes) -> StoredRelease:
        """Store ``body`` in a unit of work in which the state allows it."""

        def decide(found: State) -> tuple[bytes, bytes]:
            self.check(found.value)
            return body, found.value

        return ledger.take_turn(charge, self.states, self.name, decide)


class OpenStream:
    """A stream to release: free until its first step, which charges the whole horizon.

    Guarantee: a step is released once, after all before it; asked for again, it is the same
    bytes. A crash at any moment neither draws a step's noise twice nor loses it, and the
    horizon is charged once. What a window shows is computed from what was released.
    """

    def __init__(self, quote: StreamQuote, place: Place, guard: Guard | None = None) -> None:
        self.quote = quote
        self._guard = guard
        self._place = _known_place(self.quote, place)
        self._question = _asked(self.quote, self._place)
        name = f"noise of stream {self._question.release_key.hex()}"
        self._noise = KeptNoise(place.states, name, self.quote.factor)
        self._last: Step | None = None
        self._receipt = b""

    @property
    def stream(self) -> Stream:
        """What was declared."""
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
        """Whether the horizon is charged, by whomever."""
        return self._place.ledger.stored(self._question.release_key) is not None

    def under(self, policy: str) -> "OpenStream":
        """Return the same stream as it was charged under ``policy``."""
        place = replace(self._place, policy=policy, former=None)
        return OpenStream(self.quote, place, self._guard)

    def guarded(self, guard: Guard) -> "OpenStream":
        """Return the same stream, whose steps are stored while ``guard`` allows it."""
        return OpenStream(self.quote, self._place, guard)

    def start(self) -> bytes:
        """Charge the whole horizon, once; the receipt of that charge."""
        if not self._receipt:
            said = f"tacit stream 1\n{self.stream.hash.hex()}".encode()
            self._receipt = self._place.ledger.enter(self._question, said).receipt
        return self._receipt

    @property
    def released(self) -> int:
        """How many steps were released so far, by whomever."""
        low, high = 0, self.stream.horizon  # all below low are there, and none from high on
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
        """The table of a step, the next one unless another is named, counted from 0 on."""
        wanted = self.released if number is None else number
        return self._shown(self.advance(wanted))

    def advance(self, number: int) -> Step:
        """A step as it is kept, released now where it was not yet; nothing is shown of it."""
        if not 0 <= number < self.stream.horizon:
            raise InvalidValue(
                f"All {self.stream.horizon} steps of this stream are released, or there is no "
                f"step {number}; declare a new stream to go on."
            )
        return self._find(number) or self._next(number)

    def _shown(self, step: Step) -> StreamRelease:
        width = self.stream.window.steps
        first = None if width is None or step.number < width else step.number - width
        earlier = None if first is None else self._find(first)
        noted = self._place.ledger.status(self.quote.population.name).record.assumptions
        return table_of(self.quote, step, earlier, self.start(), noted)

    def _next(self, number: int) -> Step:
        """Release a step: its noise is sealed in the store before the engine is asked."""
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
                f"Steps are released in order, and the next one is {self.released}."
            )
        entropy = SystemEntropy(receipt)
        for _ in range(RACES):
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
        raise InternalError("The noise of a stream is ahead of its steps.")

    def _check_due(self, number: int) -> None:
        """Refuse a step whose data cannot be complete: what is released of it is final."""
        periods, place = self.stream.periods, self._place
        check_over(periods, number, place.ledger.today())
        tables = self.quote.bound.plan.source.datasets
        check_covered(periods, number, place.catalog, tables)

    def _find(self, number: int) -> Step | None:
        """The step as it was released; None where it was not yet."""
        if self._last is not None and self._last.number == number:
            return self._last
        body = self._place.ledger.stored(self._step_question(number).release_key)
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
    """What a step does to the data below its charge: count, add the kept noise, encode.

    The noise was drawn and sealed before the engine is asked, so that whoever releases the
    step, however often, adds the same.
    """

    quote: StreamQuote
    place: Place
    before: Step | None
    noise: Integers = field(repr=False)

    def __call__(self, engine: Engine, progress: Progress) -> bytes:
        """The bytes of the step."""
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
    """The stored answer to ``charge`` by the path of everything that is paid for."""
    return run_below(
        place.ledger,
        charge,
        lambda _: attempt(work, place.engine, Progress()),
        tell=place.tell,
        keep=keep,
    )


def attempt_at(question: ChargeRequest) -> ChargeRequest:
    """``question`` under a request of its own.

    What was reserved before is charged nothing, so each attempt has its own charge: where a
    process was killed in the middle, the next one does not wait for it.
    """
    return replace(question, request=f"{question.release_key.hex()} {fresh_bytes(16).hex()}")


def _known_place(quote: StreamQuote, place: Place) -> Place:
    """Return where the stream is charged: as version 0.1.0 knew it, where it was then."""
    if place.former is None:
        return place
    former = replace(place, policy=place.former, former=None)
    for known in (replace(place, former=None), former):
        if place.ledger.stored(_asked(quote, known).release_key) is not None:
            return known
    return replace(place, former=None)


def _asked(quote: StreamQuote, place: Place) -> ChargeRequest:
    """What the ledger is told of the horizon; whoever declares the same pays for it once."""
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
