from tacit.ml.estimator import Arrays as Arrays
from tacit.ml.estimator import PrivateEstimator as PrivateEstimator
from tacit.ml.huber_regression import HuberRegression as HuberRegression
from tacit.ml.k_means import KMeans as KMeans
from tacit.ml.linear_classifiers import LinearSVC as LinearSVC
from tacit.ml.linear_classifiers import LogisticRegression as LogisticRegression
from tacit.ml.linear_regression import LinearRegression as LinearRegression
from tacit.ml.model_selection import ClassifierChoice as ClassifierChoice
from tacit.ml.model_selection import CrossValidation as CrossValidation
from tacit.ml.model_selection import ModelSearch as ModelSearch
from tacit.ml.naive_bayes import GaussianNB as GaussianNB
from tacit.ml.output_perturbation import OutputPerturbation as OutputPerturbation
from tacit.ml.pca import PCA as PCA
from tacit.ml.pipeline import Pipeline as Pipeline
from tacit.ml.pipeline import StandardScaler as StandardScaler
from tacit.ml.quantile_regression import QuantileRegression as QuantileRegression
from tacit.ml.sufficient_statistics import NoisySums as NoisySums
from tacit.ml.sufficient_statistics import event_of as event_of

__all__ = [
    "PCA",
    "Arrays",
    "ClassifierChoice",
    "CrossValidation",
    "GaussianNB",
    "HuberRegression",
    "KMeans",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "ModelSearch",
    "NoisySums",
    "OutputPerturbation",
    "Pipeline",
    "PrivateEstimator",
    "QuantileRegression",
    "StandardScaler",
    "event_of",
]
