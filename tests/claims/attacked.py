"""What the claims about attacks share: made-up people, and numbers through our mechanisms."""

from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tacit
from tacit.accounting.convert import rho_within
from tacit.attacks.gallery import DELTA, GalleryNoise
from tacit.session.session import Session

NOISE = GalleryNoise.live()


def people_from(seed: int) -> np.random.Generator:
    """A generator of made-up people; noise that protects never comes from here."""
    return np.random.default_rng(seed)


def laplace(values: np.ndarray, sensitivity: int, epsilon: float) -> np.ndarray:
    """Integers that one person moves by ``sensitivity`` in all, at a pure loss of epsilon."""
    return NOISE.laplace(values, sensitivity, epsilon)


def gaussian(values: np.ndarray, square: int, mu: float) -> np.ndarray:
    """Integers whose L2 sensitivity has that square, with noise of its root over ``mu``."""
    return NOISE.gaussian(values, square, Fraction(str(mu)) ** 2 / 2)


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
