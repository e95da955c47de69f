"""Two other exact samplers give the same law: OpenDP's, and the published one."""

import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from conftest import Bar, Peer

from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import SystemEntropy
from tacit.testing import discrete_gaussian, discrete_laplace, distribution
from tacit.testing.distribution import Floats

pytestmark = pytest.mark.claim

ODD = 1e-6
DRAWS = int(os.environ.get("TACIT_PEER_DRAWS", "100000"))
SCALES = [Fraction(1, 3), *map(Fraction, (1, 3, 30, 1000, 10**6, 2**50))]


def ours(law: str, scale: Fraction, count: int) -> Floats:
    sampler = DiscreteLaplace(scale) if law == "laplace" else DiscreteGaussian(scale**2)
    return sampler.draw(SystemEntropy(b"oracle"), count).astype(np.float64)


@pytest.mark.peer
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_opendp_draws_from_the_same_law(
    law: str, scale: Fraction, peer: Peer, bar: Bar
) -> None:
    theirs = np.array(peer("opendp", "draw", law, scale, DRAWS)["values"], dtype=np.float64)
    p = distribution.same(theirs, ours(law, scale, DRAWS))
    label = f"{law} {scale if scale < 2**50 else '2^50'}"
    bar(f"OpenDP and ours, {label}, two-sample p", p, "> 1e-6", p > ODD)
    assert distribution.same(theirs, ours(law, scale * Fraction(11, 10), DRAWS)) < ODD


@pytest.mark.parametrize(
    ("law", "published"),
    [
        ("laplace", lambda entropy: discrete_laplace(entropy, Fraction(7, 2))),
        ("gaussian", lambda entropy: discrete_gaussian(entropy, Fraction(49, 4))),
    ],
)
def test_the_published_sampler_draws_from_the_same_law(
    law: str, published: Callable[[SystemEntropy], int]
) -> None:
    entropy = SystemEntropy(b"published")
    theirs = np.array([published(entropy) for _ in range(20_000)], dtype=np.float64)
    assert distribution.same(theirs, ours(law, Fraction(7, 2), 20_000)) > ODD
    assert distribution.same(theirs, ours(law, Fraction(4), 20_000)) < ODD
