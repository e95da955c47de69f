"""An owner's question, put to the test over made-up people: no row of anybody is read."""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

from tacit.audit.check import Check, Part
from tacit.audit.choices import Choices
from tacit.audit.made_people import neighbours
from tacit.audit.noise_bound import Drawn, WorstPair
from tacit.audit.pair import Over, Pair
from tacit.core.catalog import Catalog
from tacit.core.dataset import Location
from tacit.core.loss import Loss
from tacit.query.price import price
from tacit.query.quote import Quote
from tacit.sql.parse import parse

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

    def audited(self, text: str, catalog: Catalog, loss: Loss) -> Part:
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
        return Part(text, (check, *noise), tuple(notes))

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
