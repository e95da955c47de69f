"""ns per draw: ours, OpenDP's integer mechanisms, and numpy's insecure floor, in one run."""

from fractions import Fraction
from time import perf_counter_ns

import numpy as np
import pytest
from conftest import Bar, Peer

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.mechanisms.additive_noise import AddNoise, Sampler
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import SystemEntropy

SCALE = 30
REPEATS = {10**3: 200, 10**5: 20, 10**6: 5}
PEER_REPEATS = {10**3: 10, 10**5: 1, 10**6: 1}
WANTED = 40

samplers: dict[str, Sampler] = {
    "laplace": DiscreteLaplace(Fraction(SCALE)),
    "gaussian": DiscreteGaussian(Fraction(SCALE**2)),
}


def ours(law: str, count: int) -> float:
    """The best of several runs of what a release does: open the secret, draw, add."""
    sensitivity = Sensitivity.of(1, Norm.L1, Rule("one unit moves one count by 1"))
    secret = Secret(np.zeros(count, dtype=np.int64))
    times = []
    for _ in range(REPEATS[count]):
        began = perf_counter_ns()
        gateway = LiveGateway(SystemEntropy(b"bench"))
        gateway.release(secret, sensitivity, AddNoise(samplers[law]))
        times.append(perf_counter_ns() - began)
    return min(times) / count


@pytest.mark.peer
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_ns_per_draw(law: str, peer: Peer, bar: Bar) -> None:
    print(f"\n{law}, scale {SCALE}: ns per draw")
    heads = ("n", "tacit", "opendp", "numpy", "opendp/tacit", "tacit/numpy")
    print("".join(f"{head:>13}" for head in heads))
    ratio = 0.0
    for count in REPEATS:
        mine = ours(law, count)
        theirs = peer("opendp", "time", law, SCALE, count, PEER_REPEATS[count])["ns_per_draw"]
        floor = peer("numpy", "time", law, SCALE, count, REPEATS[count])["ns_per_draw"]
        ratio = theirs / mine
        row = (mine, theirs, floor, ratio, mine / floor)
        print(f"{count:>13}" + "".join(f"{figure:>13.1f}" for figure in row))
    bar(f"times faster than OpenDP at 10^6, {law}", ratio, f">= {WANTED}", ratio >= WANTED)
