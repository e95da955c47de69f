"""Exact samplers of integer noise, which draw from a stream of random words.

The samplers of noise have public parameters only. The samplers of a private choice
(`Exponentials`, `ManyExponentials`, `ManyEqual`) have secret weights, which they never store.
"""

from tacit.noise.choice import (
    Exponentials,
    ManyEqual,
    ManyExponentials,
    Wide,
    choose,
    choose_each,
)
from tacit.noise.gaussian import LONGEST_REACH, DiscreteGaussian, TruncatedDiscreteGaussian
from tacit.noise.integers import (
    INT64_BITS,
    Integers,
    UniformBelow,
    integer_array,
    narrow,
    uniform_bits,
)
from tacit.noise.inversion import Bell, Categorical
from tacit.noise.laplace import Bernoulli, DiscreteLaplace, Geometric, TruncatedDiscreteLaplace
from tacit.noise.vector import LARGEST_TABLE, CubeRadius, DiscreteCube, RoundedBall

__all__ = [
    "INT64_BITS",
    "LARGEST_TABLE",
    "LONGEST_REACH",
    "Bell",
    "Bernoulli",
    "Categorical",
    "CubeRadius",
    "DiscreteCube",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponentials",
    "Geometric",
    "Integers",
    "ManyEqual",
    "ManyExponentials",
    "RoundedBall",
    "TruncatedDiscreteGaussian",
    "TruncatedDiscreteLaplace",
    "UniformBelow",
    "Wide",
    "choose",
    "choose_each",
    "integer_array",
    "narrow",
    "uniform_bits",
]
