"""What happens after a charge: attempts, waits, reports, and what the ledger is told."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from asking import ask, open_pure
from fake_clock import FakeClock
from ward import CATALOG, asked

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import AnswerLost, EngineUnreachable, InternalError, StoreFailed, TacitError
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease, Target
from tacit.ledger.ledger import Ledger
from tacit.mechanisms.additive_noise import Laplace
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.query import below_charge
from tacit.query.below_charge import (
    ENGINE,
    NOISE,
    STORE,
    TIME,
    WORKER,
    Broken,
    MarkedEntropy,
    Progress,
    RetryingEngine,
    RetryingRowEngine,
    Trouble,
    Withdrawn,
    attempt,
    run_below,
    when_reached,
)
from tacit.testing.memory_store import MemoryStore

ONE = Sensitivity.of(1, Norm.L1, Rule("a row changes a count by 1"))
PLAN = bound(asked(), CATALOG).plan
WORDS = "p17 earns 66"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    made = FakeClock()
    monkeypatch.setattr(below_charge, "time", made)
    return made


@dataclass
class Sums:
    """An engine that answers with its own name, once it can be reached."""

    unreached: int = 0
    asked: list[tuple[object, ...]] = field(default_factory=list)

    def run(self, plan: BoundedPlan, catalog: object, salt: bytes) -> Any:
        return self._answer("sums", plan, catalog, salt)

    def _answer(self, name: str, *given: object) -> Any:
        self.asked.append((name, *given))
        if self.unreached:
            self.unreached -= 1
            raise EngineUnreachable(WORDS)
        return name


class Rows(Sums):
    """An engine that can return rows too."""

    def rows(self, plan: BoundedPlan, catalog: object, salt: bytes) -> Any:
        return self._answer("rows", plan, catalog, salt)


# Draws ----------------------------------------------------------------------------------------


def test_the_first_draw_is_told_before_it_begins() -> None:
    told: list[str] = []
    progress = Progress(drawing=lambda: told.append("drawing"))
    assert (progress.stage, progress.drawn) == (ENGINE, False)
    for _ in range(2):
        progress.draw()
        assert (progress.stage, progress.drawn, told) == (NOISE, True, ["drawing"])


def test_a_gateway_tells_of_a_draw_and_then_adds_noise() -> None:
    progress = Progress()
    for gateway in (progress.gateway(SystemEntropy(b"a")), progress.gateway_for(b"a")):
        progress.stage, progress.drawn = ENGINE, False
        released = Laplace(Fraction(1, 100)).release(Secret(np.array([7, 9])), ONE, gateway)
        assert released.tolist() == [7, 9]  # this noise is 0
        assert (progress.stage, progress.drawn) == (NOISE, True)


def test_words_are_taken_after_the_draw_is_told() -> None:
    order: list[object] = []

    def words(count: int) -> str:
        order.append(count)
        return "words"

    source = SimpleNamespace(word_bits=32, words=words)
    marked = MarkedEntropy(source, lambda: order.append("draw"))  # type: ignore[arg-type]
    assert marked.words(3) == "words"
    assert order == ["draw", 3]
    assert marked.word_bits == 32


# One attempt ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "kind"), [(Sums(), RetryingEngine), (Rows(), RetryingRowEngine)]
)
def test_an_attempt_is_given_an_engine_that_tries_again(
    engine: Sums, kind: type[RetryingEngine]
) -> None:
    progress, given = Progress(), []

    def work(wrapped: Any, own: Progress) -> bytes:
        given.append((type(wrapped), own))
        return wrapped.run(PLAN, CATALOG, b"salt").encode()  # type: ignore[no-any-return]

    assert attempt(work, engine, progress) == b"sums"
    assert given == [(kind, progress)]
    assert engine.asked == [("sums", PLAN, CATALOG, b"salt")]


def raising(
    error: BaseException,
    progress: Progress,
    drawn: bool,  # noqa: FBT001 - whether noise is drawn before
) -> Callable[..., bytes]:
    """Return work that fails with ``error``."""

    def work(*_: object) -> bytes:
        if drawn:
            progress.draw()
        raise error

    return work


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("error", [ValueError(WORDS), KeyboardInterrupt(), MemoryError()])
def test_an_attempt_that_fails_tells_its_stage_alone(
    error: BaseException,
    drawn: bool,  # noqa: FBT001 - whether noise was drawn before
) -> None:
    progress = Progress()
    with pytest.raises(Broken) as told:
        attempt(raising(error, progress, drawn), Sums(), progress)
    assert (told.value.stage, told.value.drawn) == (NOISE if drawn else ENGINE, drawn)
    assert str(told.value) == "The question failed after it was charged. It stays charged."
    assert told.value.__context__ is None


@pytest.mark.parametrize("drawn", [False, True])
def test_an_engine_out_of_reach_is_an_outage_before_a_draw_and_a_failure_after_it(
    drawn: bool,  # noqa: FBT001 - whether noise was drawn before
) -> None:
    progress = Progress()
    with pytest.raises(TacitError) as told:
        attempt(raising(EngineUnreachable(WORDS), progress, drawn), Sums(), progress)
    assert type(told.value) is (Broken if drawn else EngineUnreachable)
    assert WORDS not in str(told.value)
    assert told.value.__context__ is None


# Waiting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("unreached", [0, 1, 8])
def test_an_engine_is_asked_four_times_a_second_until_it_is_reached(
    unreached: int, clock: FakeClock
) -> None:
    engine, waits = Sums(unreached), []
    found = when_reached(lambda: engine.run(PLAN, CATALOG, b""), 2.0, lambda: waits.append(1))
    assert found == "sums"
    assert len(engine.asked) == unreached + 1
    assert len(waits) == unreached
    assert clock.now == 50 + unreached / 4


def test_an_engine_is_waited_for_up_to_the_limit(clock: FakeClock) -> None:
    engine, waits = Sums(99), []
    with pytest.raises(EngineUnreachable):
        when_reached(lambda: engine.run(PLAN, CATALOG, b""), 2.0, lambda: waits.append(1))
    assert (len(engine.asked), len(waits), clock.now) == (9, 8, 52.0)


def test_another_error_is_not_waited_for(clock: FakeClock) -> None:
    with pytest.raises(ZeroDivisionError):
        when_reached(lambda: 1 // 0, 2.0)
    assert clock.now == 50.0


@pytest.mark.parametrize(("drawn", "seconds"), [(False, 5), (True, 600)])
def test_after_a_draw_an_engine_is_waited_for_ten_minutes(
    drawn: bool,  # noqa: FBT001 - whether noise was drawn before
    seconds: int,
    clock: FakeClock,
) -> None:
    waits: list[int] = []
    progress = Progress(waiting=lambda: waits.append(1))
    if drawn:
        progress.draw()
    engine = RetryingRowEngine(Rows(unreached=10**6), progress)
    for ask_engine in (engine.run, engine.rows):
        clock.now = 50.0
        waits.clear()
        with pytest.raises(EngineUnreachable):
            ask_engine(PLAN, CATALOG, b"salt")
        assert clock.now == 50 + seconds
        assert len(waits) == 4 * seconds
        assert progress.stage == ENGINE


def test_an_engine_without_rows_is_not_asked_for_them() -> None:
    rows = Rows()
    assert RetryingRowEngine(rows, Progress()).rows(PLAN, CATALOG, b"s") == "rows"  # type: ignore[comparison-overlap]
    assert rows.asked == [("rows", PLAN, CATALOG, b"s")]
    with pytest.raises(InternalError, match="does not support reading rows"):
        RetryingRowEngine(Sums(), Progress()).rows(PLAN, CATALOG, b"s")


# A charge and its attempts --------------------------------------------------------------------


@dataclass
class Notes:
    """A ledger that notes what it is told, and whose store does not respond at first."""

    down: int = 0
    acts: list[str] = field(default_factory=list)
    found: StoredRelease | None = None

    def keep(self, charge: Charge, body: bytes) -> StoredRelease:
        self._note("keep")
        return StoredRelease(body, charge.receipt)

    def retry(self, charge: Charge) -> None:
        del charge
        self._note("retry")

    def park(self, charge: Charge) -> None:
        del charge
        self._note("park")

    def miss(self, charge: Charge) -> None:
        del charge
        self._note("miss")

    def abandon(self, charge: Charge) -> None:
        del charge
        self._note("abandon")

    def fail(self, charge: Charge) -> StoredRelease | None:
        del charge
        self._note("fail")
        return self.found

    def _note(self, act: str) -> None:
        if self.down:
            self.down -= 1
            raise StoreFailed("The store does not respond.")
        self.acts.append(act)


def two_populations() -> ChargeRequest:
    """A question about patients and staff."""
    one = ask("a")
    targets = tuple(
        Target(open_pure(LEDGER, name=name), one.targets[0].event)
        for name in ("patients", "staff")
    )
    return ChargeRequest(
        targets, one.principal, one.request, one.plan, one.loss, one.policy, one.epochs
    )


LEDGER = Ledger(MemoryStore())


def charged() -> Charge:
    found = LEDGER.reserve(two_populations(), lease_ms=60_000)
    assert isinstance(found, Charge)
    return found


CHARGE = charged()
BROKEN, DRAWN = Broken(ENGINE, drawn=False), Broken(NOISE, drawn=True)
LATE = Broken(TIME, drawn=False)
ANSWER = b"an answer"


class Case:
    """A charge whose attempts end as they are given: with bytes, or with an error."""

    is_overdue = False

    def __init__(self, notes: Notes, *ends: bytes | Exception) -> None:
        self.notes, self._ends = notes, iter(ends)
        self.charges: list[Charge] = []

    def once(self, charge: Charge) -> bytes:
        self.charges.append(charge)
        end = next(self._ends)
        if isinstance(end, bytes):
            return end
        raise end

    def tell(self, trouble: Trouble) -> None:
        assert trouble.populations == ("patients", "staff")
        assert trouble.receipt == CHARGE.receipt
        self.notes.acts.append(f"told {trouble.what} {trouble.stage}")

    def wait(self) -> None:
        self.notes.acts.append("wait")

    def run(self, *, timed: bool = False, **given: Any) -> StoredRelease:
        given.setdefault("tell", self.tell)
        if timed:
            given["deadline"] = self
        return run_below(self.notes, CHARGE, self.once, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("timed", "acts"), [(False, ["keep"]), (True, ["wait", "keep"])], ids=["now", "timed"]
)
def test_an_answer_is_stored_under_its_receipt(
    timed: bool,  # noqa: FBT001 - whether there is a deadline
    acts: list[str],
) -> None:
    case = Case(Notes(), ANSWER)
    assert case.run(timed=timed) == StoredRelease(ANSWER, CHARGE.receipt)
    assert case.notes.acts == acts
    assert case.charges == [CHARGE]


@pytest.mark.parametrize(
    ("timed", "acts"),
    [
        (False, ["retry", "told retried engine", "keep"]),
        (True, ["wait", "retry", "told retried engine", "keep"]),
    ],
    ids=["now", "timed"],
)
def test_before_a_draw_an_attempt_is_made_again_and_recorded(
    timed: bool,  # noqa: FBT001 - whether there is a deadline
    acts: list[str],
) -> None:
    case = Case(Notes(), BROKEN, ANSWER)
    assert case.run(timed=timed).body == ANSWER
    assert case.notes.acts == acts
    assert case.charges == [CHARGE, CHARGE.run_again()]


FAILURES: dict[str, tuple[list[Exception], list[str], tuple[str, bool]]] = {
    "after a draw": ([DRAWN], ["fail", "told failed noise"], (NOISE, True)),
    "twice": (
        [BROKEN, Broken(WORKER, drawn=False)],
        ["retry", "told retried engine", "fail", "told failed worker"],
        (WORKER, False),
    ),
    "late twice": (
        [LATE, LATE],
        ["retry", "told retried time", "fail", "told failed time"],
        (TIME, False),
    ),
    "by something that nobody foresaw": (
        [RuntimeError(WORDS)],
        ["fail", "told failed worker"],
        (WORKER, True),
    ),
}


@pytest.mark.parametrize(("ends", "acts", "told"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_recorded_and_then_told(
    ends: list[Exception], acts: list[str], told: tuple[str, bool]
) -> None:
    case = Case(Notes(), *ends)
    with pytest.raises(Broken) as caught:
        case.run()
    assert (caught.value.stage, caught.value.drawn) == told
    assert caught.value not in ends
    assert case.notes.acts == acts


def test_what_is_late_at_a_deadline_is_missed_and_not_tried_again() -> None:
    for ends, before in (([LATE], []), ([BROKEN, LATE], ["retry", "told retried engine"])):
        case = Case(Notes(), *ends)
        with pytest.raises(Broken) as caught:
            case.run(timed=True)
        assert (caught.value.stage, caught.value.drawn) == (TIME, False)
        assert case.notes.acts == ["wait", *before, "miss", "told late time"]


@pytest.mark.parametrize("end", [ANSWER, LATE, Broken(TIME, drawn=True)])
def test_an_answer_that_is_overdue_is_lost_and_stops_nothing(end: bytes | Exception) -> None:
    """Whether it was ready or not must not show, because its time was paid for only once."""
    case = Case(Notes(), end)
    case.is_overdue = True
    with pytest.raises(AnswerLost):
        case.run(timed=True)
    assert case.notes.acts == ["wait", "abandon", "told overdue time"]


def test_a_failure_is_a_failure_also_if_its_time_was_paid_for() -> None:
    case = Case(Notes(), BROKEN, Broken(WORKER, drawn=False))
    case.is_overdue = True
    with pytest.raises(Broken):
        case.run(timed=True)
    assert case.notes.acts[0] == "wait"
    assert case.notes.acts[-2:] == ["fail", "told failed worker"]


def test_another_failure_at_a_deadline_is_a_failure() -> None:
    case = Case(Notes(), DRAWN)
    with pytest.raises(Broken):
        case.run(timed=True)
    assert case.notes.acts == ["wait", "fail", "told failed noise"]


@pytest.mark.parametrize("ends", [[], [BROKEN]])
def test_an_outage_parks_the_charge(ends: list[Exception]) -> None:
    case = Case(Notes(), *ends, EngineUnreachable(WORDS))
    with pytest.raises(EngineUnreachable, match="ask the same question again") as caught:
        case.run()
    assert WORDS not in str(caught.value)
    before = ["retry", "told retried engine"] if ends else []
    assert case.notes.acts == [*before, "park", "told unreachable engine"]


def test_a_charge_that_was_retried_already_is_not_tried_again() -> None:
    case = Case(Notes(), BROKEN, ANSWER)
    with pytest.raises(Broken):
        run_below(case.notes, CHARGE.run_again(), case.once)  # type: ignore[arg-type]
    assert case.notes.acts == ["fail"]


def test_a_report_that_fails_changes_nothing() -> None:
    def full_disk(_: Trouble) -> None:
        raise OSError(28, "No space left on device")

    case = Case(Notes(), BROKEN, ANSWER)
    assert case.run(tell=full_disk).body == ANSWER


def test_an_answer_that_was_stored_after_all_is_given() -> None:
    stored = StoredRelease(ANSWER, CHARGE.receipt)
    case = Case(Notes(found=stored), DRAWN)
    assert case.run() == stored
    assert case.notes.acts == ["fail", "told failed noise"]


# The store ------------------------------------------------------------------------------------


@pytest.mark.parametrize("down", [1, 240])
def test_an_answer_is_kept_for_a_minute_while_the_store_does_not_respond(
    down: int, clock: FakeClock
) -> None:
    case = Case(Notes(down=down), ANSWER)
    assert case.run().body == ANSWER
    assert len(case.charges) == 1
    assert clock.now == 50 + down / 4


def test_a_store_that_does_not_respond_for_a_minute_is_a_failure(clock: FakeClock) -> None:
    case = Case(Notes(down=241), ANSWER)
    with pytest.raises(Broken) as caught:
        case.run()
    assert (caught.value.stage, caught.value.drawn) == (STORE, True)
    assert case.notes.acts == ["fail", "told failed store"]
    assert clock.now == 110.0


@pytest.mark.parametrize(
    ("down", "acts"),
    [
        (240, ["retry", "told retried engine", "keep"]),
        # without a record there is no second attempt
        (241, ["fail", "told failed engine"]),
    ],
)
def test_nothing_is_tried_again_before_that_is_recorded(down: int, acts: list[str]) -> None:
    case = Case(Notes(down=down), BROKEN, ANSWER)
    if acts[0] == "fail":
        with pytest.raises(Broken):
            case.run()
    else:
        case.run()
    assert case.notes.acts == acts


def keeping(error: Exception) -> Callable[[Charge, bytes], StoredRelease]:
    def keep(charge: Charge, body: bytes) -> StoredRelease:
        assert (charge, body) == (CHARGE, ANSWER)
        raise error

    return keep


@pytest.mark.parametrize("error", [AnswerLost(), Withdrawn("by its owner")])
def test_an_answer_that_another_replaced_or_an_owner_withdrew_is_no_failure(
    error: Exception,
) -> None:
    case = Case(Notes(), ANSWER)
    with pytest.raises(type(error)) as caught:
        case.run(keep=keeping(error))
    assert caught.value is error
    assert case.notes.acts == []


def test_an_answer_that_cannot_be_stored_is_a_failure_at_once(clock: FakeClock) -> None:
    case = Case(Notes(), ANSWER)
    with pytest.raises(Broken) as caught:
        case.run(keep=keeping(ValueError(WORDS)))
    assert (caught.value.stage, caught.value.drawn) == (STORE, True)
    assert case.notes.acts == ["fail", "told failed store"]
    assert clock.now == 50.0


def test_a_failure_is_recorded_later_while_the_store_does_not_respond(
    monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    threads: list[dict[str, Any]] = []

    def thread(**given: Any) -> SimpleNamespace:
        threads.append(given)
        return SimpleNamespace(start=lambda: given["target"](*given["args"]))

    monkeypatch.setattr(below_charge, "Thread", thread)
    case = Case(Notes(down=4), DRAWN)
    with pytest.raises(Broken):
        case.run()
    assert [each["daemon"] for each in threads] == [True]
    assert case.notes.acts == ["fail", "told failed noise"]
    assert clock.now == 51.0
