"""What is asked of each group."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core import RESERVED
from tacit.errors import InvalidValue
from tacit.plan.expression import Expression, Field


@dataclass(frozen=True, slots=True)
class CountRows:
    """How many rows a group has: COUNT(*)."""


@dataclass(frozen=True, slots=True)
class CountUnits:
    """How many units a group has: COUNT(DISTINCT the unit)."""


@dataclass(frozen=True, slots=True)
class CountValues:
    """In how many rows of a group an expression is not NULL: COUNT(expression)."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a number over the rows of a group; NULL counts for nothing."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a number over the rows of a group in which it is not NULL."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of a number over the rows in which it is not NULL.

    Of a ``sample`` it is divided by one row less than there are.
    """

    argument: Expression
    sample: bool


@dataclass(frozen=True, slots=True)
class Deviation:
    """The root of the variance."""

    argument: Expression
    sample: bool


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value that so large a part of the rows do not pass; the median's part is a half."""

    argument: Expression
    fraction: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise InvalidValue(
                f"A quantile lies between 0 and 1, and {self.fraction} does not; the ends are "
                "MIN and MAX."
            )


@dataclass(frozen=True, slots=True)
class Least:
    """The least value whose rank can be seen through noise: MIN."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Greatest:
    """The greatest value whose rank can be seen through noise: MAX."""

    argument: Expression


Aggregate = (
    CountRows
    | CountUnits
    | CountValues
    | Sum
    | Mean
    | Variance
    | Deviation
    | Quantile
    | Least
    | Greatest
)


# ------------------------------------------------------------------ relation
# Where rows come from. Every relation below the top carries the unit of its rows.

BELOW = RESERVED
"""Where values of units are found: above `PerUnit`, one is called below.name."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of a dataset."""

    dataset: str


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which a condition holds."""

    source: "Relation"
    condition: Expression


@dataclass(frozen=True, slots=True)
class Join:
    """Rows of ``source``, each beside those of ``dataset`` that belong to it.

    ``left`` is a column of ``source``, as dataset.column, and ``right`` one of ``dataset``.
    They are the two ends of a declared link, or both name the unit: a row belongs to one unit
    before and after.
    """

    source: "Relation"
    dataset: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class JoinPublic:
    """Rows of ``source``, each beside those of a public table whose ``right`` is its ``left``.

    ``left`` is a column of ``source``, as dataset.column. A row that has none beside it is
    dropped, or stays beside NULLs where the join is ``outer``.
    """

    source: "Relation"
    table: str
    left: str
    right: str
    outer: bool = False


@dataclass(frozen=True, slots=True)
class UnitValue:
    """An aggregate of one unit's own rows, under the name of its column."""

    name: str
    aggregate: Aggregate


@dataclass(frozen=True, slots=True)
class PerUnit:
    """A row for each unit, and for each group of its rows by ``keys``: aggregates of these.

    ``keys`` are columns of ``source``, as dataset.column; the unit is one without being named.
    Above it there are the unit and the keys under their own names, and the values.
    """

    source: "Relation"
    keys: tuple[str, ...]
    values: tuple[UnitValue, ...]


Relation = Scan | Filter | Join | JoinPublic | PerUnit


def datasets(relation: Relation) -> tuple[str, ...]:
    """The names of the datasets and public tables that ``relation`` reads, in order.

    Example:
        >>> datasets(Filter(Join(Scan("visits"), "patients", "visits.patient", "id"), True))
        ('visits', 'patients')
    """
    match relation:
        case Scan(dataset):
            return (dataset,)
        case Filter(source, _) | PerUnit(source, _, _):
            return datasets(source)
        case Join(source, dataset, _, _) | JoinPublic(source, dataset, _, _, _):
            return (*datasets(source), dataset)


def per_unit_in(relation: Relation) -> PerUnit | None:
    """The rows of units that ``relation`` filters or joins; None where it reads datasets."""
    match relation:
        case Scan():
            return None
        case Filter(source, _) | Join(source, _, _, _) | JoinPublic(source, _, _, _, _):
            return per_unit_in(source)
        case PerUnit():
            return relation


def filters(relation: Relation) -> list[Expression]:
    """The conditions on the rows of ``relation``, from the bottom up; not those of units."""
    match relation:
        case Scan() | PerUnit():
            return []
        case Filter(source, wanted):
            return [*filters(source), wanted]
        case Join(source, _, _, _) | JoinPublic(source, _, _, _, _):
            return filters(source)


# ------------------------------------------------------------------ post
# What is done with released values: free, since it looks at nothing else.


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer: its name, and how it is computed from released columns."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class OrderBy:
    """An order of the answer's rows."""

    expression: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class Post:
    """The columns shown, which groups of them, in which order, and how many.

    Fields name keys and measures of the plan. Whatever is not ordered is in the order of the
    keys.
    """

    outputs: tuple[Output, ...]
    having: Expression | None = None
    order: tuple[OrderBy, ...] = ()
    limit: int | None = None

    def __post_init__(self) -> None:
        names = [output.name for output in self.outputs]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidValue(
                f"Columns of an answer have distinct names, and two are called {twice[0]!r}; "
                "name one with AS."
            )

    @classmethod
    def showing(cls, *names: str) -> "Post":
        """The columns ``names`` as they were released."""
        return cls(tuple(Output(name, Field(name)) for name in names))


# ------------------------------------------------------------------ plan
# The question as a frozen tree: everything that the analyst said, and nothing of the data.


@dataclass(frozen=True, slots=True)
class GroupKey:
    """An expression that names the groups, under the name that its column has."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class NamedAggregate:
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
    measures: tuple[NamedAggregate, ...]
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
