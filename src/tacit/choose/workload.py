"""What to measure for a batch of linear queries: that with the least error of all together."""

from fractions import Fraction
from math import gcd

import numpy as np

from tacit.choose.noise import choose_noise
from tacit.core.loss import Loss
from tacit.core.proof import Rule
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.workload import LinearQueries, Numbers, Rows

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
        >>> from tacit.core.proof import Rule
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
