"""Estimators that are fitted with differential privacy, with the interface of scikit-learn.

The names below are the public interface of this package. They are imported when they are first
used, because scikit-learn and scipy are optional dependencies.
"""

from tacit.extras import lazy_face

_HOMES = {
    "Arrays": "tacit.ml.estimator",
    "ClassifierChoice": "tacit.ml.model_selection",
    "CrossValidation": "tacit.ml.model_selection",
    "GaussianNB": "tacit.ml.naive_bayes",
    "HuberRegression": "tacit.ml.huber_regression",
    "KMeans": "tacit.ml.k_means",
    "LinearRegression": "tacit.ml.linear_regression",
    "LinearSVC": "tacit.ml.linear_classifiers",
    "LogisticRegression": "tacit.ml.linear_classifiers",
    "ModelSearch": "tacit.ml.model_selection",
    "NoisySums": "tacit.ml.sufficient_statistics",
    "OutputPerturbation": "tacit.ml.output_perturbation",
    "PCA": "tacit.ml.pca",
    "Pipeline": "tacit.ml.pipeline",
    "PrivateEstimator": "tacit.ml.estimator",
    "QuantileRegression": "tacit.ml.quantile_regression",
    "RepeatedFitWarning": "tacit.ml.repeated_fits",
    "StandardScaler": "tacit.ml.pipeline",
    "event_of": "tacit.ml.sufficient_statistics",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_face(__name__, _HOMES)
