"""Audit of one question on pairs of neighbouring databases with synthetic people.

The question is answered on both databases. The second run replays the noisy releases of the
first (see `tacit.audit.replay`), so that the two answers must be equal.
"""

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
from tacit.query import Quote, post_process, price, released_by, run
from tacit.sql import parse

SALT, RECEIPT = b"salt", b"receipt"

Over = Callable[[Catalog, Tables], Engine]
"""A function that loads tables into an engine, in place of its previous tables."""

Answer = Callable[[Quote, Engine, Catalog, Gateway], bytes]
"""A function that returns all bytes that an analyst could see."""


def answer(quote: Quote, engine: Engine, catalog: Catalog, gateway: Gateway) -> bytes:
    """Return the bytes that are stored, followed by the bytes that are shown."""
    release = released_by(quote, run(quote, engine, catalog, SALT, gateway), RECEIPT)
    return encode_release(release) + encode_release(post_process(release, quote.question.post))


@dataclass(frozen=True, slots=True)
class Pair:
    """A priced question, and two databases that differ in all rows of one person."""

    quote: Quote
    catalog: Catalog
    before: Tables
    after: Tables

    def compare(self, over: Over, answer: Answer = answer) -> "Compared":
        """Answer the question on both sides, and return how the answers differ.

        The second side is answered with the recorded releases of the first. A question that
        fails on one side distinguishes the two sides.
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
        except Exception as error:  # noqa: BLE001 - an analyst would see any failure
            return Compared(f"failed: {error!r}")
        differ = None if first == second else "the answers differ in more than noise"
        return Compared(differ, replaying.reached)


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of a comparison: the difference that was found, or None, and the distance.

    ``reached`` is the largest squared distance of all batches, relative to the squared
    sensitivity that was declared.
    """

    apart: str | None
    reached: Fraction = Fraction(0)


# ------------------------------------------------------------------ audit of a question

MADE_UP = "made up"
MOST_ROWS = 200
"""Maximum number of rows of one person in a table, so that a comparison does not take long."""

MOST_DIFFERENCES = 3
"""Maximum number of differences that are listed in a finding."""


@dataclass(frozen=True, slots=True)
class QuestionAudit:
    """Settings of an audit: the engine, the number of pairs, and the draws of noise."""

    over: Over
    pairs: int
    drawn: Drawn

    def audit(self, text: str, catalog: Catalog, loss: Loss) -> AuditedItem:
        """Run all checks of one question, and return their results."""
        quote = price(parse(text, catalog), catalog, loss)
        noise = [
            check for each in dict.fromkeys(quote.tallies) if (check := self.drawn.check(each))
        ]
        others = [each.mechanism for each in quote.tallies if WorstPair.of(each) is None]
        names = ", ".join(dict.fromkeys(type(each).__name__ for each in others))
        check = self.replay_neighbours(quote, catalog)
        notes = []
        if names:
            notes.append(
                f"{names}: audited by replay and not by draws. Its exact privacy curve is "
                "tested elsewhere."
            )
        if not check.figures["reached"]:
            notes.append(
                "No synthetic person met the conditions of the question, so that the "
                "comparison of neighbours has no power."
            )
        return AuditedItem(text, (check, *noise), tuple(notes))

    def replay_neighbours(self, quote: Quote, catalog: Catalog) -> Check:
        """Record and replay over pairs of neighbours, which are the same in every audit."""
        apart, reached = [], Fraction(0)
        for number in range(self.pairs):
            choices = Choices(f"tacit audit {number}")
            before, after = neighbours(catalog, choices, rows_beyond(catalog))
            compared = Pair(quote, catalog, before, after).compare(self.over)
            reached = max(reached, compared.reached)
            if compared.apart:
                apart.append(f"pair {number}: {compared.apart}")
        found = f"{self.pairs} pairs of synthetic people, {len(apart) or 'none'} distinguished"
        found += f"; one person changes numbers by up to {sqrt(reached):.0%} of the sensitivity"
        if apart:
            found += f" ({'; '.join(apart[:MOST_DIFFERENCES])})"
        figures = {"pairs": self.pairs, "apart": len(apart), "reached": sqrt(reached)}
        return Check("neighbours", found, not apart, figures)


def rows_beyond(catalog: Catalog) -> tuple[int, ...]:
    """Return numbers of rows for one person, from below the contribution limits to above."""
    limits = [each.limits for each in catalog.datasets]
    full = max(each.max_groups * each.max_rows for each in limits)
    return tuple(min(most, MOST_ROWS) for most in (4, full, 2 * full, 4 * full))


def catalog_of_population(catalog: Catalog, population: str) -> Catalog:
    """Return the catalog of one population, without the locations of its tables."""
    theirs = tuple(
        replace(
            each,
            location=Location(MADE_UP, (each.name,)),
            schema=each.schema.copied,  # synthetic values are of the kinds
            copy=None,
        )
        for each in catalog.datasets
        if each.population == population
    )
    public = tuple(
        replace(each, location=Location(MADE_UP, (each.name,)), schema=each.schema.copied)
        for each in catalog.public
    )
    people = tuple(each for each in catalog.populations if each.name == population)
    return Catalog(people, theirs, public)
