"""The question as a frozen tree: everything that the analyst said, and nothing of the data."""

from dataclasses import dataclass

from tacit.errors import InvalidValue
from tacit.plan.aggregate import Aggregate
from tacit.plan.expression import Expression
from tacit.plan.post import Post
from tacit.plan.relation import Relation


@dataclass(frozen=True, slots=True)
class GroupKey:
    """An expression that names the groups, under the name that its column has."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Measure:
    """An aggregate under the name that its column has."""

    name: str
    aggregate: Aggregate


@dataclass(frozen=True, slots=True)
class Plan:
    """One table of answers: for each group of ``source`` by ``keys``, the ``measures``.

    ``post`` is what is done with them after their release.
    """

    source: Relation
    keys: tuple[GroupKey, ...]
    measures: tuple[Measure, ...]
    post: Post

    def __post_init__(self) -> None:
        if not self.measures:
            raise InvalidValue(
                "A question asks for at least one aggregate, such as COUNT(*); rows are not "
                "released."
            )
        names = [key.name for key in self.keys] + [part.name for part in self.measures]
        if len(set(names)) != len(names):
            raise InvalidValue("Keys and measures have distinct names.")
