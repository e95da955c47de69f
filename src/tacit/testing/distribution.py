"""Tests of a sample against a law: each gives the probability of a sample as odd as this one.

They accept the truth and reject the lie: at a million draws a scale that is one percent off
lies ten standard errors away, and the tests beside each claim show that it is rejected.
"""

import numpy as np
from scipy.stats import binomtest, chi2_contingency, chisquare
from scipy.stats import norm as normal

from tacit.testing.laws import ExactLaw, Floats

BINS = 50
"""Bins of equal probability, or as near to it as integers allow."""

LEAST_EXPECTED = 50
"""Draws that each bin must expect, so that the chi-square law holds."""


def goodness(sample: Floats, law: ExactLaw) -> float:
    """Of the whole shape: chi-square on bins of nearly equal probability."""
    edges = np.unique(law.quantile(np.arange(1, BINS) / BINS))
    probabilities = np.diff(np.concatenate([[0.0], law.cumulative(edges), [1.0]]))
    # bin i holds the integers above edge i - 1, up to edge i
    counts = np.bincount(np.searchsorted(edges, sample, side="left"), minlength=edges.size + 1)
    expected = probabilities * sample.size
    kept = expected >= LEAST_EXPECTED
    observed = np.append(counts[kept], counts[~kept].sum())
    wanted = np.append(expected[kept], expected[~kept].sum())
    some = wanted > 0
    return float(chisquare(observed[some], wanted[some]).pvalue)


def scale(sample: Floats, law: ExactLaw) -> float:
    """Of the scale: how far the mean size of a draw lies from what the law says."""
    return _two_sided(scale_errors(sample, law))


def scale_errors(sample: Floats, law: ExactLaw) -> float:
    """By how many standard errors the mean size of a draw is off."""
    mean, deviation = law.statistic_moments
    found = float(law.statistic(sample).mean())
    return (found - mean) / deviation * float(np.sqrt(sample.size))


def zeros(sample: Floats, law: ExactLaw) -> float:
    """Of how often zero is drawn."""
    below, at = law.cumulative(np.array([-1.0, 0.0]))
    return _binomial(int((sample == 0).sum()), sample.size, float(at - below))


def symmetry(sample: Floats) -> float:
    """Of as many positive draws as negative ones."""
    positive, negative = int((sample > 0).sum()), int((sample < 0).sum())
    return _binomial(positive, positive + negative, 0.5)


def tail(sample: Floats, law: ExactLaw, probability: float) -> float:
    """Of how often a draw lies beyond a value that few pass, with about ``probability``."""
    edge = float(law.quantile(np.array([1 - probability / 2]))[0])
    beyond = 2 * float(1 - law.cumulative(np.array([edge]))[0])
    return _binomial(int((np.abs(sample) > edge).sum()), sample.size, beyond)


def independence(sample: Floats) -> float:
    """Of no correlation between a draw and the one before it."""
    centred = sample - sample.mean()
    correlation = float(centred[1:] @ centred[:-1] / (centred @ centred))
    return _two_sided(correlation * sample.size**0.5)


def same(left: Floats, right: Floats) -> float:
    """Of two samples from one law: chi-square on bins that hold equally many of both."""
    edges = np.unique(np.quantile(np.concatenate([left, right]), np.arange(1, BINS) / BINS))
    counts = np.array(
        [
            np.bincount(np.searchsorted(edges, part, side="left"), minlength=edges.size + 1)
            for part in (left, right)
        ]
    )
    return float(chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)


def _two_sided(errors: float) -> float:
    return float(2 * normal.sf(abs(errors)))


def _binomial(found: int, count: int, probability: float) -> float:
    return float(binomtest(found, count, min(1.0, max(0.0, probability))).pvalue)
