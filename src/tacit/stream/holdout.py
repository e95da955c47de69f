"""Thresholdout: a holdout that answers only where it has something else to say."""

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from hashlib import sha256

import numpy as np

from tacit.core import Composed, Event, Loss, Norm, Nothing, Repeated, Rule, Secret, Sensitivity
from tacit.engines import Engine
from tacit.errors import AnswerLost, AnswerPending, InternalError, InvalidValue
from tacit.frame import FrameQuery as Asked
from tacit.ledger import Charge, ChargeRequest, StoredRelease, Target, price
from tacit.mechanisms import AddNoise, Gateway, Laplace, LiveGateway, SparseVector, inside
from tacit.noise import DiscreteLaplace, Integers
from tacit.numeric import Number, exact
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.plan import (
    BoundedPlan,
    CaseSteps,
    Condition,
    CountRows,
    Filter,
    KeptTally,
    Plan,
    Scan,
    WholeSteps,
    canonical,
    gather,
    text,
)
from tacit.query import Progress, Withdrawn, rehearse_step
from tacit.store import State
from tacit.stream.open_stream import RACES, Place, attempt_at, run_work
from tacit.stream.sealed_noise import DrawnOnce

STEPS = 2**20
"""A share of all rows, in whole steps."""

PARTS = Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)
"""Of epsilon: for the noisy threshold, for the comparisons, and for what is read."""


@dataclass(frozen=True, slots=True)
class HoldoutState:
    """What goes on from one comparison to the next: secret, but for how often is ``left``."""

    reached: int
    left: int

    def __repr__(self) -> str:
        return f"<a noisy threshold, {self.left} answers left>"


@dataclass(frozen=True, slots=True)
class HoldoutAnswer:
    """What is told of a share: the asker's own, or one that was read ``off`` the holdout."""

    value: Fraction
    off: bool


@dataclass(frozen=True, slots=True)
class Thresholdout:
    """Shares of rows, each beside the one that the asker expects from other data.

    Where the holdout agrees within a ``threshold``, the asker's own share comes back, and costs
    nothing more, however often. Where it does not, the holdout's share is told, with noise:
    that happens up to ``answers`` times. ``rows`` is about how many rows the holdout has, from
    what is public: it turns sums into shares, and no promise rests on it.

    What is compared is the sum over rows of how far each is from the expected share: a row is
    off by one share at most, so that nobody needs to know how many rows there are.

    Guarantee: pure ``epsilon`` for all shares together, chosen by whoever sees the ones before.
    Reference: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015 (Thresholdout), as the sparse
    vector of Lyu, Su, Li 2017, algorithm 1: one noisy threshold, and noise for every share that
    is read.

    Example:
        >>> asked = Thresholdout(Fraction(3), 10, 4000, Fraction("0.08"))
        >>> round(float(asked.error(Fraction("0.95"))), 4)
        0.0075
    """

    epsilon: Fraction
    answers: int
    rows: int
    threshold: Fraction
    max_rows: int = 1

    def __post_init__(self) -> None:
        if (
            not (self.epsilon > 0 and 0 < self.threshold < 1)
            or min(self.answers, self.rows) < 1
        ):
            raise InvalidValue(
                "A holdout has an epsilon above 0, a threshold between 0 and 1, and at least "
                f"one answer and one row, not {self.epsilon}, {self.threshold}, "
                f"{self.answers} and {self.rows}."
            )

    @property
    def reach(self) -> int:
        """The most that one unit moves a sum by, in steps, whether it comes or is replaced."""
        return self.max_rows * STEPS

    @property
    def sparse(self) -> SparseVector:
        """Which shares are far off: the first two parts of epsilon."""
        bar = round(self.threshold * self.rows * STEPS)
        first, second, _ = (self.epsilon * part for part in PARTS)
        return SparseVector(first, second, self.answers, monotone=False, threshold=bar)

    @property
    def reading(self) -> Laplace:
        """The noise of a share that is read: the last part of epsilon, for all of them."""
        return Laplace(self.answers * self.reach / (self.epsilon * PARTS[2]))

    def event(self) -> Composed:
        """All that a holdout will tell, however it is asked."""
        read = Repeated(self.reading.event(self._moved(Norm.L1)), self.answers)
        return Composed((self.sparse.event(self._moved(Norm.LINF)), read))

    def error(self, confidence: Fraction) -> Fraction:
        """What a share that is read errs by at most, beside the holdout's own chance."""
        return self.reading.error(confidence) / (STEPS * self.rows)

    def tally(self, condition: Condition, expected: Fraction) -> KeptTally:
        """How far the rows are from ``expected``, those where a condition holds and others."""
        low = -_steps(expected)
        there = ((condition, WholeSteps(low + STEPS)),)
        most = self.max_rows * low, self.max_rows * (low + STEPS)
        return KeptTally(CaseSteps(there, WholeSteps(low)), *most)

    def start(self, entropy: Entropy) -> HoldoutState:
        """The noisy threshold of a new holdout; drawn once, and kept secret."""
        scale = self.reach / self.sparse.threshold_epsilon
        noise = DiscreteLaplace(scale).draw(entropy, 1)
        return HoldoutState(self.sparse.threshold + int(noise[0]), self.answers)

    def ask(
        self, expected: Fraction, off: Secret[Integers], kept: HoldoutState, gateway: Gateway
    ) -> tuple[HoldoutAnswer, HoldoutState]:
        """What is told where the holdout is ``off`` by that sum, and what is kept now."""
        own = Fraction(_steps(expected), STEPS)
        self.check_left(kept.left)
        draw = Reaches(kept.reached, self.sparse.query_scale(self.reach))
        if not gateway.release(inside(off, np.abs), self._moved(Norm.LINF), draw)[0]:
            return HoldoutAnswer(own, off=False), kept
        noisy = int(self.reading.release(off, self._moved(Norm.L1), gateway)[0])
        read = min(max(own + Fraction(noisy, STEPS * self.rows), Fraction(0)), Fraction(1))
        return HoldoutAnswer(read, off=True), replace(kept, left=kept.left - 1)

    def check_left(self, left: int) -> None:
        """Refuse to say more where no answer is left: "it agrees" would tell something too."""
        if not left:
            raise InvalidValue(
                f"This holdout has given all of its {self.answers} answers; what it would say "
                "next is not paid for. Open a new one, which is charged anew."
            )

    def _moved(self, norm: Norm) -> Sensitivity:
        rule = Rule("a row is off by one share at most", (f"max_rows={self.max_rows}",))
        return Sensitivity.of(self.reach, norm, rule)


@dataclass(frozen=True, slots=True)
class Reaches:
    """The draw of a comparison: whether a number with noise reaches a threshold that has it."""

    reached: int
    scale: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """1 where it does."""
        noisy = AddNoise(DiscreteLaplace(self.scale))(values, entropy)
        return np.asarray(noisy >= self.reached, dtype=np.int64)


def _steps(share: Fraction) -> int:
    if not 0 <= share <= 1:
        raise InvalidValue(f"A share lies between 0 and 1, and {share} does not.")
    return round(share * STEPS)


# ------------------------------------------------------------------ open holdout
# A holdout in a session: charged once for all that it will tell, and asked again and again.


class OpenHoldout:
    """Shares of a private table that can be asked adaptively, under one charge for all.

    Guarantee: the charge is durable before the first row is read. A share is told once, and
    told again the same; the noisy threshold is drawn once, sealed, and never leaves. Shares are
    decided one after the other, whoever asks at once: each decision is
    written before its share is told, and the one after it sees what it has used up.
    """

    def __init__(self, dataset: str, asked: Thresholdout, place: Place) -> None:
        rows = gather(Scan(dataset), place.catalog)
        most, in_all = rows.limits.max_rows, rows.limits.max_rows_in_all
        self.asked = replace(asked, max_rows=most if in_all is None else min(most, in_all))
        self.dataset = dataset
        self._rows = rows
        self._place = place
        self._question = self._asked()
        self._name = f"threshold of holdout {self._question.release_key.hex()}"
        self._receipt = b""

    @property
    def loss(self) -> Loss:
        """What all shares together cost, in the measure of the budget."""
        return self._question.loss

    @property
    def left(self) -> int:
        """How many times more the holdout will answer for itself."""
        found = self._place.states.find(self._name)
        return _kept(found.value).left if found.version else self.asked.answers

    def start(self) -> bytes:
        """Charge all that will be told, once; the receipt of that charge."""
        if not self._receipt:
            said = f"tacit holdout 1\n{self._question.plan.hex()}".encode()
            self._receipt = self._place.ledger.enter(self._question, said).receipt
        return self._receipt

    @property
    def event(self) -> Event:
        """All that will be told."""
        return self.asked.event()

    def share(self, question: Asked, expected: Number) -> HoldoutAnswer:
        """The share of rows that a question counts; ``expected`` is known from other data.

        It is ``expected`` itself, to 2**-20, unless the holdout is far off.
        """
        wanted, asked = exact(expected), self.asked
        plan = canonical(question.plan).plan
        tally = asked.tally(self._condition(plan), wanted)
        free = self._share_question(plan, wanted)
        place = self._place
        if place.ledger.stored(free.release_key) is None:
            rehearse_step(self._counting(tally), place.engine, place.catalog, place.salt)
        receipt, ledger = self.start(), self._place.ledger
        entropy = DrawnOnce(SystemEntropy(receipt))
        for _ in range(RACES):
            stored = ledger.stored(free.release_key)
            if stored is not None:
                return _share(stored)
            asked.check_left(self.left)  # before any row is read
            with suppress(AnswerLost, AnswerPending):
                found = ledger.reserve(attempt_at(free), lease_ms=0)
                if isinstance(found, StoredRelease):
                    return _share(found.body)
                return _share(self._told(found, tally, wanted, entropy).body)
        raise InternalError("A holdout is asked by too many at once.")

    def _told(
        self, charge: Charge, tally: KeptTally, wanted: Fraction, entropy: DrawnOnce
    ) -> StoredRelease:
        """The share that ``charge`` stands for, by the path of everything that is paid for.

        The rows are counted first, and no noise is drawn meanwhile. The share is decided, with
        noise, in the unit of work that stores it and the state after it.
        """
        place, found = self._place, list[Secret[Integers]]()

        def count(engine: Engine, progress: Progress) -> bytes:
            del progress
            found[:] = [self._counted(tally, engine)]
            return b""

        def keep(charge: Charge, body: bytes) -> StoredRelease:
            del body
            decide = partial(self._decide, wanted, found[0], entropy)
            return place.ledger.take_turn(charge, place.states, self._name, decide)

        return run_work(place, charge, count, keep)

    def _decide(
        self, wanted: Fraction, off: Secret[Integers], entropy: DrawnOnce, found: State
    ) -> tuple[bytes, bytes]:
        """Decide a share by the threshold that is kept, and count it, told or not.

        The state changes with each decision, so that no two are made by the same one.
        """
        entropy.rewind()
        kept = _kept(found.value) if found.version else self.asked.start(entropy)
        try:
            self.asked.check_left(kept.left)
        except InvalidValue as refused:  # others took the last answer meanwhile
            raise Withdrawn(str(refused)) from None
        told, after = self.asked.ask(wanted, off, kept, LiveGateway(entropy))
        return json.dumps([str(told.value), told.off]).encode(), _bytes(after)

    def _counted(self, tally: KeptTally, engine: Engine | None = None) -> Secret[Integers]:
        """How far the rows are off, boxed."""
        plan, place = self._counting(tally), self._place
        return (engine or place.engine).run(plan, place.catalog, place.salt).tallies[0]

    def _counting(self, tally: KeptTally) -> BoundedPlan:
        """What the engine is asked for a share."""
        rows, most = self._rows, self.asked.max_rows
        in_all = rows.limits.max_rows_in_all
        return BoundedPlan(rows.source, rows.condition, (), 1, most, (tally,), in_all)

    def _condition(self, plan: Plan) -> Condition:
        """The rows that ``plan`` counts, as a condition on those of the holdout."""
        source, inner = plan.source, plan.source
        while isinstance(inner, Filter):
            inner = inner.source
        counts = [measure.aggregate for measure in plan.measures]
        if inner != Scan(self.dataset) or plan.keys or counts != [CountRows()]:
            raise InvalidValue(
                f"A holdout is asked for shares of the rows of {self.dataset!r}: by COUNT(*) "
                "with WHERE, without groups, joins or other aggregates."
            )
        return gather(source, self._place.catalog).condition

    def _asked(self) -> ChargeRequest:
        """What the ledger is told of the holdout; the same again is paid for once."""
        place = self._place
        population = place.catalog.population(place.catalog.dataset(self.dataset).population)
        measure = place.ledger.status(population.name).measure
        said = f"tacit holdout 1\n{text((self.dataset, *_declared(self.asked)))}"
        question = ChargeRequest(
            targets=(Target(population, self.event),),
            principal=place.principal,
            request="the same again",
            plan=sha256(said.encode()).digest(),
            loss=price(self.event, measure, Fraction(0)).loss(measure),
            policy=place.policy,
            epochs=(),
        )
        return replace(question, request=question.release_key.hex())

    def _share_question(self, plan: Plan, expected: Fraction) -> ChargeRequest:
        """A share, which costs nothing more."""
        said = f"tacit share 1\n{canonical(plan).hash.hex()}\n{expected}\n"
        name = sha256(said.encode() + self._question.release_key).digest()
        targets = (Target(self._question.targets[0].population, Nothing()),)
        free = replace(self._question, targets=targets, plan=name, loss=self.loss * 0)
        return replace(free, request=free.release_key.hex())


def _declared(asked: Thresholdout) -> tuple[Fraction | int, ...]:
    return asked.epsilon, asked.answers, asked.rows, asked.threshold, asked.max_rows


def _share(stored: bytes) -> HoldoutAnswer:
    value, off = json.loads(stored)
    return HoldoutAnswer(Fraction(value), off)


def _kept(sealed: bytes) -> HoldoutState:
    return HoldoutState(**json.loads(sealed))


def _bytes(kept: HoldoutState) -> bytes:
    return json.dumps({"reached": kept.reached, "left": kept.left}).encode()
