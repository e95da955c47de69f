"""k-means: centres found on a noisy coreset, and moved by two noisy steps of Lloyd."""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.cluster import KMeans as ExactKMeans

from tacit.core.event import Composed, Event
from tacit.core.keys import Keys
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.ml.estimator import PrivateEstimator
from tacit.ml.gram import Matrix
from tacit.ml.moments import axis_sums, count_sums
from tacit.ml.noisy_sums import NoisySums, event_of, released
from tacit.ml.points import Points
from tacit.ml.prefix_tree import PrefixTree
from tacit.ml.total_algebra import finite, float_of, floats_of, parameter, root_of
from tacit.plan.axis import REACH
from tacit.plan.bounded import StepsKey
from tacit.plan.estimator import Steps
from tacit.plan.expression import Comparison
from tacit.plan.steps import AllOf, CaseSteps, CompareSteps, ProductSteps, SumSteps, WholeSteps
from tacit.plan.steps import Steps as Number
from tacit.plan.training import Training

DEPTH = 9
LLOYD_STEPS = 2
SHARES = Fraction(35, 100), Fraction(35, 100), Fraction(12, 100), Fraction(3, 100)
"""Of the loss: for the tree, the sums of its leaves, and in each step of Lloyd the sums and the
counts of clusters."""


class KMeans(TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Centres of clusters, of which everything that is released has noise.

    A tree of public planes splits the rows while it counts enough of them; the noisy mean of a
    leaf, as often as it has rows, stands for them. The centres of these are found by the usual
    k-means, which sees no row, and moved twice to the noisy means of the rows that are nearest.
    There are no labels and no inertia of the rows that it was fitted to: those would be exact.

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
        """Gaussian noise on the tree, its leaves, and the clusters of each step of Lloyd."""
        tree, leaves, *lloyd = self._parts(training)
        return Composed(
            (
                event_of([tree, leaves], training, self.rho),
                *(event_of(lloyd, training, self.rho) for _ in range(LLOYD_STEPS)),
            )
        )

    def steps(self, training: Training, gateway: Gateway) -> Steps:
        """A scan of the rows for the tree, one for its leaves, one for each step of Lloyd."""
        points = self._points(training)
        tree, (counts, sums, *lloyd) = PrefixTree(points, DEPTH), self._parts(training)
        given = training, self.rho, gateway, points.inside
        (found,) = yield from released([counts], *given)
        noise = root_of(counts.mechanism(training, self.rho).variance)
        leaves = tree.leaves(found, noise)
        (totals,) = yield from released([sums], *given, key=tree.key(list(leaves)))
        weights = np.array(list(leaves.values()))
        reach = (points.square / REACH**2) ** 0.5
        coreset = within(_by_group(totals, len(points.axes)) / weights[:, None], reach)
        centres = self._started(coreset, weights)
        least = 4 * root_of(lloyd[1].mechanism(training, self.rho).variance)
        for _ in range(LLOYD_STEPS):
            totals, sizes = yield from released(lloyd, *given, key=nearest(points, centres))
            rows = floats_of(sizes)[:, None]
            moved = within(_by_group(totals, len(points.axes)) / np.maximum(rows, 1.0), reach)
            centres = np.where(rows >= least, moved, centres)
        ends = np.array([float_of(REACH * axis.unit) for axis in points.axes])
        origin = np.array([float_of(axis.centre) for axis in points.axes])
        return (parameter("cluster_centers_", origin + centres * ends),)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The cluster of each row of ``X``."""
        return self.transform(X).argmin(axis=1)

    def transform(self, X: Any) -> Any:  # noqa: N803
        """How far each row of ``X`` is from each centre."""
        return np.linalg.norm(self._asked(X)[:, None, :] - self.cluster_centers_, axis=2)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _started(self, coreset: Matrix, weights: Matrix) -> Matrix:
        """The centres of the coreset; points beside it where it has fewer."""
        missing, size = max(0, self.n_clusters - len(coreset)), coreset.shape[1]
        beside = [np.eye(size)[at % size] / (2 + at // size) for at in range(missing)]
        coreset = np.vstack([coreset, *beside])
        weights = np.append(weights, np.full(missing, 1e-6))
        # nothing here is private: a seed makes what is released a function of the noise alone
        found = ExactKMeans(self.n_clusters, n_init=10, random_state=0)
        with catch_warnings():
            simplefilter("ignore")  # about points that lie on one another
            return np.asarray(found.fit(coreset, sample_weight=weights).cluster_centers_)

    def _points(self, training: Training) -> Points:
        if self.n_clusters < 1:
            raise InvalidValue(f"There is a cluster or more, and {self.n_clusters} is none.")
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
    """Groups of rows by the centre that is nearest, in whole numbers; of equals, the first.

    A row v is nearest to the c of which 2vc - cc is greatest. What one centre is not greater
    than in the list is not compared with it again.
    """
    whole = np.rint(np.clip(centres, -1, 1) * REACH).astype(object)
    scores: list[Number] = []
    for centre in whole.tolist():
        parts: list[Number] = [
            ProductSteps(WholeSteps(2 * int(at)), axis.steps)
            for at, axis in zip(centre, points.axes, strict=True)
        ]
        scores.append(
            reduce(SumSteps, [*parts, WholeSteps(-sum(int(at) ** 2 for at in centre))])
        )
    whens = tuple(
        (_greatest(score, scores[place + 1 :]), WholeSteps(place))
        for place, score in enumerate(scores)
    )
    number = CaseSteps(whens, WholeSteps(None))
    return StepsKey("cluster", number, Keys(tuple(range(len(scores)))))


def within(rows: Matrix, reach: float) -> Matrix:
    """Points drawn in to a distance from the centre that no row is beyond."""
    lengths = np.linalg.norm(finite(rows), axis=1, keepdims=True)
    return finite(finite(rows) * np.minimum(1.0, reach / np.maximum(lengths, 1e-300)))


def _greatest(score: Number, others: Sequence[Number]) -> AllOf:
    return AllOf(tuple(CompareSteps(Comparison.AT_LEAST, score, other) for other in others))


def _by_group(totals: Any, axes: int) -> Matrix:
    """Sums of axes, a row for each group, where an axis ends at one."""
    return floats_of(totals).reshape(axes, -1).T / REACH
