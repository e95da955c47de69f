"""What the nodes of a plan are made of: looked up once a class, since questions are walked."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from tacit.errors import InvalidValue
from tacit.plan.expression import Expression, Field


class Parts(dict[type, tuple[str, ...] | None]):
    """The names of what the nodes of a class are made of, in order; None for values.

    Example:
        >>> from tacit.plan.expression import Field
        >>> PARTS[Field], PARTS[int]
        (('name',), None)
    """

    def __missing__(self, kind: type) -> tuple[str, ...] | None:
        names = None
        if is_dataclass(kind):
            names = tuple(part.name for part in fields(kind))
        self[kind] = names
        return names


PARTS = Parts()


# ------------------------------------------------------------------ size
# How large a question may be: whoever walks one must come back, and soon.

Node = TypeVar("Node")

LARGEST_QUESTION = 5_000
"""Nodes of a plan."""

LARGEST_PART = 200
"""Nodes of a part that is named or repeated, since names of names would double at each."""

DEEPEST = 100
"""Nodes above a node."""


def not_too_large(node: Node, most: int = LARGEST_QUESTION) -> Node:
    """``node`` itself; refused where it has more than ``most`` nodes, or is nested too deeply.

    No more than ``most`` nodes are looked at, however large the tree is.

    Example:
        >>> from tacit.plan.expression import Constant, Not
        >>> not_too_large(Not(Constant(True)), most=2)
        Not(part=Constant(value=True))
    """
    seen = 0
    level: list[Any] = [node]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for each in level:
            below += _parts(each)
            seen += 1
            if seen > most:
                raise InvalidValue(
                    f"This question has a part of more than {most} operations once all that "
                    "it names is written out; ask for less at once."
                )
        if not below:
            return node
        level = below
    raise InvalidValue("This question is nested too deeply.")


def every(node: object, kind: type[Node]) -> Iterator[Node]:
    """The nodes of one kind in a tree."""
    if isinstance(node, kind):
        yield node
    for part in _parts(node):
        yield from every(part, kind)


def size(node: object) -> int:
    """The nodes of a tree."""
    return 1 + sum(map(size, _parts(node)))


def _parts(node: object) -> list[Any]:
    """The nodes right below a node; what is no node, such as a name, counts for nothing."""
    if isinstance(node, tuple):
        held: Any = node
    else:
        held = [getattr(node, slot) for slot in getattr(node, "__slots__", ())]
    found: list[Any] = []
    for part in held:
        if isinstance(part, tuple):
            found += _parts(part)
        elif PARTS[type(part)] is not None:
            found.append(part)
    return found


# ------------------------------------------------------------------ rewrite
# Change the columns that a part of a plan names, wherever they stand.


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
