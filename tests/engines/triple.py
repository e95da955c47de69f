"""A catalogue, two neighbouring databases and a priced question, made from a number alone."""

from dataclasses import dataclass

from made_catalog import catalog
from made_plan import plan

from tacit.audit.synthetic_people import Choices, neighbours
from tacit.core.catalog import Catalog
from tacit.core.loss import Loss
from tacit.engines.reference import Tables
from tacit.errors import InternalError, TacitError
from tacit.plan.bounded_plan import group_count
from tacit.plan.tally import width
from tacit.query.pricing import price
from tacit.query.quote import Quote

LOSSES = (
    *(Loss.zcdp("0.1"), Loss.pure(1), Loss.pure("0.01"), Loss.zcdp("0.01", "1e-6")),
    *(Loss.zcdp("0.5", "0.3"), Loss.zcdp("0.5", "0.3"), Loss.zcdp(2, "0.5")),
    *(Loss.zcdp(20, "0.9"), Loss.zcdp("0.1", "1e-6"), Loss.approximate(2, "0.3")),
)
"""Large deltas, so that small groups are often kept; (epsilon, delta) is slow to price."""

MOST_INTEGERS = 20_000
"""What an answer is made of at most: trees for thousands of weeks take a minute to compare."""


@dataclass(frozen=True, slots=True)
class Triple:
    """What a number stands for; ``refused`` questions were made before one that has a price."""

    number: int
    catalog: Catalog
    before: Tables
    after: Tables
    quote: Quote
    refused: int


def triple(number: int) -> Triple:
    """The triple of that number."""
    choices = Choices(f"tacit triple {number}")
    declared = catalog(choices)
    quote, refused = _priced(declared, choices)
    before, after = neighbours(declared, choices)
    return Triple(number, declared, before, after, quote, refused)


def _priced(declared: Catalog, choices: Choices) -> tuple[Quote, int]:
    refused = 0
    while True:
        try:
            quote = price(plan(declared, choices), declared, choices.one(LOSSES))
        except InternalError:
            raise
        except TacitError:
            refused += 1
            continue
        bounded = quote.bound.plan
        if (group_count(bounded) or 1) * sum(map(width, bounded.tallies)) <= MOST_INTEGERS:
            return quote, refused
