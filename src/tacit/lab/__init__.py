"""Experimental mechanisms and accountants, which no server, session or command can use.

An import contract forbids the packages that serve analysts to import this one. A mechanism is
moved to another package once it has been reviewed.
"""

from tacit.extras import lazy_face

_HOMES = {
    "BatchLoss": "tacit.lab.accountants",
    "ChoosePoint": "tacit.lab.selection",
    "Combined": "tacit.lab.matrix_mechanism",
    "ConstantMechanism": "tacit.lab.selection",
    "Histogram": "tacit.lab.databases",
    "IntervalExponential": "tacit.lab.selection",
    "LinearQueries": "tacit.lab.matrix_mechanism",
    "LossGrid": "tacit.lab.dp_sgd",
    "Memory": "tacit.lab.accountants",
    "Multiset": "tacit.lab.databases",
    "Peel": "tacit.lab.selection",
    "PrivacyFilter": "tacit.lab.accountants",
    "ProposeTestRelease": "tacit.lab.propose_test_release",
    "SampledDescent": "tacit.lab.dp_sgd",
    "SampledGaussian": "tacit.lab.dp_sgd",
    "TestThenRelease": "tacit.lab.propose_test_release",
    "TopK": "tacit.lab.selection",
    "Trained": "tacit.lab.deep",
    "TruncatedLaplace": "tacit.lab.propose_test_release",
    "Universe": "tacit.lab.databases",
    "train": "tacit.lab.deep",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_face(__name__, _HOMES)
