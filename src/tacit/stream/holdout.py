"""Thresholdout: a reusable holdout for checking adaptively chosen hypotheses.

An analyst estimates the share of rows with some property from other data, and asks whether the
holdout agrees. `Thresholdout` is the mechanism: it compares the two shares with the sparse
vector technique, and releases a share from the holdout only where they differ by more than a
threshold. `OpenHoldout` runs the mechanism in a session: it charges everything once, stores
every answer, and keeps the noisy threshold sealed between questions.
"""

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from hashlib import sha256

import numpy as np

from tacit import plan as plans
from tacit.core import (
    Composed,
    Event,
    Loss,
    Norm,
    Nothing,
    Repeated,
    Rule,
    Secret,
    Sensitivity,
    first_version,
)
from tacit.engines import Engine
from tacit.errors import AnswerLost, AnswerPending, InternalError, InvalidValue
from tacit.frame import FrameQuery as Asked
from tacit.ledger import Charge, ChargeRequest, StoredRelease, Target, price
from tacit.mechanisms import AddNoise, Gateway, Laplace, LiveGateway, SparseVector, inside
from tacit.noise import DiscreteLaplace, Integers
from tacit.numeric import Number, exact
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.query import Progress, Withdrawn, rehearse_step
from tacit.store import State
from tacit.stream.open_stream import Place, attempt_at, race, run_work
from tacit.stream.sealed_noise import ReplayableEntropy

STEPS = 2**20
"""Number of integer steps in a share of 1: shares are rounded to multiples of 1 / STEPS."""

PARTS = Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)
"""Fractions of epsilon: for the noisy threshold, the comparisons and the released shares."""


@dataclass(frozen=True, slots=True)
class HoldoutState:
    """State between comparisons: the noisy threshold, and the number of answers ``left``.

    The noisy threshold (``reached``) is secret. ``left`` is public.
    """

    reached: int
    left: int

    def __repr__(self) -> str:
        return (
            f"<a noisy threshold, {self.left} {'answer' if self.left == 1 else 'answers'} left>"
        )


@dataclass(frozen=True, slots=True)
class HoldoutAnswer:
    """Answer to a question about a share of rows.

    ``off`` is true where the holdout disagreed: ``value`` is then computed from the holdout.
    Otherwise ``value`` is the share that the analyst expected.
    """

    value: Fraction
    off: bool


@dataclass(frozen=True, slots=True)
class Thresholdout:
    """Thresholdout: compare shares of rows with the shares that an analyst expects.

    Where the holdout agrees within ``threshold``, the analyst's own share is returned. This
    costs nothing more, however often it happens. Where the holdout disagrees, its share is
    returned with noise. This can happen up to ``answers`` times. ``rows`` is the approximate
    number of rows of the holdout, from public knowledge. It converts sums into shares, and the
    privacy guarantee does not depend on it.

    The comparison uses the sum, over rows, of the difference between the row (0 or 1) and the
    expected share. One row changes this sum by at most one, so that the true number of rows
    is not needed.

    Guarantee: pure ``epsilon`` for all shares together, where each question may depend on the
    answers before it.
    Reference: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015 (Thresholdout), as the sparse
    vector of Lyu, Su, Li 2017, algorithm 1: one noisy threshold, and fresh noise for every
    share that is released.

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
                f"one answer and one row, but epsilon={self.epsilon}, "
                f"threshold={self.threshold}, answers={self.answers} and rows={self.rows} "
                "were given."
            )

    @property
    def reach(self) -> int:
        """The largest change of a sum by one unit, in steps.

        It is the same whether a unit is added or replaced.
        """
        return self.max_rows * STEPS

    @property
    def sparse(self) -> SparseVector:
        """The sparse vector technique that finds shares above the threshold.

        It uses the first two parts of epsilon.
        """
        bar = round(self.threshold * self.rows * STEPS)
        first, second, _ = (self.epsilon * part for part in PARTS)
        return SparseVector(first, second, self.answers, monotone=False, threshold=bar)

    @property
    def reading(self) -> Laplace:
        """The noise of a share that is released from the holdout.

        The last part of epsilon pays for all such shares together.
        """
        return Laplace(self.answers * self.reach / (self.epsilon * PARTS[2]))

    def event(self) -> Composed:
        """Return the privacy event of everything that the holdout can ever answer."""
        read = Repeated(self.reading.event(self._sensitivity(Norm.L1)), self.answers)
        return Composed((self.sparse.event(self._sensitivity(Norm.LINF)), read))

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error, from noise alone, of a share that is released.

        It does not include the sampling error of the holdout itself.
        """
        return self.reading.error(confidence) / (STEPS * self.rows)

    def tally(self, condition: plans.Condition, expected: Fraction) -> plans.RowSumTally:
        """Return the tally that sums, over rows, the difference from ``expected``.

        A row counts as 1 where ``condition`` is true, and as 0 elsewhere.
        """
        low = -_steps(expected)
        there = ((condition, plans.WholeSteps(low + STEPS)),)
        most = self.max_rows * low, self.max_rows * (low + STEPS)
        return plans.RowSumTally(plans.CaseSteps(there, plans.WholeSteps(low)), *most)

    def start(self, entropy: Entropy) -> HoldoutState:
        """Return the state of a new holdout: its noisy threshold is drawn once, in secret."""
        scale = self.reach / self.sparse.threshold_epsilon
        noise = DiscreteLaplace(scale).draw(entropy, 1)
        return HoldoutState(self.sparse.threshold + int(noise[0]), self.answers)

    def ask(
        self, expected: Fraction, off: Secret[Integers], kept: HoldoutState, gateway: Gateway
    ) -> tuple[HoldoutAnswer, HoldoutState]:
        """Return the answer, and the new state, where ``off`` is the holdout's secret sum."""
        own = Fraction(_steps(expected), STEPS)
        self.check_left(kept.left)
        draw = Reaches(kept.reached, self.sparse.query_scale(self.reach))
        if not gateway.release(inside(off, np.abs), self._sensitivity(Norm.LINF), draw)[0]:
            return HoldoutAnswer(own, off=False), kept
        noisy = int(self.reading.release(off, self._sensitivity(Norm.L1), gateway)[0])
        read = min(max(own + Fraction(noisy, STEPS * self.rows), Fraction(0)), Fraction(1))
        return HoldoutAnswer(read, off=True), replace(kept, left=kept.left - 1)

    def check_left(self, left: int) -> None:
        """Raise where no answer is left, because "the holdout agrees" is information too."""
        if not left:
            given = (
                "its 1 answer" if self.answers == 1 else f"all of its {self.answers} answers"
            )
            raise InvalidValue(
                f"This holdout has given {given}, and the privacy "
                "budget that was charged covers no more. Open a new holdout; it is charged "
                "separately."
            )

    def _sensitivity(self, norm: Norm) -> Sensitivity:
        rule = Rule("a row is off by one share at most", (f"max_rows={self.max_rows}",))
        return Sensitivity.of(self.reach, norm, rule)


@dataclass(frozen=True, slots=True)
class Reaches:
    """The random part of a comparison: whether a noisy number reaches the noisy threshold."""

    reached: int
    scale: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return 1 for each value that reaches the threshold, and 0 for the others."""
        noisy = AddNoise(DiscreteLaplace(self.scale))(values, entropy)
        return np.asarray(noisy >= self.reached, dtype=np.int64)


def _steps(share: Fraction) -> int:
    if not 0 <= share <= 1:
        raise InvalidValue(f"A share must be between 0 and 1, but {share} was given.")
    return round(share * STEPS)


# ------------------------------------------------------------------ open holdout
# A holdout in a session. One charge pays for all answers. Each answer is stored under its own
# release key with a loss of zero, so that the same question always has the same answer.


class OpenHoldout:
    """A holdout on a private table, for adaptive questions under one charge.

    Guarantee: the charge is durable before the first row is read. Each share is decided once,
    and the same question returns the stored answer. The noisy threshold is drawn once, stored
    sealed, and never released. Decisions are made one after the other, also where several
    processes ask at once: each decision is stored before its answer is returned, and the next
    decision starts from the state that this one left.
    """

    def __init__(self, dataset: str, asked: Thresholdout, place: Place) -> None:
        rows = plans.gather(plans.Scan(dataset), place.catalog)
        most, in_all = rows.limits.max_rows, rows.limits.max_rows_in_all
        self.asked = replace(asked, max_rows=most if in_all is None else min(most, in_all))
        self.dataset = dataset
        self._rows = rows
        self._place = place
        self._question = self._charge_request()
        self._name = f"threshold of holdout {self._question.release_key.hex()}"
        self._receipt = b""

    @property
    def loss(self) -> Loss:
        """The privacy loss of all shares together, in the measure of the budget."""
        measure = self._question.loss.measure
        return price(self.event, measure, Fraction(0)).loss(measure)

    @property
    def left(self) -> int:
        """The number of shares that the holdout can still release."""
        found = self._place.states.find(self._name)
        return _decode_state(found.value).left if found.version else self.asked.answers

    def start(self) -> bytes:
        """Charge all future answers once, and return the receipt of that charge."""
        if not self._receipt:
            said = f"tacit holdout 1\n{self._question.plan.hex()}".encode()
            self._receipt = self._place.ledger.enter(self._question, said).receipt
        return self._receipt

    @property
    def event(self) -> Event:
        """The privacy event of all answers together."""
        return self.asked.event()

    def share(self, question: Asked, expected: Number) -> HoldoutAnswer:
        """Return the share of rows that a question counts.

        Args:
            question: A query that counts rows of the holdout with ``COUNT(*)`` and ``WHERE``.
            expected: The share that the analyst expects, from other data.

        Returns:
            ``expected``, rounded to a multiple of 2**-20, where the holdout agrees with it;
            otherwise the noisy share of the holdout.
        """
        wanted, asked = exact(expected), self.asked
        plan = plans.canonical(question.plan).plan
        tally = asked.tally(self._condition(plan), wanted)
        free = self._share_question(plan, wanted)
        place = self._place
        if place.ledger.stored_body(free.release_key) is None:
            rehearse_step(self._counting(tally), place.engine, place.catalog, place.salt)
        receipt, ledger = self.start(), self._place.ledger
        entropy = ReplayableEntropy(SystemEntropy(receipt))
        for _ in race():
            stored = ledger.stored_body(free.release_key)
            if stored is not None:
                return _share(stored)
            asked.check_left(self.left)  # before any row is read
            with suppress(AnswerLost, AnswerPending):
                found = ledger.reserve(attempt_at(free), lease_ms=0)
                if isinstance(found, StoredRelease):
                    return _share(found.body)
                return _share(self._answer_charge(found, tally, wanted, entropy).body)
        raise InternalError(
            "Too many processes ask this holdout at the same time, and this question lost "
            "every attempt. Try again later."
        )

    def _answer_charge(
        self,
        charge: Charge,
        tally: plans.RowSumTally,
        wanted: Fraction,
        entropy: ReplayableEntropy,
    ) -> StoredRelease:
        """Compute and store the share for ``charge``, in the same way as every paid query.

        The rows are counted first, and no noise is drawn during this time. The share is then
        decided, with noise, in the transaction that stores both the share and the new state.
        """
        place, found = self._place, list[Secret[Integers]]()

        def count(engine: Engine, progress: Progress) -> bytes:
            del progress
            found[:] = [self._sum_differences(tally, engine)]
            return b""

        def keep(charge: Charge, body: bytes) -> StoredRelease:
            del body
            decide = partial(self._decide, wanted, found[0], entropy)
            return place.ledger.take_turn(charge, place.states, self._name, decide)

        return run_work(place, charge, count, keep)

    def _decide(
        self, wanted: Fraction, off: Secret[Integers], entropy: ReplayableEntropy, found: State
    ) -> tuple[bytes, bytes]:
        """Decide a share with the stored threshold; return the encoded answer and new state.

        The version of the state changes with each decision, also where the holdout agreed, so
        that no two decisions start from the same version.
        """
        entropy.rewind()
        kept = _decode_state(found.value) if found.version else self.asked.start(entropy)
        try:
            self.asked.check_left(kept.left)
        except InvalidValue as refused:  # another process took the last answer meanwhile
            raise Withdrawn(str(refused)) from None
        answer, after = self.asked.ask(wanted, off, kept, LiveGateway(entropy))
        return json.dumps([str(answer.value), answer.off]).encode(), _encode_state(after)

    def _sum_differences(
        self, tally: plans.RowSumTally, engine: Engine | None = None
    ) -> Secret[Integers]:
        """Return the secret sum of the differences between the rows and the expected share."""
        plan, place = self._counting(tally), self._place
        return (engine or place.engine).run(plan, place.catalog, place.salt).tallies[0]

    def _counting(self, tally: plans.RowSumTally) -> plans.BoundedPlan:
        """Return the bounded plan that an engine runs for a share."""
        rows, most = self._rows, self.asked.max_rows
        in_all = rows.limits.max_rows_in_all
        return plans.BoundedPlan(rows.source, rows.condition, (), 1, most, (tally,), in_all)

    def _condition(self, plan: plans.Plan) -> plans.Condition:
        """Return the condition that selects the rows of the holdout that ``plan`` counts."""
        source, inner = plan.source, plan.source
        while isinstance(inner, plans.Filter):
            inner = inner.source
        counts = [measure.aggregate for measure in plan.measures]
        if inner != plans.Scan(self.dataset) or plan.keys or counts != [plans.CountRows()]:
            raise InvalidValue(
                "This question is not supported by a holdout. Ask for a share of the rows of "
                f"{self.dataset!r} by COUNT(*) with WHERE, without groups, joins or other "
                "aggregates."
            )
        return plans.gather(source, self._place.catalog).condition

    def _charge_request(self) -> ChargeRequest:
        """Return the charge for the whole holdout; an equal holdout is charged only once."""
        place = self._place
        population = place.catalog.population(place.catalog.dataset(self.dataset).population)
        measure = place.ledger.status(population.name).measure
        said = f"tacit holdout 1\n{plans.text((self.dataset, *_parameters(self.asked)))}"
        # the loss is part of the key: with that of first versions, a holdout is found again
        known = price(first_version(self.event), measure, Fraction(0)).loss(measure)
        question = ChargeRequest(
            targets=(Target(population, self.event),),
            principal=place.principal,
            request="the same again",
            plan=sha256(said.encode()).digest(),
            loss=known,
            policy=place.policy,
            epochs=(),
        )
        return replace(question, request=question.release_key.hex())

    def _share_question(self, plan: plans.Plan, expected: Fraction) -> ChargeRequest:
        """Return the charge request of one share, whose loss is zero."""
        said = f"tacit share 1\n{plans.canonical(plan).hash.hex()}\n{expected}\n"
        name = sha256(said.encode() + self._question.release_key).digest()
        targets = (Target(self._question.targets[0].population, Nothing()),)
        free = replace(self._question, targets=targets, plan=name, loss=self.loss * 0)
        return replace(free, request=free.release_key.hex())


def _parameters(asked: Thresholdout) -> tuple[Fraction | int, ...]:
    return asked.epsilon, asked.answers, asked.rows, asked.threshold, asked.max_rows


def _share(stored: bytes) -> HoldoutAnswer:
    value, off = json.loads(stored)
    return HoldoutAnswer(Fraction(value), off)


def _decode_state(sealed: bytes) -> HoldoutState:
    return HoldoutState(**json.loads(sealed))


def _encode_state(kept: HoldoutState) -> bytes:
    return json.dumps({"reached": kept.reached, "left": kept.left}).encode()
