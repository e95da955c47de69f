"""Thresholdout: what it costs, what it tells, and what one unit moves."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.accounting.pricing import leaves, loss_of
from tacit.audit.replay import RecordingGateway
from tacit.core.loss import Loss, Measure
from tacit.core.secret import Secret
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import AddNoise
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.steps import ConstantCondition
from tacit.stream.holdout import STEPS, HoldoutAnswer, HoldoutState, Reaches, Thresholdout

HALF = Fraction(1, 2)
ASKED = Thresholdout(Fraction(3), answers=2, rows=1000, threshold=Fraction(1, 10))


def off(count: int, expected: Fraction = HALF, rows: int = 1000) -> Secret[np.ndarray]:
    return Secret(np.array([count * STEPS - rows * round(expected * STEPS)]))


def test_all_that_it_tells_costs_its_epsilon() -> None:
    for asked in (ASKED, Thresholdout(Fraction("0.7"), 9, 50, HALF, max_rows=3)):
        assert loss_of(asked.event(), Measure.PURE) == Loss.pure(asked.epsilon)


def test_what_agrees_comes_back_and_costs_no_answer() -> None:
    gateway, kept = (
        LiveGateway(SystemEntropy(b"a charge")),
        HoldoutState(ASKED.sparse.threshold, 2),
    )
    for count in range(450, 551, 10):
        told, after = ASKED.ask(HALF, off(count), kept, gateway)
        assert (told, after) == (HoldoutAnswer(HALF, off=False), kept)


def test_what_is_far_off_is_told_with_noise_until_all_answers_are_given() -> None:
    entropy = SystemEntropy(b"a charge")
    gateway, kept = LiveGateway(entropy), ASKED.start(entropy)
    for left, count in ((1, 900), (0, 100)):
        told, kept = ASKED.ask(HALF, off(count), kept, gateway)
        assert told.off
        assert float(told.value) == pytest.approx(count / 1000, abs=0.1)
        assert kept.left == left
    with pytest.raises(InvalidValue, match="all of its 2 answers"):
        ASKED.ask(HALF, off(500), kept, gateway)


def test_what_is_done_at_the_gateway_is_what_is_charged() -> None:
    gateway = RecordingGateway(SystemEntropy(b"a charge"))
    kept = HoldoutState(ASKED.sparse.threshold, 2)
    ASKED.ask(HALF, off(1000), kept, gateway)
    compared, read = gateway.calls
    threshold, reading = (leaf for leaf, _ in leaves(ASKED.event()))
    assert isinstance(compared.draw, Reaches)
    step = compared.sensitivity.amount
    assert compared.draw.scale == 2 * ASKED.answers * step / threshold.query_epsilon
    assert isinstance(read.draw, AddNoise)
    assert read.draw.sampler.scale == reading.scale
    assert reading.sensitivity == read.sensitivity.amount


@pytest.mark.parametrize("lie", [False, True])
def test_a_unit_moves_what_is_compared_by_its_rows_at_most(lie: bool) -> None:  # noqa: FBT001
    asked = Thresholdout(Fraction(1), 1, 10, HALF, max_rows=2)
    most = asked.reach // (2 if lie else 1)  # the lie: a row is off by half at most
    moves = []
    for expected in (Fraction(0), Fraction(1, 3), Fraction(1)):
        tally = asked.tally(ConstantCondition(True), expected)
        low = tally.steps.otherwise.value
        high = tally.steps.whens[0][1].value
        rows = [a + b for a, b in product((0, low, high), repeat=2)]
        assert tally.low <= min(rows)
        assert max(rows) <= tally.high
        moves += [abs(one - other) for one, other in product(rows, repeat=2)]
    assert (max(moves) <= most) is not lie


@pytest.mark.parametrize(
    "settings", [(0, 1, 1, HALF), (1, 0, 1, HALF), (1, 1, 0, HALF), (1, 1, 1, 1), (1, 1, 1, 0)]
)
def test_a_holdout_that_is_none_is_refused(settings: tuple[int, int, int, int]) -> None:
    epsilon, answers, rows, threshold = settings
    with pytest.raises(InvalidValue, match="A holdout has"):
        Thresholdout(Fraction(epsilon), answers, rows, Fraction(threshold))


def test_the_noisy_threshold_does_not_show() -> None:
    assert repr(ASKED.start(SystemEntropy(b"a charge"))) == (
        "<a noisy threshold, 2 answers left>"
    )
