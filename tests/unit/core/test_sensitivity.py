from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.numeric.exact_numbers import sqrt_bounds

NORMS = st.sampled_from(Norm)
FRACTIONS = st.fractions(min_value=-100, max_value=100, max_denominator=100)
VECTORS = st.lists(FRACTIONS, min_size=1, max_size=4)
SQUARES = st.fractions(min_value=0, max_value=10**4, max_denominator=100)
ROW, STEP = Rule("a row moves it"), Rule("a step")
TINY = Fraction(1, 10**40)


def square_norm(vector: list[Fraction], norm: Norm) -> Fraction:
    moves = [abs(move) for move in vector]
    match norm:
        case Norm.L1:
            return sum(moves, start=Fraction(0)) ** 2
        case Norm.L2:
            return sum((move**2 for move in moves), start=Fraction(0))
        case Norm.LINF:
            return max(moves) ** 2


def measured(vector: list[Fraction], norm: Norm) -> Sensitivity:
    return Sensitivity(square_norm(vector, norm), norm, ROW)


# total >= (sqrt(left) + sqrt(right))**2, decided without a root
def covers(total: Fraction, left: Fraction, right: Fraction) -> bool:
    rest = total - left - right
    return rest >= 0 and rest**2 >= 4 * left * right


@given(VECTORS, VECTORS, NORMS)
def test_outputs_side_by_side_move_as_their_listed_vectors_do(
    left: list[Fraction], right: list[Fraction], norm: Norm
) -> None:
    together = measured(left, norm).beside(measured(right, norm), STEP)
    truth = square_norm([*left, *right], norm)
    assert truth <= together.square < truth + TINY
    assert together.norm is norm


@given(st.data(), NORMS, st.integers(1, 4))
def test_a_sum_moves_by_at_most_the_sum_of_moves(
    data: st.DataObject, norm: Norm, size: int
) -> None:
    left, right = (data.draw(st.lists(FRACTIONS, min_size=size, max_size=size)) for _ in "lr")
    added = [mine + theirs for mine, theirs in zip(left, right, strict=True)]
    claim = measured(left, norm).plus(measured(right, norm), STEP)
    assert square_norm(added, norm) <= claim.square


@given(VECTORS, NORMS)
def test_a_sum_of_equal_moves_reaches_the_claim(vector: list[Fraction], norm: Norm) -> None:
    claim = measured(vector, norm).plus(measured(vector, norm), STEP)
    doubled = square_norm([2 * move for move in vector], norm)
    assert doubled <= claim.square < doubled + TINY


@given(SQUARES, SQUARES, NORMS)
def test_a_sum_is_rounded_up_only_and_by_next_to_nothing(
    left: Fraction, right: Fraction, norm: Norm
) -> None:
    claim = Sensitivity(left, norm, ROW).plus(Sensitivity(right, norm, ROW), STEP)
    assert covers(claim.square, left, right)
    assert not covers(claim.square - TINY, left, right)


def test_roots_rounded_down_would_not_cover_a_sum() -> None:
    lower, upper = sqrt_bounds(Fraction(2))
    assert covers((2 * upper) ** 2, Fraction(2), Fraction(2))
    assert not covers((2 * lower) ** 2, Fraction(2), Fraction(2))


@given(VECTORS, FRACTIONS, NORMS)
def test_a_scaled_output_moves_as_its_scaled_vector_does(
    vector: list[Fraction], factor: Fraction, norm: Norm
) -> None:
    scaled = measured(vector, norm).times(factor, STEP)
    assert scaled.square == square_norm([factor * move for move in vector], norm)
    assert scaled.norm is norm


def test_the_norm_matters_side_by_side() -> None:
    threes_and_fours = {
        norm: Sensitivity.of(3, norm, ROW).beside(Sensitivity.of(4, norm, ROW), STEP).amount
        for norm in Norm
    }
    assert threes_and_fours == {Norm.L1: 7, Norm.L2: 5, Norm.LINF: 4}


@given(SQUARES)
def test_an_amount_is_the_root_rounded_up(square: Fraction) -> None:
    amount = Sensitivity(square, Norm.L2, ROW).amount
    assert amount**2 >= square
    assert (amount - TINY) ** 2 < square or amount < TINY


def test_an_amount_from_a_plain_number_is_exact() -> None:
    assert Sensitivity.of(0.1, Norm.L1, ROW).amount == Fraction(1, 10)
    assert Sensitivity.of("1/3", Norm.L2, ROW).square == Fraction(1, 9)


def test_the_proof_grows_with_each_step() -> None:
    rule = Rule("side by side", ("groups=2",), (Rule("groups are disjoint"),))
    left, right = (Sensitivity.of(1, Norm.L1, Rule(name)) for name in ("left", "right"))
    both = left.beside(right, rule).plus(left, Rule("added")).times(Fraction(2), Rule("twice"))
    assert str(both.proof).split("\n") == [
        "twice",
        "  added",
        "    side by side [groups=2]",
        "      groups are disjoint",
        "      left",
        "      right",
        "    left",
    ]


def test_a_sensitivity_below_zero_is_refused_and_shown() -> None:
    with pytest.raises(InvalidValue, match="at least 0, but -1/4 was given"):
        Sensitivity(Fraction(-1, 4), Norm.L1, ROW)
    with pytest.raises(InvalidValue, match="at least 0, but -1/2 was given"):
        Sensitivity.of(-0.5, Norm.L1, ROW)
    assert Sensitivity.of(0, Norm.L1, ROW).amount == 0


def test_different_norms_do_not_meet() -> None:
    one, root = Sensitivity.of(1, Norm.L1, ROW), Sensitivity.of(1, Norm.L2, ROW)
    with pytest.raises(
        InvalidValue, match="same norm can be combined, but these are in L1 and L2"
    ):
        one.beside(root, STEP)
    with pytest.raises(
        InvalidValue, match="same norm can be combined, but these are in L2 and L1"
    ):
        root.plus(one, STEP)


def test_a_mechanism_gets_the_norm_that_it_needs_or_a_refusal() -> None:
    one = Sensitivity.of(1, Norm.L1, ROW)
    assert one.in_norm(Norm.L1) is one
    with pytest.raises(InvalidValue, match=r"in L2 is needed \(the root .* in L1 was given"):
        one.in_norm(Norm.L2)


def test_a_sensitivity_is_frozen() -> None:
    one = Sensitivity.of(1, Norm.L1, ROW)
    with pytest.raises(FrozenInstanceError):
        one.square = Fraction(0)
