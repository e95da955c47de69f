"""Which nodes a question is made of, and which there are: what a test leaves out is seen."""

from dataclasses import fields, is_dataclass

from tacit.plan import bounded_plan, source, steps, tally
from tacit.plan.canonical_form import NODES

LANGUAGE = frozenset(found.__name__ for found in NODES.values() if is_dataclass(found))
"""What an analyst can say."""

COMPUTED = frozenset(
    name
    for module in (bounded_plan, source, steps, tally)
    for name, found in vars(module).items()
    if is_dataclass(found)
    and found.__module__ == module.__name__
    and not name.endswith("Reading")
) - {"FirstPeriods", "Fold", "Ranged", "ComputedColumn", "TreeCells"}
"""The nodes that an engine computes of a question.

First periods belong to streams, folds to model selection. Readings are of released values. The
others are ranges and columns that the nodes are made from.
"""


def nodes(part: object) -> set[str]:
    """The names of all nodes of a question, or of a part of one."""
    if isinstance(part, tuple):
        return {name for each in part for name in nodes(each)}
    if not is_dataclass(part):
        return set()
    below = tuple(getattr(part, field.name) for field in fields(part))
    return {type(part).__name__} | nodes(below)
