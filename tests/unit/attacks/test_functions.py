"""Edges of the attacks; what they reach is in tests/claims."""

import numpy as np
import pytest

from tacit.attacks.answers_gallery import databases, difference
from tacit.attacks.linkage import cells
from tacit.attacks.members_gallery import (
    Predict,
    Ratings,
    confidences,
    likelihood_ratios,
    stands_out,
    tracing,
)
from tacit.attacks.reconstruction import least_squares, refine_estimate
from tacit.errors import InvalidValue


def test_the_rare_item_counts_more_and_an_unknown_one_not_at_all() -> None:
    person, item = np.array([0, 1, 2, 3, 3]), np.array([0, 0, 0, 0, 1])
    same = np.array([5, 5, 5, 5, 5])
    ratings = Ratings.of(person, item, same, same)
    scores = ratings.scores(np.array([0, 1, 99]), np.array([5, 5, 5]), np.array([5, 5, 5]))
    assert scores[3] > 2 * scores[0] > 0
    assert stands_out(scores) == 3
    assert stands_out(np.zeros(4)) is None


def memorising(features: np.ndarray, labels: np.ndarray) -> Predict:
    """A model that is sure of whom it has seen, and of nobody else."""
    seen = {tuple(row): label for row, label in zip(features, labels, strict=True)}

    def predict(rows: np.ndarray) -> np.ndarray:
        yes = np.array([{0: 0.1, 1: 0.9}.get(seen.get(tuple(row), -1), 0.5) for row in rows])
        return np.column_stack([1 - yes, yes])

    return predict


def test_a_model_that_remembers_is_told_from_one_that_has_not_seen() -> None:
    random = np.random.default_rng(3)
    features, labels = np.arange(20).reshape(20, 1), random.integers(0, 2, 20)
    used = np.stack([random.permutation(20) < 10 for _ in range(17)])
    seen = confidences(memorising, features, labels, used)
    ratios = likelihood_ratios(seen[:16], used[:16], seen[16])
    assert (ratios[used[16]] > 0).all()
    assert (ratios[~used[16]] < 0).all()
    with pytest.raises(InvalidValue, match="two shadow models"):
        likelihood_ratios(seen[:2], used[:2], seen[16])


def test_what_cannot_be_attacked_is_refused() -> None:
    with pytest.raises(InvalidValue, match="two people or more"):
        difference(np.array([1.0]), np.array([1.0]), 1)
    with pytest.raises(InvalidValue, match="but 15 were given"):
        databases(15)
    with pytest.raises(InvalidValue, match="columns of the same length"):
        cells([np.zeros(2), np.zeros(3)])


def test_solvers_stop_where_they_are_told_to() -> None:
    asked = np.random.default_rng(4).integers(0, 2, (40, 10)).astype(float)
    bits = np.arange(10) % 2
    rough = least_squares(asked, asked @ bits, steps=1)
    assert not np.allclose(rough, bits)
    assert np.allclose(least_squares(asked, asked @ bits), bits, atol=1e-3)
    assert refine_estimate(asked, asked @ bits, rough, rounds=1).shape == (10,)


def test_tracing_is_a_finding() -> None:
    assert tracing("exact", np.array([2.0, 3.0]), np.array([0.0, 1.0])).success.value == 1
