"""The question as a frozen tree: everything that the analyst said, and nothing of the data."""

from dataclasses import dataclass

from tacit.errors import InvalidValue
from tacit.plan.aggregate import Aggregate
from tacit.plan.expression import Expression
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

    ``shown`` are the columns in the order of the answer; whatever else is done with released
    values is done after the release.
    """

    source: Relation
    keys: tuple[GroupKey, ...]
    measures: tuple[Measure, ...]
    shown: tuple[str, ...]

    def __post_init__(self) -> None:
        names = [key.name for key in self.keys] + [part.name for part in self.measures]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidValue(
                f"Columns of an answer have distinct names, and two are called {twice[0]!r}; "
                "name one with AS."
            )
        if not self.measures:
            raise InvalidValue(
                "A question asks for at least one aggregate, such as COUNT(*); rows are not "
                "released."
            )
        for name in self.shown:
            if name not in names:
                raise InvalidValue(f"The answer has no column {name!r}.")
