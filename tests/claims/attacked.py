"""What the claims about attacks share: made-up people, and numbers through our mechanisms."""

from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tacit
from tacit.accounting.convert import rho_within
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.mechanisms.additive_noise import Gaussian, Laplace
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.session.session import Session

GATEWAY = LiveGateway(SystemEntropy(b"attacks"))
DELTA = Fraction(1, 10**6)


def people_from(seed: int) -> np.random.Generator:
    """A generator of made-up people; noise that protects never comes from here."""
    return np.random.default_rng(seed)


def laplace(values: np.ndarray, sensitivity: int, epsilon: float) -> np.ndarray:
    """Integers that one person moves by ``sensitivity`` in all, at a pure loss of epsilon."""
    one = Sensitivity.of(sensitivity, Norm.L1, Rule("one person"))
    mechanism = Laplace(Fraction(sensitivity) / Fraction(str(epsilon)))
    flat = np.asarray(values, dtype=np.int64).ravel()
    return mechanism.release(Secret(flat), one, GATEWAY).reshape(np.shape(values))


def gaussian(values: np.ndarray, square: int, mu: float) -> np.ndarray:
    """Integers whose L2 sensitivity has that square, with noise of its root over ``mu``."""
    one = Sensitivity(Fraction(square), Norm.L2, Rule("one person"))
    mechanism = Gaussian(Fraction(square) / Fraction(str(mu)) ** 2)
    flat = np.asarray(values, dtype=np.int64).ravel()
    return mechanism.release(Secret(flat), one, GATEWAY).reshape(np.shape(values))


def mu_within(epsilon: int) -> float:
    """The mu of all Gaussian noise together whose rho converts to epsilon at 10**-6."""
    return sqrt(2 * float(rho_within(Fraction(epsilon), DELTA)))


def opened(folder: Path, columns: dict[str, Any], budget: Any, **known: Any) -> Session:
    """A session over made-up people, one row each, named by ``name``."""
    return tacit.open(
        pd.DataFrame(columns),
        table="people",
        population="people",
        unit="name",
        max_groups=1,
        max_rows=1,
        budget=budget,
        folder=folder,
        **known,
    )
