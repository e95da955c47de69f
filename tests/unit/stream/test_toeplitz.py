from itertools import combinations

import numpy as np
import pytest

from tacit.core.sensitivity import Norm
from tacit.errors import InvalidValue
from tacit.stream.factor import ALL, EACH, Window
from tacit.stream.toeplitz import Toeplitz, column_square
from tacit.testing.mechanism_contract import l1, l2

HORIZON = 12
ROOT = Toeplitz.square_root(HORIZON)


def released(factor: Toeplitz, stream: np.ndarray, fresh: np.ndarray) -> list[list[int]]:
    """What leaves, by the noise that is remembered."""
    memory, found = (), []
    for number, (values, drawn) in enumerate(zip(stream, fresh, strict=True)):
        noise, memory = factor.next(number, memory, drawn)
        found.append((values * 2**factor.bits + noise).tolist())
    return found


def decoded(factor: Toeplitz, noised: np.ndarray) -> list[list[int]]:
    """What leaves, computed from the noised integers and nothing else."""
    first, *rest = factor.coefficients
    found: list[list[int]] = []
    for values in noised.tolist():
        recalled = list(zip(rest, reversed(found), strict=False))
        found.append(
            [
                (
                    2 * (2**factor.bits * value - sum(c * past[place] for c, past in recalled))
                    + first
                )
                // (2 * first)
                for place, value in enumerate(values)
            ]
        )
    return found


@pytest.mark.parametrize(
    "factor", [ROOT, Toeplitz.square_root(HORIZON, 3), Toeplitz((7, 3, 3), HORIZON, 2)]
)
def test_what_leaves_is_computed_from_the_noised_integers(factor: Toeplitz) -> None:
    made = np.random.default_rng(5)
    stream = made.integers(-1000, 1000, (HORIZON, 3))
    fresh = made.integers(-(10**6), 10**6, (HORIZON, 3))
    padded = [*factor.coefficients, *[0] * (HORIZON - len(factor.coefficients))]
    matrix = np.array(
        [[padded[i - j] if i >= j else 0 for j in range(HORIZON)] for i in range(HORIZON)]
    )
    assert released(factor, stream, fresh) == decoded(factor, matrix @ stream + fresh)
    # the lie: by the matrix before it was rounded, what leaves still tells the stream
    lie = Toeplitz(
        (
            factor.coefficients[0],
            *(c + 9 for c in factor.coefficients[1:] if c < factor.coefficients[0] - 9),
        ),
        HORIZON,
        factor.bits,
    )
    assert released(factor, stream, fresh) != decoded(lie, matrix @ stream + fresh)


def test_noise_beyond_64_bits_is_remembered_as_it_is() -> None:
    small = np.random.default_rng(5).integers(-1000, 1000, (HORIZON, 2))
    stream = np.zeros_like(small)
    large = small.astype(object) * ROOT.coefficients[0] * 2**60
    found = released(ROOT, stream, large)
    by_hand = decoded(ROOT, large)
    assert found == by_hand
    assert max(map(max, found)) > 2**63


@pytest.mark.parametrize("steps", [1, 2, 3, 5, HORIZON])
def test_a_unit_moves_most_in_the_first_steps_in_a_row(steps: int) -> None:
    coefficients = ROOT.coefficients
    columns = [
        np.array([0] * start + list(coefficients[: HORIZON - start]), dtype=object)
        for start in range(HORIZON)
    ]
    worst = max(
        sum(int(each) ** 2 for each in sum(chosen)) for chosen in combinations(columns, steps)
    )
    assert column_square(coefficients, HORIZON, steps) == worst
    assert ROOT.sensitivity(l2(3), steps).square == 9 * worst


def test_laplace_noise_has_the_sensitivity_of_sums() -> None:
    moved = Toeplitz.independent(HORIZON).sensitivity(l1(2), 3)
    assert (moved.norm, moved.amount) == (Norm.L1, 6)


def test_independent_noise_is_the_draw_itself() -> None:
    factor, drawn = Toeplitz.independent(4), np.array([5, -3])
    assert not factor.grows
    noise, memory = factor.next(2, (), drawn)
    assert (noise.tolist(), memory) == ([5, -3], ())


def test_deviations_are_those_of_the_inverse() -> None:
    matrix = np.array(
        [
            [ROOT.coefficients[i - j] if i >= j else 0 for j in range(HORIZON)]
            for i in range(HORIZON)
        ],
        dtype=float,
    )
    inverse = np.linalg.inv(matrix)
    for window in (EACH, ALL, Window(3)):
        wide = window.steps or HORIZON
        sums = np.array(
            [[float(0 <= i - j < wide) for j in range(HORIZON)] for i in range(HORIZON)]
        )
        wanted = np.linalg.norm(sums @ inverse, axis=1)
        assert ROOT.spread(window) == pytest.approx(wanted)


@pytest.mark.parametrize("coefficients", [(0,), (2, 3), (2, -1), (3, 2, 1, 1)])
def test_a_matrix_whose_worst_steps_are_not_known_is_refused(
    coefficients: tuple[int, ...],
) -> None:
    with pytest.raises(InvalidValue):
        Toeplitz(coefficients, 3)
