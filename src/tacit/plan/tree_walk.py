"""Functions that visit and rewrite the nodes of a plan, and limits on its size.

Plans are trees of frozen dataclasses. These functions find the children of any node from its
fields, so that a new class of nodes needs no code here.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import Any, TypeVar

from tacit.errors import InvalidValue
from tacit.plan.expression import Expression, Field


class Parts(dict[type, tuple[str, ...] | None]):
    """A cache of the field names of each class of nodes, in order; None for other classes.

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


# Size ----------------------------------------------------------------------------------------
#
# Limits on size and depth keep every function that visits a plan fast, and within Python's
# recursion limit.

Node = TypeVar("Node")

LARGEST_QUESTION = 5_000
"""Largest number of nodes of a plan."""

LARGEST_PART = 200
"""Largest number of nodes of a named part. A name can be used several times, and names that use
other names would double the size of a plan at each level."""

DEEPEST = 100
"""Largest depth of a plan."""


def not_too_large(node: Node, most: int = LARGEST_QUESTION) -> Node:
    """Check that a tree has at most ``most`` nodes and is not nested too deeply; return it.

    At most ``most`` nodes are visited, for a tree of any size.

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
                    f"A part of this question has more than {most} operations after names are "
                    "replaced by their definitions; split it into several questions."
                )
        if not below:
            return node
        level = below
    raise InvalidValue("This question is nested too deeply; simplify its expressions.")


def every(node: object, kind: type[Node] | tuple[type[Node], ...]) -> Iterator[Node]:
    """Yield the nodes of one class, or of several classes, in a tree, each before its parts."""
    # a stack and not recursion: a question is visited dozens of times before it has a price
    rest: list[Any] = [node]
    while rest:
        each = rest.pop()
        if isinstance(each, kind):
            yield each
        rest += reversed(_parts(each))


def size(node: object) -> int:
    """Return the number of nodes of a tree."""
    return 1 + sum(map(size, _parts(node)))


class Children(dict[type, Callable[[Any], tuple[Any, ...]]]):
    """A cache of the function that returns the values of all slots of a node, by its class.

    Example:
        >>> from tacit.plan.expression import Constant
        >>> Children()[Constant](Constant(3))
        (3,)
    """

    def __missing__(self, kind: type) -> Callable[[Any], tuple[Any, ...]]:
        slots = getattr(kind, "__slots__", ())
        names = (slots,) if isinstance(slots, str) else tuple(slots)
        getter: Callable[[Any], tuple[Any, ...]]
        if len(names) > 1:
            getter = attrgetter(*names)
        elif names:
            only = attrgetter(names[0])
            getter = lambda node: (only(node),)  # noqa: E731 - one of three getters
        else:
            getter = lambda _: ()  # noqa: E731
        self[kind] = getter
        return getter


_CHILDREN = Children()


def _parts(node: object) -> list[Any]:
    """Return the children of a node that are nodes themselves, and not names or numbers."""
    children = node if isinstance(node, tuple) else _CHILDREN[type(node)](node)
    found: list[Any] = []
    for part in children:
        if isinstance(part, tuple):
            found += _parts(part)
        elif PARTS[type(part)] is not None:
            found.append(part)
    return found


# Rewriting -----------------------------------------------------------------------------------


def rewritten(node: Any, change: Callable[[Field], Expression]) -> Any:
    """Return ``node`` with ``change`` applied to each field in it.

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
