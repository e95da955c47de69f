"""One question about two neighbouring databases: they show in nothing but noise."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tacit.audit.record import RecordingGateway
from tacit.audit.replay import BrokenPromise, ReplayingGateway
from tacit.core.catalog import Catalog
from tacit.core.stored_release import encode
from tacit.engines.engine import Engine
from tacit.engines.joined import Tables
from tacit.mechanisms.gateway import Gateway
from tacit.numeric.entropy import SystemEntropy
from tacit.query.post import posted
from tacit.query.quote import Quote
from tacit.query.run import released_by, run

SALT, RECEIPT = b"salt", b"receipt"

Over = Callable[[Catalog, Tables], Engine]
"""The engine over some tables; what it held before is gone."""

Answer = Callable[[Quote, Engine, Catalog, Gateway], bytes]
"""What an analyst sees."""


def answer(quote: Quote, engine: Engine, catalog: Catalog, gateway: Gateway) -> bytes:
    """The bytes that are stored, and those that are shown."""
    release = released_by(quote, run(quote, engine, catalog, SALT, gateway), RECEIPT)
    return encode(release) + encode(posted(release, quote.question.post))


@dataclass(frozen=True, slots=True)
class Pair:
    """A priced question, and two databases that differ in all rows of one person."""

    quote: Quote
    catalog: Catalog
    before: Tables
    after: Tables

    def compared(self, over: Over, answer: Answer = answer) -> "Compared":
        """What tells the two sides apart, and how near they came to the sensitivity.

        The second side is answered with what was released on the first. A question that fails
        on a side tells that side.
        """
        recording = RecordingGateway(SystemEntropy(RECEIPT))
        try:
            first = answer(self.quote, over(self.catalog, self.before), self.catalog, recording)
            replaying = ReplayingGateway(recording.calls)
            engine = over(self.catalog, self.after)
            second = answer(self.quote, engine, self.catalog, replaying)
            replaying.finish()
        except BrokenPromise as broken:
            return Compared(str(broken))
        except Exception as error:  # noqa: BLE001 - whatever it is, it was seen
            return Compared(f"failed: {error!r}")
        differ = None if first == second else "the answers differ in more than noise"
        return Compared(differ, replaying.reached)


@dataclass(frozen=True, slots=True)
class Compared:
    """What told two sides apart, or None; and the square of how far they moved.

    It is a part of the square of the sensitivity declared, the largest of all batches.
    """

    apart: str | None
    reached: Fraction = Fraction(0)
