"""Local differential privacy: answers are randomised before they leave a respondent's device.

Each oracle has two halves: the device's half randomises one answer, and the collector's half
estimates shares or a mean from many reports.
"""

from tacit.local.frequency_oracles import Subset
from tacit.local.mean_oracles import OneBit, Piecewise, best_mean
from tacit.local.oracle import (
    MOST,
    USUAL,
    MeanOracle,
    Oracle,
    epsilon_of,
    event_of,
    ratio_within,
    shares,
)
from tacit.local.shuffle import shuffled_epsilon

__all__ = [
    "MOST",
    "USUAL",
    "MeanOracle",
    "OneBit",
    "Oracle",
    "Piecewise",
    "Subset",
    "best_mean",
    "epsilon_of",
    "event_of",
    "ratio_within",
    "shares",
    "shuffled_epsilon",
]
