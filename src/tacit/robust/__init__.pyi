from tacit.robust.estimate import NoisySum as NoisySum
from tacit.robust.estimate import RobustEstimate as RobustEstimate
from tacit.robust.influence import Diagnostic as Diagnostic
from tacit.robust.influence import GrossErrorNoise as GrossErrorNoise
from tacit.robust.influence import ProbableSmoothBound as ProbableSmoothBound
from tacit.robust.influence import gross_error_sensitivity as gross_error_sensitivity
from tacit.robust.location import DescentLocation as DescentLocation
from tacit.robust.location import Huber as Huber
from tacit.robust.location import Psi as Psi
from tacit.robust.location import RobustLocation as RobustLocation
from tacit.robust.location import SubsampleAggregate as SubsampleAggregate
from tacit.robust.location import Tukey as Tukey
from tacit.robust.means import BoundedMean as BoundedMean
from tacit.robust.means import ClippedMean as ClippedMean
from tacit.robust.means import CoinPress as CoinPress
from tacit.robust.means import MeanAndVariance as MeanAndVariance
from tacit.robust.quantiles import ChooseRank as ChooseRank
from tacit.robust.quantiles import PublicCells as PublicCells
from tacit.robust.quantiles import Quantiles as Quantiles
from tacit.robust.quantiles import RankQuantile as RankQuantile
from tacit.robust.selection import FlipAll as FlipAll
from tacit.robust.selection import PermuteAndFlip as PermuteAndFlip
from tacit.robust.smooth_noise import AddLomax as AddLomax
from tacit.robust.smooth_noise import AddSmoothLaplace as AddSmoothLaplace
from tacit.robust.smooth_noise import AddStudent as AddStudent
from tacit.robust.smooth_noise import Lomax as Lomax
from tacit.robust.smooth_noise import RoundedLomax as RoundedLomax
from tacit.robust.smooth_noise import SmoothLaplace as SmoothLaplace
from tacit.robust.smooth_noise import Student as Student
from tacit.robust.trimmed_mean import MiddleSum as MiddleSum
from tacit.robust.trimmed_mean import TrimmedMean as TrimmedMean

__all__ = [
    "AddLomax",
    "AddSmoothLaplace",
    "AddStudent",
    "BoundedMean",
    "ChooseRank",
    "ClippedMean",
    "CoinPress",
    "DescentLocation",
    "Diagnostic",
    "FlipAll",
    "GrossErrorNoise",
    "Huber",
    "Lomax",
    "MeanAndVariance",
    "MiddleSum",
    "NoisySum",
    "PermuteAndFlip",
    "ProbableSmoothBound",
    "Psi",
    "PublicCells",
    "Quantiles",
    "RankQuantile",
    "RobustEstimate",
    "RobustLocation",
    "RoundedLomax",
    "SmoothLaplace",
    "Student",
    "SubsampleAggregate",
    "TrimmedMean",
    "Tukey",
    "gross_error_sensitivity",
]
