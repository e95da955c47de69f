"""Selections of keys, and the laws of their noise, apart from the code that draws it."""

from fractions import Fraction
from math import exp

import numpy as np

from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.mechanisms.optimal_keys import OptimalKeys, TruncatedGeometricKeys
from tacit.mechanisms.threshold_keys import GaussianKeys, LaplaceKeys

Keys = OptimalKeys | TruncatedGeometricKeys | LaplaceKeys | GaussianKeys
LAWS = ["optimal", "truncated", "laplace", "gaussian"]
DELTA = Fraction(1, 50)


def keys(law: str, max_keys: int, delta: Fraction = DELTA) -> Keys:
    match law:
        case "optimal":
            return OptimalKeys(Fraction(1), delta, max_keys)
        case "truncated":
            return TruncatedGeometricKeys(Fraction(1), delta, max_keys)
        case "laplace":
            return LaplaceKeys(Fraction(1), delta, max_keys)
    return GaussianKeys(Fraction(16 * max_keys), delta, max_keys)


def counted_once(max_keys: int) -> Sensitivity:
    return Sensitivity(Fraction(max_keys), Norm.L2, Rule("a unit counts once in each key"))


def noise(law: str, max_keys: int) -> dict[int, float]:
    """The law of the noise, apart from the code that draws it."""
    reach = 400
    if law == "truncated":
        ratio, share = exp(-1 / max_keys), float(DELTA) / max_keys
        sums = np.cumsum([ratio**k for k in range(400)])
        reach = next(k for k in range(400) if ratio**k / (2 * sums[k] - 1) <= share)
    weight = {
        y: exp(-(y**2) / (32 * max_keys)) if law == "gaussian" else exp(-abs(y) / max_keys)
        for y in range(-reach, reach + 1)
    }
    return {y: weight[y] / sum(weight.values()) for y in weight}
