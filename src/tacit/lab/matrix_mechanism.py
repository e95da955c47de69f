"""The matrix mechanism on integers: many linear queries over the same cells.

The mechanism adds Gaussian noise to a few linear combinations of the cells, the strategy, and
computes the answers to all queries from these by least squares. `choose_queries` chooses the
strategy with the smallest total squared error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np
from numpy.typing import NDArray

from tacit.choose import choose_noise
from tacit.core import GaussianNoise, Loss, Norm, Rule, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms import AddNoise, Gateway, Gaussian
from tacit.noise import DiscreteGaussian, Integers, narrow
from tacit.numeric.entropy import Entropy

Rows = tuple[tuple[int, ...], ...]
"""Linear queries: one per row, with an integer coefficient for each cell."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinearQueries:
    """The matrix mechanism: integer combinations of cells with Gaussian noise.

    The noise is added to ``strategy`` times the cells. `answers` computes other queries from
    the release by least squares, which is post-processing. A batch may contain several tables,
    one after the other.

    Guarantee: if one unit changes the cells by at most d in L1, it changes the combinations by
    at most d times the largest norm of a column of the strategy, in the integers that are
    really used. Queries in the row space of the strategy are answered without bias.
    Reference: Li, Miklau, Hay, McGregor, Rastogi 2015, proposition 3 (the matrix mechanism).

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> once = Sensitivity.of(1, Norm.L1, Rule("a person is in one cell"))
        >>> both = LinearQueries(((1, 1), (1, -1)), Fraction(100))
        >>> both.event(once)
        GaussianNoise(sensitivity_square=Fraction(2, 1), variance=Fraction(100, 1))
        >>> both.answers(np.array([10, 4]), ((1, 0), (0, 1))).round(6).tolist()
        [7.0, 3.0]
    """

    strategy: Rows
    variance: Fraction

    def __post_init__(self) -> None:
        if not self.strategy or len({len(row) for row in self.strategy}) != 1:
            raise InvalidValue(
                "A strategy needs at least one row, and each row one coefficient per cell."
            )
        if not any(map(any, self.strategy)):
            raise InvalidValue(
                "All coefficients of the strategy are 0; at least one must differ from 0."
            )
        Gaussian(self.variance)  # raises if the variance is not above 0

    @property
    def column_square(self) -> int:
        """The largest squared norm of a column: the squared sensitivity to one cell."""
        columns = zip(*self.strategy, strict=True)
        squares: list[int] = [sum(each * each for each in column) for column in columns]
        return max(squares)

    def event(self, sensitivity: Sensitivity) -> GaussianNoise:
        """Describe the noise on the strategy, for an L1 sensitivity of the cells."""
        square = sensitivity.in_norm(Norm.L1).square * self.column_square
        return GaussianNoise(square, self.variance)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Release the strategy's combinations with noise, table after table."""
        draw = Combined(self.strategy, AddNoise(DiscreteGaussian(self.variance)))
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error of one combination, with at least this probability."""
        return Gaussian(self.variance).error(confidence)

    def answers(self, released: Integers, queries: Rows) -> Numbers:
        """Return the least-squares answers to ``queries`` from a release, table by table."""
        tables = released.astype(np.float64).reshape(-1, len(self.strategy))
        answers: Numbers = (tables @ self._reconstruction(queries).T).ravel()
        return answers

    def deviations(self, queries: Rows) -> Numbers:
        """Return an upper bound on the standard deviation of each answer."""
        spread: Numbers = np.linalg.norm(self._reconstruction(queries), axis=1)
        scaled: Numbers = spread * float(self.variance) ** 0.5
        return scaled

    def _reconstruction(self, queries: Rows) -> Numbers:
        """Return the matrix from the strategy's answers to the answers to ``queries``."""
        strategy = np.array(self.strategy, dtype=np.float64)
        matrix: Numbers = _numbers(queries, strategy.shape[1]) @ np.linalg.pinv(strategy)
        missed = np.abs(matrix @ strategy - np.array(queries, dtype=np.float64)).max()
        if missed > SPANNED * max(1, np.abs(np.array(queries)).max()):
            raise InvalidValue(
                "The strategy does not span these queries, so their answers would be biased; "
                "choose a strategy that spans them."
            )
        return matrix


SPANNED = 1e-6
"""The largest rounding error of floats if the strategy spans a query."""


@dataclass(frozen=True, slots=True)
class Combined:
    """The draw: integer combinations of the cells of each table, each with its own noise.

    Guarantee: the combinations are exact for integers of any size.
    """

    strategy: Rows
    noise: AddNoise

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the combinations with noise."""
        cells = len(self.strategy[0])
        if values.size % cells:
            raise InvalidValue(
                f"The number of values must be a multiple of {cells} cells, but "
                f"{values.size} were given."
            )
        tables = values.astype(object).reshape(-1, cells)
        combined = tables @ np.array(self.strategy, dtype=object).T
        return self.noise(narrow(combined.ravel()), entropy)


def _numbers(queries: Sequence[Sequence[int]], cells: int) -> Numbers:
    if not queries or {len(row) for row in queries} != {cells}:
        raise InvalidValue(f"A query needs one coefficient for each of the {cells} cells.")
    return np.array(queries, dtype=np.float64)


# ------------------------------------------------------------------ choice of a strategy

BITS = 12
"""Number of bits to which a computed strategy is rounded."""

RIDGE = 1e-3
"""The ridge on a Gram matrix, relative to its mean eigenvalue, so that it is invertible."""

MOST_CELLS = 2048
"""The largest number of cells; a matrix of this size takes seconds to decompose."""


def choose_queries(queries: Rows, sensitivity: Sensitivity, loss: Loss) -> LinearQueries:
    """Return the strategy for ``queries`` with the least total squared error within ``loss``.

    Four strategies are compared: the distinct queries themselves; the cells; a binary tree over
    the cells; and the fourth root of the queries' Gram matrix, rounded to integers.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> once = Sensitivity.of(1, Norm.L1, Rule("a person is in one cell"))
        >>> choose_queries(((1, 1), (1, 1), (2, 2)), once, Loss.zcdp("0.5")).strategy
        ((1, 1),)
    """
    cells = len(queries[0]) if queries else 0
    if not 0 < cells <= MOST_CELLS or {len(row) for row in queries} != {cells}:
        raise InvalidValue(
            "Each query needs one coefficient for each cell, and there can be at most "
            f"{MOST_CELLS} cells."
        )
    found = (_distinct(queries), _cells(cells), _tree(cells), _root(queries))
    best = min(filter(None, found), key=lambda rows: squared_error(rows, queries))
    unit = LinearQueries(best, Fraction(1))
    moved = Sensitivity(
        sensitivity.in_norm(Norm.L1).square * unit.column_square,
        Norm.L2,
        Rule(
            "the greatest norm of a column, times what the cells move", (), (sensitivity.proof,)
        ),
    )
    noise = choose_noise([moved], len(best), loss).mechanism
    if not isinstance(noise, Gaussian):
        raise InvalidValue("A batch of queries needs a loss in rho, or a loss with a delta.")
    return LinearQueries(best, noise.variance)


def squared_error(strategy: Rows, queries: Rows) -> float:
    """Return the total squared error of all answers, at one unit of noise."""
    measured = LinearQueries(strategy, Fraction(1))
    return float((measured.deviations(queries) ** 2).sum()) * measured.column_square


def _distinct(queries: Rows) -> Rows:
    """Return the queries without multiples of each other, so that none is measured twice."""
    return tuple(dict.fromkeys(_primitive(row) for row in queries if any(row)))


def _primitive(row: tuple[int, ...]) -> tuple[int, ...]:
    first = next(each for each in row if each)
    divisor = gcd(*row) * (1 if first > 0 else -1)
    return tuple(each // divisor for each in row)


def _cells(cells: int) -> Rows:
    return tuple(tuple(int(i == j) for j in range(cells)) for i in range(cells))


def _tree(cells: int) -> Rows:
    """Return the sums over all nodes of a binary tree, whose leaves are the cells."""
    rows, width = [], 1
    while width < 2 * cells:
        starts = range(0, cells, width)
        rows += [tuple(int(s <= j < s + width) for j in range(cells)) for s in starts]
        width *= 2
    return tuple(dict.fromkeys(rows))


def _root(queries: Rows) -> Rows:
    """Return the fourth root of the Gram matrix, which minimises the sum of squared norms.

    Columns whose norm is below the largest norm get a row of their own that fills the
    difference. This does not increase the sensitivity.
    Reference: Li, Miklau 2012, program 2, the eigen-design, with the weights of the root.
    """
    asked: Numbers = np.array(queries, dtype=np.float64)
    gram = asked.T @ asked
    values, vectors = np.linalg.eigh(gram)
    raised = np.maximum(values, 0) + RIDGE * values.mean()
    root = (vectors * raised**0.25) @ vectors.T
    norms = (root**2).sum(axis=0)
    filled = np.vstack([root, np.diag(np.sqrt(norms.max() - norms))])
    whole = np.rint(filled * (2**BITS / np.abs(filled).max())).astype(np.int64)
    whole = whole[whole.any(axis=1)]
    if np.linalg.cond(whole.astype(np.float64)) > 2**BITS:
        return ()
    return tuple(map(tuple, whole.tolist()))
