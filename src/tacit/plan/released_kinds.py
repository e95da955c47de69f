"""Type checking of post-processing, before a question is charged.

An analyst must not pay for a question whose outputs, HAVING or ORDER BY have a type error, and
nothing may fail after the charge.
"""

from tacit.core import Column, Kind
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.plan.bounded_plan import BoundedKey, CaseKey, PeriodKey, StepsKey
from tacit.plan.tree_walk import every
from tacit.plan.type_check import NUMBERS, Released, kind_of


def check_post(
    post: nodes.Post,
    keys: tuple[BoundedKey, ...],
    measures: tuple[str, ...],
    dates: frozenset[str] = frozenset(),
) -> None:
    """Refuse post-processing that cannot be computed from released values.

    The measures ``dates`` are released as texts, and all others as numbers.

    The check is made before the charge, so that an analyst does not pay for a question whose
    outputs, HAVING or ORDER BY have a type error.
    """
    columns = [Column(key.name, _released_kind(key)) for key in keys]
    columns += [Column(name, Kind.TEXT if name in dates else Kind.FLOAT) for name in measures]
    _output_kinds(post, Released(tuple(columns)))


def _output_kinds(post: nodes.Post, schema: Released) -> list[Kind | None]:
    """Return the kinds of the outputs of ``post`` over columns of ``schema``."""
    if post.below:
        kinds = [_output_kinds(step, schema) for step in post.below]
        names = [output.name for output in post.below[0].outputs]
        schema = Released(
            tuple(
                Column(name, _union_kind(name, each))
                for name, each in zip(names, zip(*kinds, strict=True), strict=True)
            )
        )
    found = []
    for output in post.outputs:
        found.append(kind_of(output.expression, schema))
        if found[-1] is Kind.DATE:
            raise InvalidValue(
                "An output cannot be a date; write it as text, such as '2026-01-31'."
            )
    for order in post.order:
        kind_of(order.expression, schema)
    if any(every((post.having,), expr.WindowValue)):
        raise InvalidValue(
            "OVER is computed after HAVING and WHERE; write the question in FROM, and the "
            "condition in WHERE around it: SELECT * FROM (SELECT ...) WHERE place <= 3."
        )
    if post.having is not None and kind_of(post.having, schema) not in {Kind.BOOLEAN, None}:
        raise InvalidValue(
            "HAVING must be a condition on released values, as in COUNT(*) > 100."
        )
    return found


def _union_kind(name: str, kinds: tuple[Kind | None, ...]) -> Kind:
    """Return the kind of a column of UNION ALL; a column of NULLs counts as numbers."""
    known = {Kind.FLOAT if kind in NUMBERS else kind for kind in kinds if kind is not None}
    if len(known) > 1:
        raise InvalidValue(
            f"The parts of UNION ALL have numbers and texts in the column {name!r}; write one "
            "kind of value in it."
        )
    return known.pop() if known else Kind.FLOAT


def _released_kind(key: BoundedKey) -> Kind:
    """Return the kind of a released key: days are released as text, Booleans as 0 and 1."""
    if isinstance(key, CaseKey | StepsKey):
        return Kind.TEXT if isinstance(key.keys.values[0], str) else Kind.INTEGER
    if isinstance(key, PeriodKey):
        return Kind.TEXT
    return Kind.TEXT if key.kind in {Kind.TEXT, Kind.DATE} else Kind.INTEGER
