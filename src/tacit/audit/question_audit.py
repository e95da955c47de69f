"""One question about two neighbouring databases: they show in nothing but noise."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

from tacit.audit.lower_bound import Drawn, WorstPair
from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.audit.report import AuditedItem, Check
from tacit.audit.synthetic_people import Choices, neighbours
from tacit.core import Catalog, Location, Loss, encode_release
from tacit.engines import Engine
from tacit.engines.reference import Tables
from tacit.mechanisms import Gateway
from tacit.numeric.entropy import SystemEntropy
from tacit.query import Quote, posted, price, released_by, run
from tacit.sql import parse

SALT, RECEIPT = b"salt", b"receipt"

Over = Callable[[Catalog, Tables], Engine]
"""The engine over some tables; what it held before is gone."""

Answer = Callable[[Quote, Engine, Catalog, Gateway], bytes]
"""What an analyst sees."""


def answer(quote: Quote, engine: Engine, catalog: Catalog, gateway: Gateway) -> bytes:
    """The bytes that are stored, and those that are shown."""
    release = released_by(quote, run(quote, engine, catalog, SALT, gateway), RECEIPT)
    return encode_release(release) + encode_release(posted(release, quote.question.post))


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


# ------------------------------------------------------------------ on question
# An owner's question, put to the test over made-up people: no row of anybody is read.

MADE_UP = "made up"
MOST_ROWS = 200
"""Of one person in a table: more would not be compared in time."""

MOST_TOLD = 3
"""Of what told neighbours apart."""


@dataclass(frozen=True, slots=True)
class QuestionAudit:
    """How many pairs of neighbours, on which engine, and how noise is drawn."""

    over: Over
    pairs: int
    drawn: Drawn

    def audited(self, text: str, catalog: Catalog, loss: Loss) -> AuditedItem:
        """All that can be looked at of one question."""
        quote = price(parse(text, catalog), catalog, loss)
        noise = [
            check for each in dict.fromkeys(quote.tallies) if (check := self.drawn.check(each))
        ]
        others = [each.mechanism for each in quote.tallies if WorstPair.of(each) is None]
        names = ", ".join(dict.fromkeys(type(each).__name__ for each in others))
        check = self.replayed(quote, catalog)
        notes = []
        if names:
            notes.append(f"{names}: replayed, and not drawn; the exact curve is tested.")
        if not check.figures["reached"]:
            notes.append("No made-up person met its conditions: the neighbours show nothing.")
        return AuditedItem(text, (check, *noise), tuple(notes))

    def replayed(self, quote: Quote, catalog: Catalog) -> Check:
        """Record and replay over pairs that their numbers make: the same in every audit."""
        apart, reached = [], Fraction(0)
        for number in range(self.pairs):
            choices = Choices(f"tacit audit {number}")
            before, after = neighbours(catalog, choices, rows_beyond(catalog))
            compared = Pair(quote, catalog, before, after).compared(self.over)
            reached = max(reached, compared.reached)
            if compared.apart:
                apart.append(f"pair {number}: {compared.apart}")
        found = f"{self.pairs} pairs of made-up people, {len(apart) or 'none'} told apart"
        found += f"; one moves numbers by up to {sqrt(reached):.0%} of what is declared"
        if apart:
            found += f" ({'; '.join(apart[:MOST_TOLD])})"
        figures = {"pairs": self.pairs, "apart": len(apart), "reached": sqrt(reached)}
        return Check("neighbours", found, not apart, figures)


def rows_beyond(catalog: Catalog) -> tuple[int, ...]:
    """How many rows one needs to reach every limit, and as many again."""
    limits = [each.limits for each in catalog.datasets]
    full = max(each.max_groups * each.max_rows for each in limits)
    return tuple(min(most, MOST_ROWS) for most in (4, full, 2 * full, 4 * full))


def made_up(catalog: Catalog, population: str) -> Catalog:
    """The tables of one population as they are declared, and no place where they live."""
    theirs = tuple(
        replace(each, location=Location(MADE_UP, (each.name,)), copy=None)
        for each in catalog.datasets
        if each.population == population
    )
    public = tuple(
        replace(each, location=Location(MADE_UP, (each.name,))) for each in catalog.public
    )
    people = tuple(each for each in catalog.populations if each.name == population)
    return Catalog(people, theirs, public)
