"""A holdout in a session: charged once for all that it will tell, and asked again and again."""

import json
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from hashlib import sha256

from tacit.core.event import Event, Nothing
from tacit.core.loss import Loss
from tacit.core.secret import Secret
from tacit.engines.engine import Engine
from tacit.errors import AnswerLost, AnswerPending, InternalError, InvalidValue
from tacit.frame.table import Answer as Asked
from tacit.ledger.charge import Answer, Charge
from tacit.ledger.question import Question, Target
from tacit.ledger.units import price
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.integers import Integers
from tacit.numeric.entropy import SystemEntropy
from tacit.numeric.exact import Number, exact
from tacit.plan.aggregate import CountRows
from tacit.plan.bounded import BoundedPlan
from tacit.plan.canonical import canonical, text
from tacit.plan.gather import gather
from tacit.plan.plan import Plan
from tacit.plan.relation import Filter, Scan
from tacit.plan.steps import Condition
from tacit.plan.tally import KeptTally
from tacit.query.below import Progress, Withdrawn
from tacit.query.rehearse import rehearse_step
from tacit.store.states import State
from tacit.stream.drawn_once import DrawnOnce
from tacit.stream.open_stream import RACES, Place, attempt_at, run_work
from tacit.stream.thresholdout import Kept, Share, Thresholdout


class OpenHoldout:
    """Shares of a private table that can be asked adaptively, under one charge for all.

    Guarantee: the charge is durable before the first row is read. A share is told once, and
    told again the same; the noisy threshold is drawn once, sealed, and never leaves. Shares are
    decided one after the other, whoever asks at once (`tacit.ledger.turn`): each decision is
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

    def share(self, question: Asked, expected: Number) -> Share:
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
                if isinstance(found, Answer):
                    return _share(found.body)
                return _share(self._told(found, tally, wanted, entropy).body)
        raise InternalError("A holdout is asked by too many at once.")

    def _told(
        self, charge: Charge, tally: KeptTally, wanted: Fraction, entropy: DrawnOnce
    ) -> Answer:
        """The share that ``charge`` stands for, by the path of everything that is paid for.

        The rows are counted first, and no noise is drawn meanwhile. The share is decided, with
        noise, in the unit of work that stores it and the state after it.
        """
        place, found = self._place, list[Secret[Integers]]()

        def count(engine: Engine, progress: Progress) -> bytes:
            del progress
            found[:] = [self._counted(tally, engine)]
            return b""

        def keep(charge: Charge, body: bytes) -> Answer:
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

    def _asked(self) -> Question:
        """What the ledger is told of the holdout; the same again is paid for once."""
        place = self._place
        population = place.catalog.population(place.catalog.dataset(self.dataset).population)
        measure = place.ledger.status(population.name).measure
        said = f"tacit holdout 1\n{text((self.dataset, *_declared(self.asked)))}"
        question = Question(
            targets=(Target(population, self.event),),
            principal=place.principal,
            request="the same again",
            plan=sha256(said.encode()).digest(),
            loss=price(self.event, measure, Fraction(0)).loss(measure),
            policy=place.policy,
            epochs=(),
        )
        return replace(question, request=question.release_key.hex())

    def _share_question(self, plan: Plan, expected: Fraction) -> Question:
        """A share, which costs nothing more."""
        said = f"tacit share 1\n{canonical(plan).hash.hex()}\n{expected}\n"
        name = sha256(said.encode() + self._question.release_key).digest()
        targets = (Target(self._question.targets[0].population, Nothing()),)
        free = replace(self._question, targets=targets, plan=name, loss=self.loss * 0)
        return replace(free, request=free.release_key.hex())


def _declared(asked: Thresholdout) -> tuple[Fraction | int, ...]:
    return asked.epsilon, asked.answers, asked.rows, asked.threshold, asked.max_rows


def _share(stored: bytes) -> Share:
    value, off = json.loads(stored)
    return Share(Fraction(value), off)


def _kept(sealed: bytes) -> Kept:
    return Kept(**json.loads(sealed))


def _bytes(kept: Kept) -> bytes:
    return json.dumps({"reached": kept.reached, "left": kept.left}).encode()
