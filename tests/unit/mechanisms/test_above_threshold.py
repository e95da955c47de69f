from fractions import Fraction
from itertools import product
from math import inf, log

import numpy as np
import pytest
from threshold_law import Law, draw_of, law, linf

from tacit.core.event import AboveThresholdV2
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.additive_noise import Laplace
from tacit.mechanisms.sparse_vector import PassThreshold, SparseVector
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import ScriptedEntropy


def worst(left: Law, right: Law) -> float:
    """The greatest change of a log probability between the two."""
    pairs = [(left[r], right[r]) for r in left if max(left[r], right[r]) > 0]
    return max(abs(log(a / b)) if a and b else inf for a, b in pairs)


def loss(sparse: SparseVector, less_noise: float = 1.0) -> float:
    """The worst loss over neighbours of some streams, the noise of answers times so much."""
    draw = draw_of(sparse)
    scales = float(draw.threshold_scale), float(draw.query_scale) * less_noise
    found = []
    for stream in ((0, 0, 0), (9, 9, -9), (9, 9, -9, -9)):
        left = law(stream, *scales, sparse.passes)
        for move in product((0, 1) if sparse.monotone else (-1, 1), repeat=len(stream)):
            near = tuple(np.add(stream, move).tolist())
            found.append(worst(left, law(near, *scales, sparse.passes)))
    return max(found)


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("streams", ["any", "monotone"])
def test_a_stream_loses_what_is_claimed_and_more_with_half_the_noise(
    passes: int, streams: str
) -> None:
    sparse = SparseVector(Fraction(1, 2), Fraction(1), passes, monotone=streams == "monotone")
    assert loss(sparse) <= 1.5 + 1e-9
    assert loss(sparse, less_noise=0.5) > 1.9


def test_the_claim_is_nearly_reached() -> None:
    assert loss(SparseVector(Fraction(1, 2), Fraction(1), passes=1, monotone=True)) > 1.49


def test_without_noise_on_the_answers_nothing_is_private() -> None:
    honest = [law(stream, 2.0, 4.0, passes=2) for stream in ((0, 1), (1, 0))]
    broken = [law(stream, 2.0, 0.0, passes=2) for stream in ((0, 1), (1, 0))]
    assert worst(*honest) <= 1.5
    assert broken[0][0, 1] > 0.1
    assert broken[1][0, 1] == 0
    assert worst(*broken) == inf


@pytest.mark.parametrize(("streams", "scale"), [("any", 12), ("monotone", 6)])
def test_noise_grows_with_passes_and_sensitivity(streams: str, scale: int) -> None:
    monotone = streams == "monotone"
    sparse = SparseVector(Fraction(1, 5), Fraction(1, 2), 3, monotone=monotone, threshold=7)
    assert draw_of(sparse) == PassThreshold(7, Fraction(5), Fraction(scale), passes=3)
    assert draw_of(sparse, Fraction(3)) == PassThreshold(
        7, Fraction(15), Fraction(3 * scale), passes=3
    )
    # the noise is for whole steps, one at the least
    assert draw_of(sparse, Fraction(0)) == draw_of(sparse)
    assert draw_of(sparse, Fraction(5, 2)) == draw_of(sparse, Fraction(3))


def test_nothing_is_told_after_the_last_pass() -> None:
    draw = PassThreshold(0, Fraction(1, 100), Fraction(1, 100), passes=2)
    answers = np.array([9, -9, 9, 9, 9])
    assert draw(answers, SystemEntropy(b"test")).tolist() == [1, 0, 1, 0, 0]


def test_the_words_do_not_tell_where_a_stream_stopped() -> None:
    draw = PassThreshold(0, Fraction(1), Fraction(1), passes=1)
    used = []
    for answers in ([99, 0, 0, 0], [-99, -99, -99, -99]):
        entropy = ScriptedEntropy([2**62 + 5] * 100)
        draw(np.array(answers), entropy)
        used.append(entropy.used)
    assert used[0] == used[1]


def test_an_answer_is_seldom_on_the_wrong_side_by_more_than_the_error() -> None:
    sparse = SparseVector(Fraction(1), Fraction(1), passes=1, monotone=False)
    error = int(sparse.error(Fraction("0.95")))
    wrong = [law((sign * (error + 1),), 1.0, 2.0, passes=1)[sign < 0,] for sign in (1, -1)]
    assert max(wrong) <= 0.05
    assert law((-(error // 4),), 1.0, 2.0, passes=1)[1,] > 0.05


@pytest.mark.parametrize(("streams", "scale"), [("any", 30), ("monotone", 15)])
def test_the_error_adds_those_of_the_threshold_and_of_an_answer(
    streams: str, scale: int
) -> None:
    monotone = streams == "monotone"
    sparse = SparseVector(Fraction(1, 7), Fraction(1, 5), passes=3, monotone=monotone)
    each = Fraction("0.975")  # half of what may go wrong is left to either
    parts = Laplace(Fraction(7)).error(each), Laplace(Fraction(scale)).error(each)
    assert sparse.error(Fraction("0.95")) == sum(parts)
    assert parts[0] == 26


def test_the_event_has_both_epsilons() -> None:
    sparse = SparseVector(Fraction(1, 5), Fraction(1, 2), passes=3, monotone=True)
    assert sparse.event(linf(Fraction(9))) == AboveThresholdV2(Fraction(1, 5), Fraction(1, 2))
    with pytest.raises(InvalidValue):
        sparse.event(Sensitivity.of(1, Norm.L1, Rule("another norm")))


def test_no_pass_at_all_is_refused() -> None:
    with pytest.raises(InvalidValue):
        SparseVector(Fraction(1), Fraction(1), passes=0, monotone=False)
