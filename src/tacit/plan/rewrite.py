"""Change the columns that a part of a plan names, wherever they stand."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tacit.plan.expression import Expression, Field


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
    if not is_dataclass(node) or isinstance(node, type):
        return node
    parts = {field.name: rewritten(getattr(node, field.name), change) for field in fields(node)}
    return replace(node, **parts)
