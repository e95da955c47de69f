from tacit.testing.dialect_contract import DialectContract as DialectContract
from tacit.testing.distribution import ExactLaw as ExactLaw
from tacit.testing.distribution import GaussianLaw as GaussianLaw
from tacit.testing.distribution import LaplaceLaw as LaplaceLaw
from tacit.testing.distribution import goodness as goodness
from tacit.testing.distribution import independence as independence
from tacit.testing.distribution import same as same
from tacit.testing.distribution import scale as scale
from tacit.testing.distribution import scale_errors as scale_errors
from tacit.testing.distribution import symmetry as symmetry
from tacit.testing.distribution import tail as tail
from tacit.testing.distribution import zeros as zeros
from tacit.testing.engine_contract import EngineContract as EngineContract
from tacit.testing.engine_contract import SharedEngine as SharedEngine
from tacit.testing.engine_contract import catalog as catalog
from tacit.testing.engine_contract import groups_and_tallies as groups_and_tallies
from tacit.testing.entropy import EnumeratedLaw as EnumeratedLaw
from tacit.testing.entropy import ScriptedEntropy as ScriptedEntropy
from tacit.testing.entropy import ScriptEnded as ScriptEnded
from tacit.testing.entropy import bernoulli as bernoulli
from tacit.testing.entropy import bernoulli_exp as bernoulli_exp
from tacit.testing.entropy import discrete_gaussian as discrete_gaussian
from tacit.testing.entropy import discrete_laplace as discrete_laplace
from tacit.testing.entropy import enumerate_law as enumerate_law
from tacit.testing.estimator_contract import EstimatorContract as EstimatorContract
from tacit.testing.estimator_contract import RecordingEstimator as RecordingEstimator
from tacit.testing.mechanism_contract import MechanismContract as MechanismContract
from tacit.testing.mechanism_contract import MechanismExample as MechanismExample
from tacit.testing.mechanism_contract import Pmf as Pmf
from tacit.testing.mechanism_contract import histories as histories
from tacit.testing.mechanism_contract import hockey_stick_of as hockey_stick_of
from tacit.testing.mechanism_contract import l1 as l1
from tacit.testing.mechanism_contract import l2 as l2
from tacit.testing.mechanism_contract import linf as linf
from tacit.testing.mechanism_contract import one_by_one as one_by_one
from tacit.testing.mechanism_contract import p_value_of as p_value_of
from tacit.testing.mechanism_contract import side_by_side as side_by_side
from tacit.testing.memory_store import MemoryReading as MemoryReading
from tacit.testing.memory_store import MemoryStore as MemoryStore
from tacit.testing.memory_store import MemoryWriting as MemoryWriting
from tacit.testing.neighbours import NeighbouringTables as NeighbouringTables
from tacit.testing.neighbours import neighbouring_multisets as neighbouring_multisets
from tacit.testing.neighbours import neighbouring_tables as neighbouring_tables
from tacit.testing.tables import ExampleTable as ExampleTable

__all__ = [
    "DialectContract",
    "EngineContract",
    "EnumeratedLaw",
    "EstimatorContract",
    "ExactLaw",
    "ExampleTable",
    "GaussianLaw",
    "LaplaceLaw",
    "MechanismContract",
    "MechanismExample",
    "MemoryReading",
    "MemoryStore",
    "MemoryWriting",
    "NeighbouringTables",
    "Pmf",
    "RecordingEstimator",
    "ScriptEnded",
    "ScriptedEntropy",
    "SharedEngine",
    "bernoulli",
    "bernoulli_exp",
    "catalog",
    "discrete_gaussian",
    "discrete_laplace",
    "enumerate_law",
    "goodness",
    "groups_and_tallies",
    "histories",
    "hockey_stick_of",
    "independence",
    "l1",
    "l2",
    "linf",
    "neighbouring_multisets",
    "neighbouring_tables",
    "one_by_one",
    "p_value_of",
    "same",
    "scale",
    "scale_errors",
    "side_by_side",
    "symmetry",
    "tail",
    "zeros",
]
