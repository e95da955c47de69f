"""Which nodes a question is made of, and which there are: what a test leaves out is seen."""

from dataclasses import fields, is_dataclass

from tacit.plan import bounded, of_unit, source, steps, tally
from tacit.plan.stored_plan import NODES

LANGUAGE = frozenset(name for name, found in NODES.items() if is_dataclass(found))
"""What an analyst can say."""

COMPUTED = frozenset(
    name
    for module in (bounded, of_unit, source, steps, tally)
    for name, found in vars(module).items()
    if is_dataclass(found) and found.__module__ == module.__name__
) - {"StepsKey", "FirstPeriods"}
"""What an engine computes of a question.

Keys that are steps are of fits alone, and first periods of streams.
"""


def nodes(part: object) -> set[str]:
    """The names of all nodes of a question, or of a part of one."""
    if isinstance(part, tuple):
        return {name for each in part for name in nodes(each)}
    if not is_dataclass(part):
        return set()
    below = tuple(getattr(part, field.name) for field in fields(part))
    return {type(part).__name__} | nodes(below)
