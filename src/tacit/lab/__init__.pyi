from tacit.lab.accountants import BatchLoss as BatchLoss
from tacit.lab.accountants import PrivacyFilter as PrivacyFilter
from tacit.lab.databases import Histogram as Histogram
from tacit.lab.databases import Multiset as Multiset
from tacit.lab.databases import Universe as Universe
from tacit.lab.deep import Trained as Trained
from tacit.lab.deep import train as train
from tacit.lab.dp_sgd import LossGrid as LossGrid
from tacit.lab.dp_sgd import SampledDescent as SampledDescent
from tacit.lab.dp_sgd import SampledGaussian as SampledGaussian
from tacit.lab.matrix_mechanism import Combined as Combined
from tacit.lab.matrix_mechanism import LinearQueries as LinearQueries
from tacit.lab.memoised_response import Memory as Memory
from tacit.lab.propose_test_release import ProposeTestRelease as ProposeTestRelease
from tacit.lab.propose_test_release import TestThenRelease as TestThenRelease
from tacit.lab.propose_test_release import TruncatedLaplace as TruncatedLaplace
from tacit.lab.selection import ChoosePoint as ChoosePoint
from tacit.lab.selection import ConstantMechanism as ConstantMechanism
from tacit.lab.selection import IntervalExponential as IntervalExponential
from tacit.lab.selection import Peel as Peel
from tacit.lab.selection import TopK as TopK

__all__ = [
    "BatchLoss",
    "ChoosePoint",
    "Combined",
    "ConstantMechanism",
    "Histogram",
    "IntervalExponential",
    "LinearQueries",
    "LossGrid",
    "Memory",
    "Multiset",
    "Peel",
    "PrivacyFilter",
    "ProposeTestRelease",
    "SampledDescent",
    "SampledGaussian",
    "TestThenRelease",
    "TopK",
    "Trained",
    "TruncatedLaplace",
    "Universe",
    "train",
]
