from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.audit.replay import (
    BrokenPromise,
    RecordingGateway,
    ReplayingGateway,
    square_distance,
)
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InternalError
from tacit.mechanisms.additive_noise import AddNoise
from tacit.mechanisms.gateway import Gateway
from tacit.noise.inversion import Categorical, Inversion
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.entropy import ScriptedEntropy

Program = Callable[[str, Gateway], object]

LETTERS = "abc"
NOISE = AddNoise(DiscreteLaplace(Fraction(10)))
OTHER_NOISE = AddNoise(DiscreteLaplace(Fraction(9)))
ROWS = st.text(alphabet=LETTERS, max_size=10)

COIN = AddNoise(Inversion(Categorical((1, 1))))
ONE = Sensitivity.of(1, Norm.L1, Rule("a row changes a count by 1"))
HEADS = 2**64 - 1


def moved_by(amount: int, norm: Norm = Norm.L1) -> Sensitivity:
    return Sensitivity.of(amount, norm, Rule("a row changes a count by 1"))


def count(rows: str, gateway: Gateway, claim: int = 1, norm: Norm = Norm.L1) -> list[int]:
    counts = np.array([rows.count(letter) for letter in LETTERS])
    return gateway.release(Secret(counts), moved_by(claim, norm), NOISE).tolist()


def audit(program: Program, rows: str, neighbour: str) -> tuple[object, object]:
    recording = RecordingGateway(SystemEntropy(b"the hash of a charge"))
    told = program(rows, recording)
    replaying = ReplayingGateway(recording.calls)
    retold = program(neighbour, replaying)
    replaying.finish()
    return told, retold


def count_until_large(rows: str, gateway: Gateway) -> None:
    count(rows, gateway)
    if "z" in rows:
        count(rows, gateway)


def count_with_a_scale_of_the_data(rows: str, gateway: Gateway) -> None:
    noise = OTHER_NOISE if "z" in rows else NOISE
    gateway.release(Secret(np.array([1])), moved_by(1), noise)


def count_with_a_claim_of_the_data(rows: str, gateway: Gateway) -> None:
    count(rows, gateway, claim=2 if "z" in rows else 1)


def count_the_letters_that_occur(rows: str, gateway: Gateway) -> None:
    counts = np.array([rows.count(letter) for letter in sorted(set(rows))])
    gateway.release(Secret(counts), moved_by(1), NOISE)


@pytest.mark.parametrize("norm", list(Norm))
@given(rows=ROWS, row=st.sampled_from(LETTERS))
def test_an_honest_count_passes_and_tells_the_same_twice(
    norm: Norm, rows: str, row: str
) -> None:
    told, retold = audit(
        lambda rows, gateway: count(rows, gateway, norm=norm), rows, rows + row
    )
    assert told == retold
    assert len(told) == len(LETTERS)


@given(ROWS, st.sampled_from(LETTERS))
def test_a_sensitivity_too_small_by_one_is_caught(rows: str, row: str) -> None:
    with pytest.raises(BrokenPromise, match="root of 1, but the square root of 0 was decl"):
        audit(lambda rows, gateway: count(rows, gateway, claim=0), rows, rows + row)


@given(ROWS, st.permutations(LETTERS))
def test_two_rows_break_the_promise_for_one(rows: str, letters: list[str]) -> None:
    replaced = rows + letters[0], rows + letters[1]
    assert audit(lambda rows, gateway: count(rows, gateway, claim=2), *replaced)
    with pytest.raises(BrokenPromise, match="root of 4, but the square root of 1 was decl"):
        audit(count, *replaced)


def test_one_batch_more_on_the_neighbour_is_caught() -> None:
    with pytest.raises(BrokenPromise, match="opens more batches than the 1 of"):
        audit(count_until_large, "ab", "abz")


def test_one_batch_less_on_the_neighbour_is_caught_at_the_end() -> None:
    with pytest.raises(BrokenPromise, match="opens 1 batches, but the recorded run opened 2"):
        audit(count_until_large, "abz", "ab")


def test_as_many_batches_on_both_sides_pass() -> None:
    audit(count_until_large, "abz", "abbz")


@pytest.mark.parametrize(
    "program", [count_with_a_scale_of_the_data, count_with_a_claim_of_the_data]
)
def test_a_draw_or_a_claim_that_depends_on_the_data_is_caught(program: Program) -> None:
    audit(program, "ab", "abb")
    with pytest.raises(BrokenPromise, match="Batch 0 has a different draw or sensitivity"):
        audit(program, "ab", "abz")


def test_a_length_that_depends_on_the_data_is_caught() -> None:
    audit(count_the_letters_that_occur, "ab", "abb")
    with pytest.raises(BrokenPromise, match="Batch 0 has another number of values"):
        audit(count_the_letters_that_occur, "ab", "abc")


def test_a_broken_second_batch_is_named() -> None:
    def twice(rows: str, gateway: Gateway) -> None:
        count(rows, gateway)
        count(rows * 2, gateway)

    with pytest.raises(BrokenPromise, match="Batch 1 changes by the square root of 4"):
        audit(twice, "ab", "abc")


def test_a_recording_keeps_what_was_opened_claimed_drawn_and_released() -> None:
    recording = RecordingGateway(SystemEntropy(b"the hash of a charge"))
    told = count("aab", recording)
    [call] = recording.calls
    assert call.opened.tolist() == [2, 1, 0]
    assert (call.sensitivity, call.draw) == (moved_by(1), NOISE)
    assert call.released.tolist() == told


@given(st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 2), max_size=5))
def test_a_distance_is_exact_where_64_bits_would_wrap(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    moves = [Fraction(abs(one - other)) for one, other in pairs]
    assert square_distance(left, right, Norm.L1) == sum(moves) ** 2
    assert square_distance(left, right, Norm.L2) == sum(move**2 for move in moves)
    assert square_distance(left, right, Norm.LINF) == max(moves, default=Fraction(0)) ** 2


def test_64_bits_would_have_hidden_a_move() -> None:
    left, right = np.array([2**63 - 1]), np.array([-(2**63) + 1])
    assert np.abs(left - right).tolist() == [2]
    assert square_distance(left, right, Norm.L1) == (2**64 - 2) ** 2


def test_a_batch_that_is_overwritten_after_its_recording_is_still_compared() -> None:
    batch = np.array([5])
    recording = RecordingGateway(ScriptedEntropy([HEADS]))
    recording.release(Secret(batch), ONE, COIN)
    batch[0] = 500
    with pytest.raises(BrokenPromise):
        ReplayingGateway(recording.calls).release(Secret(batch), ONE, COIN)


def test_a_released_batch_that_is_changed_is_replayed_as_it_was() -> None:
    recording = RecordingGateway(ScriptedEntropy([HEADS]))
    released = recording.release(Secret(np.array([5])), ONE, COIN)
    released += 1
    assert recording.calls[0].released.tolist() == [6]


def test_the_text_of_a_broken_promise_is_for_the_operator() -> None:
    assert issubclass(BrokenPromise, InternalError)
