"""The rule of an owner that small cells are left empty, in addition to privacy.

Differential privacy protects every person, in small cells too. Many offices have a rule
besides: a number about fewer than ten people is not published. The number of people in a cell
is private itself, so that the rule is applied to a noisy count of people, which is part of the
price. A cell is shown only if this count says, with probability 95%, that enough people are in
it.

Complementary suppression is not done: a total minus the cells that are shown is an estimate of
the others. Their noise protects people, as in every answer.
"""

from dataclasses import replace
from typing import TypeVar

from tacit.core import ReleasedColumn
from tacit.query.intervals import CONFIDENCE
from tacit.query.quote import Quote
from tacit.query.selected_count import selected_count_interval

Value = TypeVar("Value")


def cells_shown(quote: Quote, released: list[list[int]]) -> tuple[bool, ...] | None:
    """Return for each group whether it is shown; None if all are.

    Guarantee: this is post-processing of the released counts. A group of fewer people than the
    owner requires is shown with a probability of at most 5%.
    """
    place = quote.bound.people
    if place is None:
        return None
    mechanism = quote.tallies[place].mechanism
    kept, least = selected_count_interval(mechanism, CONFIDENCE), quote.bound.min_people
    if kept is not None:
        return tuple(kept.interval(units)[0] >= least for units in released[place])
    # the error is on either side with half of the probability
    reach = mechanism.error(1 - 2 * (1 - CONFIDENCE))
    return tuple(units - reach >= least for units in released[place])


def leave_empty(column: ReleasedColumn, shown: tuple[bool, ...] | None) -> ReleasedColumn:
    """Return ``column`` without the values and intervals of groups that are not shown.

    Example:
        >>> from fractions import Fraction
        >>> column = ReleasedColumn("n", (Fraction(40), Fraction(3)))
        >>> leave_empty(column, (True, False)).values
        (Fraction(40, 1), None)
    """
    if shown is None:
        return column
    return replace(
        column,
        values=_only(column.values, shown),
        intervals=_only(column.intervals, shown),
        counted=_only(column.counted, shown),
        rows=tuple(n if show else 0 for n, show in zip(column.rows, shown, strict=False)),
    )


def _only(values: tuple[Value, ...], shown: tuple[bool, ...]) -> tuple[Value | None, ...]:
    """Return the values of groups that are shown, and None for the others."""
    return tuple(value if show else None for value, show in zip(values, shown, strict=False))
