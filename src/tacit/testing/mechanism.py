"""The contract of a mechanism: what every one must show, and what an author writes down for it.

An author gives one `MechanismExample`; the suite in ``tests/contracts/test_mechanisms.py`` does
the rest: the law is accepted, and rejected five percent off; the exact curve of a worst pair
stays below what `accounting` claims; an audit of many draws shows nearly all of the claim; the
error law is what is measured; edges are refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chisquare, poisson

from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.mechanism import Mechanism
from tacit.numeric.entropy import SystemEntropy

Draws = NDArray[np.int64]
"""One release a row."""

Pmf = Mapping[tuple[int, ...], float]
"""The probability of each release; what is left out together has less than 10**-9."""

Sample = Callable[[Mechanism, tuple[int, ...], int], Draws]
"""So many releases of a secret by a mechanism."""

LEAST_EXPECTED = 20

LEFT_OUT = 1e-9
"""The probability that a listed law may leave out."""


@dataclass(frozen=True, slots=True)
class MechanismExample:
    """A mechanism at one setting, with what is known of it apart from its code."""

    mechanism: Mechanism
    off: Mechanism
    """The same recipe five percent off in its noise: the law must reject it."""
    sensitivity: Sensitivity
    left: tuple[int, ...]
    right: tuple[int, ...]
    """Two neighbours' secrets, as far apart as the sensitivity allows, the worst way."""
    sample: Sample
    p_value: Callable[[Draws], float]
    """Of draws from ``left``: how odd they are under the exact law."""
    hockey_stick: Callable[[float], float]
    """The exact delta at an epsilon between left and right, the worse of both directions."""
    event_of_audit: Callable[[Draws], NDArray[np.bool_]] | None = None
    """The releases whose odds change most, where a scalar pure law attains its epsilon."""
    error_of: Callable[[Draws], NDArray[np.float64]] | None = None
    """The error of each release of ``left``, where ``error`` tells its exact quantiles."""


def linf(amount: int) -> Sensitivity:
    """A sensitivity of scores, for examples."""
    return Sensitivity.of(amount, Norm.LINF, Rule("an example"))


def l1(amount: int) -> Sensitivity:
    """An L1 sensitivity, for examples."""
    return Sensitivity.of(amount, Norm.L1, Rule("an example"))


def l2(amount: int) -> Sensitivity:
    """An L2 sensitivity, for examples."""
    return Sensitivity.of(amount, Norm.L2, Rule("an example"))


def one_by_one(sensitivity: Sensitivity) -> Sample:
    """Releases made one after the other."""

    def sample(mechanism: Mechanism, secret: tuple[int, ...], count: int) -> Draws:
        gateway = LiveGateway(SystemEntropy(b"example"))
        box = Secret(np.array(secret))
        return np.array([mechanism.release(box, sensitivity, gateway) for _ in range(count)])

    return sample


def side_by_side(sensitivity: Sensitivity) -> Sample:
    """Releases of one integer with independent noise, made as one long vector."""

    def sample(mechanism: Mechanism, secret: tuple[int, ...], count: int) -> Draws:
        gateway = LiveGateway(SystemEntropy(b"example"))
        box = Secret(np.repeat(np.array(secret), count))
        return mechanism.release(box, sensitivity, gateway).reshape(len(secret), count).T

    return sample


def p_value_of(pmf: Pmf) -> Callable[[Draws], float]:
    """Chi-square of draws against an exact law on finitely many releases."""

    def p_value(draws: Draws) -> float:
        found, counts = np.unique(draws, axis=0, return_counts=True)
        observed = dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True))
        often = [release for release in pmf if pmf[release] * len(draws) >= LEAST_EXPECTED]
        wanted = np.array([pmf[release] for release in often]) * len(draws)
        seen = np.array([observed.get(release, 0) for release in often])
        # the rest is never merged: a release that the law does not make must show
        rest_wanted, rest_seen = len(draws) - wanted.sum(), len(draws) - seen.sum()
        if rest_wanted >= LEAST_EXPECTED:
            shape = chisquare(np.append(seen, rest_seen), np.append(wanted, rest_wanted))
            return float(shape.pvalue)
        rare = poisson.sf(rest_seen - 1, max(rest_wanted, 0) + LEFT_OUT * len(draws))
        if wanted.size < 2:  # noqa: PLR2004 - one cell has no shape
            return float(rare)
        shape = chisquare(seen, wanted * seen.sum() / wanted.sum())
        return float(min(1, 2 * min(rare, shape.pvalue)))

    return p_value


def hockey_stick_of(left: Pmf, right: Pmf) -> Callable[[float], float]:
    """The exact delta between two laws at an epsilon, the worse of both directions."""

    def hockey_stick(epsilon: float) -> float:
        releases = left.keys() | right.keys()
        pairs = np.array([(left.get(r, 0.0), right.get(r, 0.0)) for r in releases])
        factor = np.exp(epsilon)
        one = np.maximum(pairs[:, 0] - factor * pairs[:, 1], 0).sum()
        other = np.maximum(pairs[:, 1] - factor * pairs[:, 0], 0).sum()
        return float(max(one, other))

    return hockey_stick
