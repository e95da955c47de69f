"""Models from sums: with little noise they are their exact twins."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import decomposition
from sklearn.naive_bayes import GaussianNB as ExactNB
from sklearn.preprocessing import StandardScaler as ExactScaler

from tacit.core.event import Composed
from tacit.errors import InvalidValue
from tacit.ml.estimator import Arrays
from tacit.ml.k_means import KMeans, within
from tacit.ml.naive_bayes import GaussianNB
from tacit.ml.pca import PCA
from tacit.ml.pipeline import StandardScaler

MANY = 20_000
ENDS = [-4, 0, 100], [4, 50, 200]
Table = NDArray[np.float64]


@pytest.fixture(scope="module")
def table() -> Table:
    """Made-up rows of two clusters, whose columns have other centres and other widths."""
    numbers = np.random.default_rng(0)
    centres = np.array([[-1, 15, 130], [2, 35, 170]])
    return centres[np.arange(900) % 2] + numbers.normal(size=(900, 3)) * [0.3, 4, 6]


def test_a_scaler_finds_means_and_deviations(table: Table) -> None:
    model = StandardScaler(epsilon=MANY, bounds=ENDS).fit(table)
    exact = ExactScaler().fit(table)
    assert model.mean_ == pytest.approx(exact.mean_, rel=0.02)
    assert model.scale_ == pytest.approx(exact.scale_, rel=0.05)
    assert model.inverse_transform(model.transform(table)) == pytest.approx(table)


def test_a_variance_that_noise_hides_is_as_large_as_the_noise() -> None:
    model = StandardScaler(epsilon=0.01, bounds=(0, 1)).fit(np.full((20, 1), 0.5))
    assert 0 < model.scale_[0] <= 0.5


@pytest.mark.parametrize(("classes", "labels"), [(["a", "b"], "ab"), ([0, 1], [0, 1])])
def test_naive_bayes_tells_classes_apart(table: Table, classes: Any, labels: Any) -> None:
    # a count is off by one or two whatever epsilon is, which must not matter here
    rows, target = np.tile(table, (30, 1)), np.array(list(labels))[np.arange(27_000) % 2]
    model = GaussianNB(epsilon=MANY, bounds=ENDS, classes=classes).fit(rows, target)
    exact = ExactNB().fit(rows, target)
    assert model.theta_ == pytest.approx(exact.theta_, rel=0.05, abs=0.05)
    assert model.var_ == pytest.approx(exact.var_, rel=0.2, abs=0.1)
    assert model.score(rows, target) > 0.99
    assert model.predict_proba(table).sum(axis=1) == pytest.approx(np.ones(900))
    assert model.class_count_ == pytest.approx([13_500, 13_500], abs=9)


def test_classes_are_public_or_the_fit_is_refused(table: Table) -> None:
    for classes in (None, [1], [1, 1]):
        with pytest.raises(InvalidValue, match="not learned from the target"):
            GaussianNB(bounds=ENDS, classes=classes).fit(table, np.arange(900) % 2)


def test_a_row_of_another_class_is_left_out(table: Table) -> None:
    target = np.arange(900) % 3
    model = GaussianNB(epsilon=MANY, bounds=ENDS, classes=[0, 1]).fit(table, target)
    assert model.class_count_ == pytest.approx([300, 300], abs=9)


@pytest.mark.parametrize("centred", [True, False])
def test_components_are_those_of_the_covariance(table: Table, *, centred: bool) -> None:
    model = PCA(2, epsilon=MANY, bounds=ENDS, centred=centred).fit(table)
    origin = table.mean(axis=0) if centred else [0, 25, 150]
    _, _, exact = np.linalg.svd(table - origin, full_matrices=False)
    assert np.abs(np.sum(model.components_ * exact[:2], axis=1)) == pytest.approx(1, abs=0.01)
    assert model.mean_ == pytest.approx(origin, abs=1)
    if centred:
        wanted = decomposition.PCA(2).fit(table).explained_variance_
        assert model.explained_variance_ == pytest.approx(wanted, rel=0.05)
    assert model.transform(table).shape == (900, 2)


def test_k_means_finds_centres_and_keeps_no_label(table: Table) -> None:
    model = KMeans(2, epsilon=MANY, bounds=ENDS).fit(table)
    found = model.cluster_centers_[model.cluster_centers_[:, 0].argsort()]
    assert found == pytest.approx(np.array([[-1, 15, 130], [2, 35, 170]]), rel=0.1, abs=0.2)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "inertia_")
    assert len(set(model.predict(table)[::2])) == 1


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_few_rows_are_fitted_as_many_are(rows: int) -> None:
    features = np.zeros((rows, 2))
    arrays = Arrays(features, np.zeros(rows))
    for model in (
        KMeans(5, bounds=(-1, 1)),
        PCA(1, bounds=(-1, 1)),
        StandardScaler(bounds=(-1, 1)),
        GaussianNB(bounds=(-1, 1), classes=[0, 1]),
    ):
        assert model.fit_to(arrays).guarantee_.loss.amount <= 1


def test_what_fits_no_table_is_refused(table: Table) -> None:
    with pytest.raises(InvalidValue, match="between 1 and 3 components"):
        PCA(4, bounds=ENDS).fit(table)
    with pytest.raises(InvalidValue, match="n_clusters must be at least 1"):
        KMeans(0, bounds=ENDS).fit(table)
    with pytest.raises(InvalidValue, match="needs a target"):
        GaussianNB(bounds=ENDS, classes=[0, 1]).event(Arrays(table).training)


def test_points_are_drawn_in_to_a_ball() -> None:
    drawn = within(np.array([[3.0, 4.0], [0.0, 0.0]]), 1)
    assert drawn == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))


def test_an_event_holds_every_release(table: Table) -> None:
    event = KMeans(2, bounds=ENDS).event(Arrays(table).training)
    assert isinstance(event, Composed)
    assert [len(part.events) for part in event.events if isinstance(part, Composed)] == [
        2,
        2,
        2,
    ]
