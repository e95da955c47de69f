"""What is done with released values makes sense: told before the charge, and not after it."""

from tacit.core.column import Column, Kind
from tacit.errors import InvalidValue
from tacit.plan.bounded import BoundedKey, CaseKey, PeriodKey, StepsKey
from tacit.plan.kind import kind_of
from tacit.plan.post import Post
from tacit.plan.scope import Released


def check_post(post: Post, keys: tuple[BoundedKey, ...], measures: tuple[str, ...]) -> None:
    """Refuse what cannot be computed from released values, whatever these will be."""
    columns = [Column(key.name, _released(key)) for key in keys]
    schema = Released((*columns, *(Column(name, Kind.FLOAT) for name in measures)))
    for output in post.outputs:
        if kind_of(output.expression, schema) is Kind.DATE:
            raise InvalidValue("A day is shown as text, such as '2026-01-31'.")
    for order in post.order:
        kind_of(order.expression, schema)
    if post.having is not None and kind_of(post.having, schema) not in {Kind.BOOLEAN, None}:
        raise InvalidValue("HAVING is a condition on what is released, as in COUNT(*) > 100.")


def _released(key: BoundedKey) -> Kind:
    """Groups are named by text, as days are, or by whole numbers, as truths are."""
    if isinstance(key, CaseKey | StepsKey):
        return Kind.TEXT if isinstance(key.keys.values[0], str) else Kind.INTEGER
    if isinstance(key, PeriodKey):
        return Kind.TEXT
    return Kind.TEXT if key.kind in {Kind.TEXT, Kind.DATE} else Kind.INTEGER
