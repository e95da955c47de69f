from dataclasses import replace
from fractions import Fraction

import pytest
from clinic import catalog

from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.errors import InternalError
from tacit.mechanisms.additive_noise import Gaussian
from tacit.mechanisms.grid_quantiles import GridQuantile
from tacit.mechanisms.mechanism import Mechanism
from tacit.query.intervals import column_of
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.sql.parser import parse

CLINIC = catalog(Limits(1, 1))
QUOTE = price(parse("SELECT MEDIAN(age) FROM visits", CLINIC), CLINIC, Loss.zcdp(1))


def by(mechanism: Mechanism) -> Quote:
    (part,) = QUOTE.tallies
    return replace(QUOTE, tallies=(replace(part, mechanism=mechanism),))


def shown(quote: Quote, *places: int) -> list[object]:
    column = column_of("", quote.bound.readings[0], quote, [list(places)])
    return [(value, *ends) for value, ends in zip(column.values, column.intervals, strict=True)]  # type: ignore[misc]


def test_a_cell_and_a_reach_are_read_for_each_group() -> None:
    assert shown(QUOTE, 40, 0, 3, 5, 119, 4) == [(40, 40, 40), (3, 0, 9), (119, 115, 120)]


def test_what_was_not_chosen_on_a_grid_or_for_less_is_not_read() -> None:
    with pytest.raises(InternalError, match="needs a GridQuantile"):
        shown(by(Gaussian(Fraction(1))), 1, 1)
    chosen = QUOTE.tallies[0].mechanism
    assert isinstance(chosen, GridQuantile)
    with pytest.raises(InternalError, match="lower confidence"):
        shown(by(replace(chosen, confidence=Fraction(9, 10))), 1, 1)
