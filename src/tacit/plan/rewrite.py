"""Change the columns that a part of a plan names, wherever they stand."""

from collections.abc import Callable
from typing import Any

from tacit.plan.expression import Expression, Field
from tacit.plan.node import PARTS


def rewritten(node: Any, change: Callable[[Field], Expression]) -> Any:
    """``node`` with each of its columns changed.

    Example:
        >>> rewritten((Field("a"), 3), lambda field: Field(field.name * 2))
        (Field(name='aa'), 3)
    """
    if isinstance(node, Field):
        return change(node)
    if isinstance(node, tuple):
        return tuple(rewritten(part, change) for part in node)
    names = PARTS[type(node)]
    if names is None:
        return node
    return type(node)(*[rewritten(getattr(node, name), change) for name in names])
