"""What the nodes of a plan are made of: looked up once a class, since questions are walked."""

from dataclasses import fields, is_dataclass


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
