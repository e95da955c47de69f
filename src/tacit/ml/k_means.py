"""k-means clustering: centres are found on a noisy coreset, and refined by two Lloyd steps.

`PrefixTree` divides the space by public random planes through the centre of the bounds. Noisy
counts show which cells of the tree have enough rows, and the noisy mean of each such cell is a
point of the coreset. An ordinary k-means on the coreset reads released numbers only. Two steps
of Lloyd's algorithm then move each centre to the noisy mean of the rows that are nearest to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from hashlib import sha256
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.cluster import KMeans as ExactKMeans

from tacit.core import Composed, Event, Keys
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.finite_algebra import finite, float_of, floats_of, parameter, root_of
from tacit.ml.sufficient_statistics import (
    Matrix,
    NoisySums,
    Points,
    axis_sums,
    count_sums,
    event_of,
    release_sums,
)
from tacit.noise import Integers
from tacit.plan import REACH, Comparison, StepsKey, Training, TrainingSteps, TreeTally
from tacit.plan import Steps as Number
from tacit.plan import steps as grid_steps

LEAST_ROWS = 60
"""The least number of rows of a child node; a node with less than twice as many is a leaf."""

Node = tuple[int, int]
"""A level, from 1 on, and the index of the node in that level; (0, 0) is the root."""


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """A binary tree of rows, split by ``depth`` public planes through the centre.

    The planes are derived from a hash, so they are public. The privacy guarantee does not
    depend on which planes they are.
    Reference: Charikar 2002 (SimHash); Chang, Ghazi, Kumar, Manurangsi 2021 (the coreset).
    """

    points: Points
    depth: int

    def counts(self, max_rows: int, share: Fraction) -> NoisySums:
        """Return the noisy row counts of all nodes; each row is in one node of each level."""
        tally = TreeTally(self.cell, self.depth, 2, max_rows)
        return NoisySums((tally,), self.depth, share, acute=True)

    @property
    def cell(self) -> grid_steps.Steps:
        """The index of a row's node in the last level."""
        sides: list[grid_steps.Steps] = []
        for level in range(self.depth):
            bit = grid_steps.WholeSteps(2 ** (self.depth - 1 - level))
            sides.append(
                grid_steps.CaseSteps(((self._beyond(level), bit),), grid_steps.WholeSteps(0))
            )
        return reduce(grid_steps.SumSteps, sides)

    def leaves(self, released: Integers, noise: float) -> dict[Node, float]:
        """Return the leaves of the tree and their approximate numbers of rows.

        A node branches while it has enough rows for two children. Children with too few rows
        are left out.
        """
        enough = max(4 * noise, LEAST_ROWS)
        sizes = floats_of(released).tolist()
        ends: dict[Node, float] = {}
        open_nodes: list[tuple[Node, float]] = [((0, 0), float("inf"))]
        while open_nodes:
            (level, place), size = open_nodes.pop()
            below = [(level + 1, 2 * place), (level + 1, 2 * place + 1)]
            children = []
            if level < self.depth and size >= 2 * enough:
                # counts are stored level by level, from the top
                sized = [(node, sizes[2 ** node[0] - 2 + node[1]]) for node in below]
                children = [(node, count) for node, count in sized if count >= enough / 2]
            open_nodes += children
            if not children:
                ends[level, place] = max(1.0, size if size < float("inf") else 1.0)
        return dict(sorted(ends.items()))

    def key(self, nodes: list[Node]) -> StepsKey:
        """Return the key that groups rows by the leaf that contains them."""
        places = {node: place for place, node in enumerate(nodes)}
        return StepsKey("node", self._place((0, 0), places), Keys(tuple(range(len(nodes)))))

    def _place(self, node: Node, places: dict[Node, int]) -> grid_steps.Steps:
        """Return the expression for the index of a row's leaf, as nested cases over planes."""
        level, at = node
        if node in places or level == self.depth:
            return grid_steps.WholeSteps(places.get(node))
        left, right = (self._place((level + 1, 2 * at + side), places) for side in (0, 1))
        if left == right:  # neither child is a counted leaf
            return left
        return grid_steps.CaseSteps(((self._beyond(level), right),), left)

    def _beyond(self, level: int) -> grid_steps.Condition:
        """Return the condition that a row is on the second side of a plane."""
        return grid_steps.CompareSteps(
            Comparison.AT_LEAST, self._offset(level), grid_steps.WholeSteps(0)
        )

    def _offset(self, level: int) -> grid_steps.Steps:
        """Return the distance of a row from a plane with a nearly Gaussian direction."""
        parts: list[grid_steps.Steps] = [
            grid_steps.ProductSteps(
                grid_steps.WholeSteps(_normal(f"{level} {place}")), axis.steps
            )
            for place, axis in enumerate(self.points.axes)
        ]
        return reduce(grid_steps.SumSteps, parts)


def _normal(name: str) -> int:
    """Return a public integer from -128 to 128 that is nearly normally distributed.

    It is the number of ones in a hash of 256 bits, less 128.
    """
    digest = sha256(f"tacit plane {name}".encode()).digest()
    return int.from_bytes(digest).bit_count() - 128


# ------------------------------------------------------------------ the estimator

DEPTH = 9
LLOYD_STEPS = 2
SHARES = Fraction(35, 100), Fraction(35, 100), Fraction(12, 100), Fraction(3, 100)
"""The shares of the privacy loss: for the counts of the tree, for the sums of its leaves, and
in each Lloyd step for the sums and for the counts of clusters."""


class KMeans(TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """k-means clustering with differential privacy.

    A tree of public planes splits the rows while noisy counts are large enough. The noisy mean
    of a leaf, weighted by its noisy count, represents its rows. An ordinary k-means finds the
    centres of these weighted points without reading a row. Two Lloyd steps then move the
    centres to the noisy means of the nearest rows. There are no labels and no inertia of the
    training rows, since these would be exact values of the data.

    Guarantee: six Gaussian releases, of counts and of sums.
    Reference: Chang, Ghazi, Kumar, Manurangsi 2021; Blum, Dwork, McSherry, Nissim 2005 (Lloyd).

    Example:
        >>> KMeans(n_clusters=3, bounds=(-1, 1), norm=1).get_params()["n_clusters"]
        3
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        norm: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.norm = norm

    def event(self, training: Training) -> Event:
        """Describe the releases: noise on the tree, on its leaves, and in each Lloyd step."""
        tree, leaves, *lloyd = self._parts(training)
        return Composed(
            (
                event_of([tree, leaves], training, self.rho),
                *(event_of(lloyd, training, self.rho) for _ in range(LLOYD_STEPS)),
            )
        )

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Scan the rows for the tree, for its leaves, and once for each Lloyd step."""
        points = self._points(training)
        tree, (counts, sums, *lloyd) = PrefixTree(points, DEPTH), self._parts(training)
        given = training, self.rho, gateway, points.inside
        (found,) = yield from release_sums([counts], *given)
        noise = root_of(counts.mechanism(training, self.rho).variance)
        leaves = tree.leaves(found, noise)
        (totals,) = yield from release_sums([sums], *given, key=tree.key(list(leaves)))
        weights = np.array(list(leaves.values()))
        reach = (points.square / REACH**2) ** 0.5
        coreset = within(_by_group(totals, len(points.axes)) / weights[:, None], reach)
        centres = self._initial_centres(coreset, weights)
        least = 4 * root_of(lloyd[1].mechanism(training, self.rho).variance)
        for _ in range(LLOYD_STEPS):
            totals, sizes = yield from release_sums(lloyd, *given, key=nearest(points, centres))
            rows = floats_of(sizes)[:, None]
            moved = within(_by_group(totals, len(points.axes)) / np.maximum(rows, 1.0), reach)
            centres = np.where(rows >= least, moved, centres)
        ends = np.array([float_of(REACH * axis.unit) for axis in points.axes])
        origin = np.array([float_of(axis.centre) for axis in points.axes])
        return (parameter("cluster_centers_", origin + centres * ends),)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the cluster of each row of ``X``."""
        return self.transform(X).argmin(axis=1)

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Return the distance of each row of ``X`` from each centre."""
        return np.linalg.norm(
            self._validate_rows(X)[:, None, :] - self.cluster_centers_, axis=2
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _initial_centres(self, coreset: Matrix, weights: Matrix) -> Matrix:
        """Return the centres of the coreset.

        Where it has fewer points than clusters, fixed points with tiny weights are added.
        """
        missing, size = max(0, self.n_clusters - len(coreset)), coreset.shape[1]
        fillers = [np.eye(size)[at % size] / (2 + at // size) for at in range(missing)]
        coreset = np.vstack([coreset, *fillers])
        weights = np.append(weights, np.full(missing, 1e-6))
        # the coreset is released already; with a fixed seed, noise is the only randomness
        found = ExactKMeans(self.n_clusters, n_init=10, random_state=0)
        with catch_warnings():
            simplefilter("ignore")  # scikit-learn warns about duplicate points
            return np.asarray(found.fit(coreset, sample_weight=weights).cluster_centers_)

    def _points(self, training: Training) -> Points:
        if self.n_clusters < 1:
            raise InvalidValue(f"n_clusters must be at least 1, not {self.n_clusters}.")
        return Points.of(training.features, self.bounds, self.norm)

    def _parts(self, training: Training) -> list[NoisySums]:
        points, most = self._points(training), training.max_rows
        return [
            PrefixTree(points, DEPTH).counts(most, SHARES[0]),
            axis_sums(points.axes, points.square, most, SHARES[1]),
            axis_sums(points.axes, points.square, most, SHARES[2]),
            count_sums(most, SHARES[3]),
        ]


def nearest(points: Points, centres: Matrix) -> StepsKey:
    """Return the key that groups rows by the nearest centre, in integer arithmetic.

    A row v is nearest to the centre c for which 2vc - cc is greatest. The cases are tried in
    order, so a centre only has to be compared with the centres after it, and the first of
    several nearest centres counts.
    """
    whole = np.rint(np.clip(centres, -1, 1) * REACH).astype(object)
    scores: list[Number] = []
    for centre in whole.tolist():
        parts: list[Number] = [
            grid_steps.ProductSteps(grid_steps.WholeSteps(2 * int(at)), axis.steps)
            for at, axis in zip(centre, points.axes, strict=True)
        ]
        scores.append(
            reduce(
                grid_steps.SumSteps,
                [*parts, grid_steps.WholeSteps(-sum(int(at) ** 2 for at in centre))],
            )
        )
    whens = tuple(
        (_greatest(score, scores[place + 1 :]), grid_steps.WholeSteps(place))
        for place, score in enumerate(scores)
    )
    number = grid_steps.CaseSteps(whens, grid_steps.WholeSteps(None))
    return StepsKey("cluster", number, Keys(tuple(range(len(scores)))))


def within(rows: Matrix, reach: float) -> Matrix:
    """Scale points down to the distance from the centre within which all rows lie."""
    lengths = np.linalg.norm(finite(rows), axis=1, keepdims=True)
    return finite(finite(rows) * np.minimum(1.0, reach / np.maximum(lengths, 1e-300)))


def _greatest(score: Number, others: Sequence[Number]) -> grid_steps.AllOf:
    return grid_steps.AllOf(
        tuple(grid_steps.CompareSteps(Comparison.AT_LEAST, score, other) for other in others)
    )


def _by_group(totals: Any, axes: int) -> Matrix:
    """Return the sums of axes as a matrix with one row per group; axes go from -1 to 1."""
    return floats_of(totals).reshape(axes, -1).T / REACH
