"""Mechanisms: recipes that turn a secret into a release, and the gateway where noise is added.

A mechanism takes its public settings in the constructor and states its event. The gateway
is the only place where a secret meets a draw of noise.
"""

from tacit.mechanisms.additive_noise import AddNoise, Gaussian, Laplace, Sampler
from tacit.mechanisms.exponential import (
    Exponential,
    check_choice,
    check_size,
    shortfall,
    spread,
)
from tacit.mechanisms.gateway import (
    NOWHERE,
    Draw,
    Gateway,
    LiveGateway,
    NothingGateway,
    SelectedGroups,
    inside,
    select_groups,
    together,
)
from tacit.mechanisms.grid_quantiles import ChooseCells, GridQuantile, TreeQuantile
from tacit.mechanisms.mechanism import Mechanism, select, valid_confidence
from tacit.mechanisms.optimal_keys import OptimalKeys, TruncatedGeometricKeys
from tacit.mechanisms.randomised_response import RandomisedResponse, Respond
from tacit.mechanisms.sparse_vector import SparseVector
from tacit.mechanisms.threshold_keys import (
    GREATEST_VARIANCE,
    LEAST_EPSILON,
    GaussianKeys,
    GaussianTail,
    LaplaceKeys,
)
from tacit.mechanisms.vector_noise import AddVector, Ball, Cube

__all__ = [
    "GREATEST_VARIANCE",
    "LEAST_EPSILON",
    "NOWHERE",
    "AddNoise",
    "AddVector",
    "Ball",
    "ChooseCells",
    "Cube",
    "Draw",
    "Exponential",
    "Gateway",
    "Gaussian",
    "GaussianKeys",
    "GaussianTail",
    "GridQuantile",
    "Laplace",
    "LaplaceKeys",
    "LiveGateway",
    "Mechanism",
    "NothingGateway",
    "OptimalKeys",
    "RandomisedResponse",
    "Respond",
    "Sampler",
    "SelectedGroups",
    "SparseVector",
    "TreeQuantile",
    "TruncatedGeometricKeys",
    "check_choice",
    "check_size",
    "inside",
    "select",
    "select_groups",
    "shortfall",
    "spread",
    "together",
    "valid_confidence",
]
