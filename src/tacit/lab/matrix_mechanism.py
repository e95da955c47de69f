"""Many linear queries about the same cells at once: the matrix mechanism, on integers."""

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
from tacit.noise import DiscreteGaussian, Integers, narrowed
from tacit.numeric.entropy import Entropy

Rows = tuple[tuple[int, ...], ...]
"""Linear queries: one a row, with a whole coefficient for each cell."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinearQueries:
    """Whole combinations of cells with Gaussian noise, from which any others are read.

    What is noised is ``strategy`` times the cells; `answers` reads queries off it by least
    squares, which is post-processing. A batch may hold several tables, one after the other.

    Guarantee: where one unit moves the cells by at most d in L1, it moves what is noised by at
    most d times the greatest norm of a column, in the very integers that are used. Queries that
    the strategy spans are answered without bias.
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
            raise InvalidValue("A strategy has a row or more, each with all of the cells.")
        if not any(map(any, self.strategy)):
            raise InvalidValue("A strategy asks for something: not all of it is 0.")
        Gaussian(self.variance)  # refuses a variance of nothing

    @property
    def column_square(self) -> int:
        """The square of the greatest norm of a column: what a cell that is 1 more moves."""
        columns = zip(*self.strategy, strict=True)
        squares: list[int] = [sum(each * each for each in column) for column in columns]
        return max(squares)

    def event(self, sensitivity: Sensitivity) -> GaussianNoise:
        """Gaussian noise on the strategy, for that L1 sensitivity of the cells."""
        square = sensitivity.in_norm(Norm.L1).square * self.column_square
        return GaussianNoise(square, self.variance)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The strategy's own answers with noise, table after table."""
        draw = Combined(self.strategy, AddNoise(DiscreteGaussian(self.variance)))
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """What an answer of the strategy errs by at most, with at least this probability."""
        return Gaussian(self.variance).error(confidence)

    def answers(self, released: Integers, queries: Rows) -> Numbers:
        """The answers to ``queries`` that least squares reads off a release, table by table."""
        tables = released.astype(np.float64).reshape(-1, len(self.strategy))
        answers: Numbers = (tables @ self._reading(queries).T).ravel()
        return answers

    def deviations(self, queries: Rows) -> Numbers:
        """The standard deviation of each of these answers, at most."""
        spread: Numbers = np.linalg.norm(self._reading(queries), axis=1)
        scaled: Numbers = spread * float(self.variance) ** 0.5
        return scaled

    def _reading(self, queries: Rows) -> Numbers:
        strategy = np.array(self.strategy, dtype=np.float64)
        reading: Numbers = _numbers(queries, strategy.shape[1]) @ np.linalg.pinv(strategy)
        missed = np.abs(reading @ strategy - np.array(queries, dtype=np.float64)).max()
        if missed > SPANNED * max(1, np.abs(np.array(queries)).max()):
            raise InvalidValue(
                "The strategy does not span these queries, so that an answer would be biased; "
                "choose one that does."
            )
        return reading


SPANNED = 1e-6
"""What the floats of a reading can be off by where the strategy spans a query."""


@dataclass(frozen=True, slots=True)
class Combined:
    """The draw: whole combinations of the cells of each table, each with its own noise.

    Guarantee: the combinations are those of the integers, however large.
    """

    strategy: Rows
    noise: AddNoise

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The combinations with noise."""
        cells = len(self.strategy[0])
        if values.size % cells:
            raise InvalidValue(f"A table has {cells} cells, and {values.size} are no such.")
        tables = values.astype(object).reshape(-1, cells)
        combined = tables @ np.array(self.strategy, dtype=object).T
        return self.noise(narrowed(combined.ravel()), entropy)


def _numbers(queries: Sequence[Sequence[int]], cells: int) -> Numbers:
    if not queries or {len(row) for row in queries} != {cells}:
        raise InvalidValue(f"A query has a coefficient for each of the {cells} cells.")
    return np.array(queries, dtype=np.float64)


# ------------------------------------------------------------------ workload
# What to measure for a batch of linear queries: that with the least error of all together.

BITS = 12
"""Fractions of a strategy that is computed are rounded to so many bits."""

RIDGE = 1e-3
"""What is added to a Gram matrix, as a part of its mean eigenvalue, so that it has a root."""

MOST_CELLS = 2048
"""Cells of one batch: the eigenvalues of as many take seconds."""


def choose_queries(queries: Rows, sensitivity: Sensitivity, loss: Loss) -> LinearQueries:
    """The strategy for ``queries`` whose answers have the least squared error within ``loss``.

    Compared are the queries themselves, each once; the cells; a binary tree above them; and
    the fourth root of the queries' Gram matrix, rounded to integers.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> once = Sensitivity.of(1, Norm.L1, Rule("a person is in one cell"))
        >>> choose_queries(((1, 1), (1, 1), (2, 2)), once, Loss.zcdp("0.5")).strategy
        ((1, 1),)
    """
    cells = len(queries[0]) if queries else 0
    if not 0 < cells <= MOST_CELLS or {len(row) for row in queries} != {cells}:
        raise InvalidValue(
            f"Queries have a coefficient for each of the cells, of which {MOST_CELLS} are the "
            "most."
        )
    found = (_asked(queries), _cells(cells), _tree(cells), _root(queries))
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
        raise InvalidValue("A batch of queries needs a budget in rho, or one with a delta.")
    return LinearQueries(best, noise.variance)


def squared_error(strategy: Rows, queries: Rows) -> float:
    """The squared error of all answers together, at a unit's worth of noise."""
    measured = LinearQueries(strategy, Fraction(1))
    return float((measured.deviations(queries) ** 2).sum()) * measured.column_square


def _asked(queries: Rows) -> Rows:
    """The queries without their multiples: what is asked twice is measured once."""
    return tuple(dict.fromkeys(_primitive(row) for row in queries if any(row)))


def _primitive(row: tuple[int, ...]) -> tuple[int, ...]:
    first = next(each for each in row if each)
    divisor = gcd(*row) * (1 if first > 0 else -1)
    return tuple(each // divisor for each in row)


def _cells(cells: int) -> Rows:
    return tuple(tuple(int(i == j) for j in range(cells)) for i in range(cells))


def _tree(cells: int) -> Rows:
    """The sums over the nodes of a binary tree above the cells, the cells among them."""
    rows, width = [], 1
    while width < 2 * cells:
        starts = range(0, cells, width)
        rows += [tuple(int(s <= j < s + width) for j in range(cells)) for s in starts]
        width *= 2
    return tuple(dict.fromkeys(rows))


def _root(queries: Rows) -> Rows:
    """The fourth root of the Gram matrix, whose error is least for a sum of squared norms.

    Columns below the greatest norm are filled up to it by rows of their own, for nothing.
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
