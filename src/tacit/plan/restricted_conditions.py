"""Conditions without the parts that are decided in rows of which something is known.

A key with many values is narrowed by halving the list of its values. In each half, some parts
of a long condition have a known truth, and some values of a list are outside. Without them, the
condition is short before the list is.
"""

from dataclasses import replace

from tacit.core import Kind
from tacit.plan import steps as grid_steps
from tacit.plan.possible_truths import ANY, OTHER, Facts, moment, truths_of_part


def restrict(condition: grid_steps.Condition, facts: Facts) -> grid_steps.Condition:
    """Return a shorter condition with the same truths in rows of which ``facts`` are known.

    Parts with a known truth are left out, and so are values of lists that no row can have.

    Example:
        >>> from tacit.plan import expression as expr
        >>> from tacit.plan.possible_truths import Within
        >>> aged = grid_steps.CompareColumn(expr.Comparison.MORE, "age", Kind.INTEGER, 30)
        >>> tall = grid_steps.CompareColumn(expr.Comparison.MORE, "height", Kind.INTEGER, 180)
        >>> restrict(grid_steps.AnyOf((aged, tall)), {"age": Within(10, 19)}) == OTHER
        True
    """
    match condition:
        case grid_steps.AllOf(parts):
            found = _without([restrict(part, facts) for part in parts], neutral=True)
            return found[0] if len(found) == 1 else grid_steps.AllOf(found)
        case grid_steps.AnyOf(parts):
            found = _without([restrict(part, facts) for part in parts], neutral=False)
            return found[0] if len(found) == 1 else grid_steps.AnyOf(found)
        case grid_steps.Negation(part):
            inner = restrict(part, facts)
            if isinstance(inner, grid_steps.ConstantCondition) and inner.truth is not None:
                return grid_steps.ConstantCondition(not inner.truth)
            return OTHER if inner is OTHER else grid_steps.Negation(inner)
        case grid_steps.ConstantCondition():
            return condition
    can_be = truths_of_part(condition, facts)
    if can_be == ANY:
        return OTHER
    if len(can_be) == 1:
        return grid_steps.ConstantCondition(*can_be)
    match condition:
        case grid_steps.ColumnOneOf(name, kind, values):
            within, timed = facts[name], kind is Kind.TIMESTAMP
            inside = (
                each for each in values if within.contains(moment(each) if timed else each)
            )
            return replace(condition, values=tuple(inside))
        case grid_steps.StepsOneOf(steps, whole):
            return replace(condition, values=tuple(filter(facts[steps].contains, whole)))
    return condition


def _without(
    parts: list[grid_steps.Condition], *, neutral: bool
) -> tuple[grid_steps.Condition, ...]:
    """Return the parts of AND (or of OR) that decide; the ``neutral`` truth decides nothing."""
    if grid_steps.ConstantCondition(not neutral) in parts:
        return (grid_steps.ConstantCondition(not neutral),)
    found = [each for each in parts if each != grid_steps.ConstantCondition(neutral)]
    if OTHER in found:
        found = [OTHER, *(each for each in found if each is not OTHER)]
    return tuple(found) or (grid_steps.ConstantCondition(neutral),)
