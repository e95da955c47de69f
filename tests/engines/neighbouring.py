"""What must hold of a triple: a neighbour shows in nothing but noise, on every engine."""

from engines_over import Over, reference
from triple import Triple

from tacit.audit.question_audit import SALT, Answer, Pair, answer
from tacit.core.catalog import Catalog
from tacit.core.unseal import unseal
from tacit.engines.engine import Engine, SecretTable
from tacit.engines.reference import Tables
from tacit.plan.bounded_plan import BoundedPlan

__all__ = ["SALT", "Watched", "answer", "opened", "told_apart"]


def told_apart(triple: Triple, over: Over = reference, answer: Answer = answer) -> str | None:
    """How the two sides of ``triple`` are told apart; None where they are not."""
    pair = Pair(triple.quote, triple.catalog, triple.before, triple.after)
    return pair.compare(over, answer).apart


class Watched:
    """An engine over tables, and what it found there, in order."""

    def __init__(self, over: Over) -> None:
        self._over = over
        self.found: list[SecretTable] = []

    def __call__(self, catalog: Catalog, tables: Tables) -> Engine:
        """The engine over ``tables``, watched."""
        return WatchedEngine(self._over(catalog, tables), self.found)


class WatchedEngine:
    """An engine that keeps what it found."""

    def __init__(self, engine: Engine, found: list[SecretTable]) -> None:
        self._engine = engine
        self._found = found

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        """What the engine finds."""
        self._found.append(self._engine.run(plan, catalog, salt))
        return self._found[-1]


def opened(table: SecretTable) -> tuple[object, list[list[int]]]:
    """What is in the box."""
    groups = None if table.groups is None else unseal(table.groups)
    return groups, [unseal(tally).tolist() for tally in table.tallies]
