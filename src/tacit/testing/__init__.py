"""The public test kit: contracts, scripted entropy, exact laws and neighbours.

A contract is a suite of checks. Authors of engines, dialects, mechanisms and estimators run it
on their own implementation.
"""

from tacit.extras import lazy_face

_HOMES = {
    "DialectContract": "tacit.testing.dialect_contract",
    "EngineContract": "tacit.testing.engine_contract",
    "EnumeratedLaw": "tacit.testing.entropy",
    "EstimatorContract": "tacit.testing.estimator_contract",
    "ExactLaw": "tacit.testing.distribution",
    "ExampleTable": "tacit.testing.tables",
    "GaussianLaw": "tacit.testing.distribution",
    "LaplaceLaw": "tacit.testing.distribution",
    "MechanismContract": "tacit.testing.mechanism_contract",
    "MechanismExample": "tacit.testing.mechanism_contract",
    "MemoryReading": "tacit.testing.memory_store",
    "MemoryStore": "tacit.testing.memory_store",
    "MemoryWriting": "tacit.testing.memory_store",
    "NeighbouringTables": "tacit.testing.neighbours",
    "Pmf": "tacit.testing.mechanism_contract",
    "RecordingEstimator": "tacit.testing.estimator_contract",
    "ScriptEnded": "tacit.testing.entropy",
    "ScriptedEntropy": "tacit.testing.entropy",
    "SharedEngine": "tacit.testing.engine_contract",
    "bernoulli": "tacit.testing.entropy",
    "bernoulli_exp": "tacit.testing.entropy",
    "catalog": "tacit.testing.engine_tables",
    "discrete_gaussian": "tacit.testing.entropy",
    "discrete_laplace": "tacit.testing.entropy",
    "enumerate_law": "tacit.testing.entropy",
    "goodness": "tacit.testing.distribution",
    "groups_and_tallies": "tacit.testing.engine_asking",
    "histories": "tacit.testing.mechanism_contract",
    "hockey_stick_of": "tacit.testing.mechanism_contract",
    "independence": "tacit.testing.distribution",
    "l1": "tacit.testing.mechanism_contract",
    "l2": "tacit.testing.mechanism_contract",
    "linf": "tacit.testing.mechanism_contract",
    "neighbouring_multisets": "tacit.testing.neighbours",
    "neighbouring_tables": "tacit.testing.neighbours",
    "one_by_one": "tacit.testing.mechanism_contract",
    "p_value_of": "tacit.testing.mechanism_contract",
    "same": "tacit.testing.distribution",
    "scale": "tacit.testing.distribution",
    "scale_errors": "tacit.testing.distribution",
    "side_by_side": "tacit.testing.mechanism_contract",
    "symmetry": "tacit.testing.distribution",
    "tail": "tacit.testing.distribution",
    "zeros": "tacit.testing.distribution",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_face(__name__, _HOMES)
