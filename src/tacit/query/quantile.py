"""Quantiles that were chosen on a grid, with what they can be."""

from collections.abc import Iterator
from fractions import Fraction

from tacit.core.release import Interval
from tacit.errors import InternalError
from tacit.mechanisms.grid_quantile import GridQuantile
from tacit.plan.reading import QuantileReading
from tacit.query.quote import Quote
from tacit.query.tree import shown


def quantiles(
    reading: QuantileReading, quote: Quote, released: list[list[int]], confidence: Fraction
) -> Iterator[tuple[Fraction, Interval]]:
    """The quantile of each group, and where that of the kept rows lies."""
    mechanism = quantile_of(quote, reading)
    if mechanism.confidence < confidence:
        raise InternalError("The reach of a quantile was chosen for less confidence.")
    places = released[reading.tree]
    for cell, place in zip(places[::2], places[1::2], strict=True):
        yield shown(reading.cells, cell, mechanism.interval(cell, place))


def quantile_of(quote: Quote, reading: QuantileReading) -> GridQuantile:
    """The mechanism that chooses it."""
    mechanism = quote.tallies[reading.tree].mechanism
    if not isinstance(mechanism, GridQuantile):
        raise InternalError("A quantile is chosen on a grid.")
    return mechanism
