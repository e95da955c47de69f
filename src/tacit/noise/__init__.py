"""Exact samplers of integer noise over a stream of entropy.

A sampler only draws; it never sees a secret.
"""

from tacit.noise.choice import (
    Exponentials,
    ManyEqual,
    ManyExponentials,
    Wide,
    choose,
    choose_each,
)
from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.integers import (
    INT64_BITS,
    Integers,
    UniformBelow,
    narrowed,
    packed,
    uniform_bits,
)
from tacit.noise.inversion import Bell, Categorical
from tacit.noise.laplace import Bernoulli, DiscreteLaplace, Geometric, TruncatedDiscreteLaplace
from tacit.noise.vector import LARGEST_TABLE, CubeRadius, DiscreteCube, RoundedBall

__all__ = [
    "INT64_BITS",
    "LARGEST_TABLE",
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
    "TruncatedDiscreteLaplace",
    "UniformBelow",
    "Wide",
    "choose",
    "choose_each",
    "narrowed",
    "packed",
    "uniform_bits",
]
