"""Which form a statement has: a choice that public facts alone make, among equal meanings."""

from tacit.core.catalog import Catalog
from tacit.core.dataset import ValidatedCopy
from tacit.plan.bounded import BoundedPlan
from tacit.plan.ranged import ROOM
from tacit.plan.sensitivity import group_count
from tacit.plan.source import one_row
from tacit.plan.tally import TotalTally

MOST_IN_VIEW = 4
"""Rows of a unit up to which each is looked at beside those before it; beyond, grouping is
faster."""


def row_by_row(plan: BoundedPlan, catalog: Catalog) -> bool:
    """Whether each row tells by itself, and by the few before it, what it adds to its group.

    Otherwise the rows of each unit are grouped first.
    """
    if alone(plan, catalog):
        return True
    most = plan.max_rows_in_all
    if most is None or most > MOST_IN_VIEW or choosing(plan):
        return False
    greatest = [
        max(-tally.low, tally.high) // plan.max_rows
        for tally in plan.tallies
        if isinstance(tally, TotalTally)
    ]
    return all((most + 1) * (value + 1) < ROOM for value in greatest)


def alone(plan: BoundedPlan, catalog: Catalog) -> bool:
    """Whether no other row of its unit is looked at: each row is within all limits."""
    return one_row(plan.source, catalog) or plan.max_rows_in_all == 1


def choosing(plan: BoundedPlan) -> bool:
    """Whether a unit can be in more groups than it keeps."""
    groups, most = group_count(plan), plan.max_rows_in_all
    if most is not None and most <= plan.max_groups:
        return False
    return groups is None or groups > plan.max_groups


def copy_to_read(plan: BoundedPlan, catalog: Catalog) -> ValidatedCopy | None:
    """The ordered copy that a question reads in its order.

    It is asked about one table, whose units' rows are limited. Other questions read a copy as
    they read a table, whether it is ordered or not.
    """
    source = plan.source
    if source.gathered or source.beside or plan.max_rows_in_all is None:
        return None
    if plan.first_periods is not None:
        return None  # rows are left out between those that lie side by side
    if one_row(source, catalog):
        return None  # nothing is bounded, and rows are read without their places
    copy = catalog.dataset(source.dataset).copy
    return copy if copy is not None and copy.ordered else None
