"""Robust statistics with differential privacy: location, means, quantiles and trimmed means.

These statistics are a Python library for arrays; they are not available as SQL aggregates. The
names below are the public interface of this package, and are imported when they are first used.
"""

from tacit.extras import lazy_face

_HOMES = {
    "AddLomax": "tacit.robust.smooth_noise",
    "AddSmoothLaplace": "tacit.robust.smooth_noise",
    "AddStudent": "tacit.robust.smooth_noise",
    "BoundedMean": "tacit.robust.means",
    "ChooseRank": "tacit.robust.quantiles",
    "ClippedMean": "tacit.robust.means",
    "CoinPress": "tacit.robust.means",
    "DescentLocation": "tacit.robust.location",
    "Diagnostic": "tacit.robust.influence",
    "FlipAll": "tacit.robust.selection",
    "GrossErrorNoise": "tacit.robust.influence",
    "Huber": "tacit.robust.location",
    "Lomax": "tacit.robust.smooth_noise",
    "MeanAndVariance": "tacit.robust.means",
    "MiddleSum": "tacit.robust.trimmed_mean",
    "NoisySum": "tacit.robust.estimate",
    "PermuteAndFlip": "tacit.robust.selection",
    "ProbableSmoothBound": "tacit.robust.influence",
    "Psi": "tacit.robust.location",
    "PublicCells": "tacit.robust.quantiles",
    "Quantiles": "tacit.robust.quantiles",
    "RankQuantile": "tacit.robust.quantiles",
    "RobustEstimate": "tacit.robust.estimate",
    "RobustLocation": "tacit.robust.location",
    "RoundedLomax": "tacit.robust.smooth_noise",
    "SmoothLaplace": "tacit.robust.smooth_noise",
    "Student": "tacit.robust.smooth_noise",
    "SubsampleAggregate": "tacit.robust.location",
    "TrimmedMean": "tacit.robust.trimmed_mean",
    "Tukey": "tacit.robust.location",
    "gross_error_sensitivity": "tacit.robust.influence",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_face(__name__, _HOMES)
