"""What must hold of a triple: a neighbour shows in nothing but noise, on every engine."""

from collections.abc import Callable

from engines_over import Over, reference
from triple import Triple

from tacit.audit.record import RecordingGateway
from tacit.audit.replay import BrokenPromise, ReplayingGateway
from tacit.core.catalog import Catalog
from tacit.core.stored_release import encode
from tacit.core.unseal import unseal
from tacit.engines.engine import Engine, SecretTable
from tacit.engines.joined import Tables
from tacit.mechanisms.gateway import Gateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded import BoundedPlan
from tacit.query.post import posted
from tacit.query.quote import Quote
from tacit.query.run import released_by, run

SALT, RECEIPT = b"salt", b"receipt"

Answer = Callable[[Quote, Engine, Catalog, Gateway], bytes]
"""What an analyst sees."""


def answer(quote: Quote, engine: Engine, catalog: Catalog, gateway: Gateway) -> bytes:
    """The bytes that are stored, and those that are shown."""
    release = released_by(quote, run(quote, engine, catalog, SALT, gateway), RECEIPT)
    return encode(release) + encode(posted(release, quote.question.post))


def told_apart(triple: Triple, over: Over = reference, answer: Answer = answer) -> str | None:
    """How the two sides of ``triple`` are told apart; None where they are not.

    The second side is answered with what was released on the first. A question that fails on a
    side tells that side.
    """
    quote, catalog = triple.quote, triple.catalog
    recording = RecordingGateway(SystemEntropy(RECEIPT))
    try:
        first = answer(quote, over(catalog, triple.before), catalog, recording)
        replaying = ReplayingGateway(recording.calls)
        second = answer(quote, over(catalog, triple.after), catalog, replaying)
        replaying.finish()
    except BrokenPromise as broken:
        return str(broken)
    except Exception as error:  # noqa: BLE001 - whatever it is, it was seen
        return f"failed: {error!r}"
    return None if first == second else "the answers differ in more than noise"


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
