"""How large an answer a worker can make: a public cap, held before anything is charged.

An answer with public groups holds every group, with or without rows, so that how much memory
and time it takes is known when it is priced. A worker that reached its limits with such a
question would fail whatever the rows are, and a failure locks a population for everybody.
"""

from tacit.errors import InvalidValue
from tacit.plan.bounded import BoundedPlan
from tacit.plan.sensitivity import group_count
from tacit.plan.tally import TreeTally

BYTES = 1000
"""Memory that one number of an answer takes in a worker: at most 970 bytes were measured."""

SECONDS = 1e-4
"""Time that one number takes: 10 to 30 microseconds of a sum or a mean, 66 of a variance."""

NODES = 10
"""Nodes of a tree that take as much as one number: 4 microseconds each were measured."""

SHARE = 0.5
"""The part of a worker's memory and time that an answer may take: the rest is for the rows."""


def numbers_of(plan: BoundedPlan) -> int:
    """The numbers of an answer: its groups, each with its keys and tallies.

    Where groups are not public, how many there are is not known, and it is those of one group.
    """
    each = len(plan.keys)
    for tally in plan.tallies:
        each += 1 + tally.nodes // NODES if isinstance(tally, TreeTally) else 1
    return (group_count(plan) or 1) * each


def most_numbers(memory_bytes: int, seconds: float) -> int:
    """The numbers of an answer that a worker makes within its limits.

    Example:
        >>> most_numbers(8192 * 2**20, 60)
        300000
    """
    return int(SHARE * min(memory_bytes / BYTES, seconds / SECONDS))


def check_size(plan: BoundedPlan, most: int | None) -> None:
    """Refuse an answer of more than ``most`` numbers; without a cap, refuse nothing.

    Guarantee: a function of the plan and of public limits.
    """
    numbers = numbers_of(plan)
    if most is not None and numbers > most:
        groups = group_count(plan) or 1
        raise InvalidValue(
            f"This answer has {groups} groups of {len(plan.tallies)} sums each, which are "
            f"{numbers} numbers; a worker of this server makes at most {most}. Ask for fewer "
            "groups or fewer aggregates, or let the operator allow more: [server] seconds and "
            "megabytes. Nothing was charged."
        )
