"""Counts with the noise that a stated loss asks for, and what it leaves to an attacker."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.convert import rho_within
from tacit.accounting.risk import advantage, best_auc
from tacit.choose.noise import choose_noise
from tacit.core.loss import Loss
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.numeric.exact import Number, exact

ONE = Rule("one person is counted so often")


def loss_within(epsilon: Number, delta: Number) -> Loss:
    """What all answers together may lose, in the measure that adds up best.

    Example:
        >>> print(loss_within(1, 0), "or", loss_within(1, "1e-6").measure.name)
        ε = 1 or ZCDP
    """
    if not exact(delta):
        return Loss.pure(epsilon)
    return Loss.zcdp(rho_within(exact(epsilon), exact(delta)))


def noisy(counts: NDArray[Any], times: int, loss: Loss) -> NDArray[np.int64]:
    """Counts of which one person is in ``times`` at most, released together within ``loss``.

    Example:
        >>> noisy(np.array([[40, 2]]), 1, Loss.pure(1)).shape
        (1, 2)
    """
    known = [
        Sensitivity.of(times, Norm.L1, ONE),
        Sensitivity(Fraction(times), Norm.L2, ONE),
    ]
    flat = np.asarray(np.rint(counts), dtype=np.int64).ravel()
    mechanism = choose_noise(known, flat.size, loss).mechanism
    norm = Norm.L2 if loss.delta or loss.measure.name == "ZCDP" else Norm.L1
    sensitivity = next(each for each in known if each.norm is norm)
    gateway = LiveGateway(SystemEntropy(b"an owner's attack"))
    released = mechanism.release(Secret(flat), sensitivity, gateway)
    return np.asarray(released, dtype=np.int64).reshape(counts.shape)


def told_at_most(epsilon: Number, delta: Number) -> float:
    """How often the best attacker tells who was in, or an even bit: one figure for both.

    Example:
        >>> round(told_at_most(1, 0), 3)
        0.731
    """
    return float(best_auc(exact(epsilon), exact(delta)))


def above_chance(chance: float, epsilon: Number, delta: Number) -> float:
    """How often the best attacker guesses a secret that a guess gets with ``chance``.

    Example:
        >>> round(above_chance(0.25, 1, 0), 3)
        0.68
    """
    gained = float(advantage(exact(epsilon), exact(delta)))
    times = float(np.exp(float(exact(epsilon)))) * chance + float(exact(delta))
    return min(1.0, chance + gained, times)
