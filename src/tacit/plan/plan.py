"""The nodes of a plan: aggregates, relations, post-processing, and the plan itself.

A plan is the frozen tree that a question in SQL or with data frames becomes. It contains
everything that the analyst wrote and nothing from the data.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from tacit.core import RESERVED, Key
from tacit.errors import InvalidValue
from tacit.plan.expression import Expression, Field

# Aggregates ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CountRows:
    """The number of rows of a group: COUNT(*)."""


@dataclass(frozen=True, slots=True)
class CountUnits:
    """The number of units of a group: COUNT(DISTINCT unit)."""


@dataclass(frozen=True, slots=True)
class CountValues:
    """The number of rows of a group in which an expression is not NULL: COUNT(expression)."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class CountDistinct:
    """The number of distinct values of an expression in a group, without NULL.

    COUNT(DISTINCT unit) is another aggregate, `CountUnits`.
    """

    argument: Expression


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a number over the rows of a group in which it is not NULL."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a number over the rows of a group in which it is not NULL."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of a number over the rows of a group in which it is not NULL.

    With ``sample``, the sum of squares is divided by n - 1 and not by n.
    """

    argument: Expression
    sample: bool


@dataclass(frozen=True, slots=True)
class Deviation:
    """The standard deviation: the square root of the variance."""

    argument: Expression
    sample: bool


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value below which the given fraction of the rows lies; 1/2 is the median."""

    argument: Expression
    fraction: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise InvalidValue(
                f"The fraction of a quantile must be between 0 and 1, and {self.fraction} is "
                "not; use MIN or MAX for the ends."
            )


@dataclass(frozen=True, slots=True)
class Least:
    """The least value whose rank can be distinguished from noise: MIN."""

    argument: Expression


@dataclass(frozen=True, slots=True)
class Greatest:
    """The greatest value whose rank can be distinguished from noise: MAX."""

    argument: Expression


class PairFunction(Enum):
    """A statistic of two numbers; the value is its name in SQL."""

    CORRELATION = "CORR"
    COVARIANCE = "COVAR_POP"
    SAMPLE_COVARIANCE = "COVAR_SAMP"
    SLOPE = "REGR_SLOPE"
    INTERCEPT = "REGR_INTERCEPT"
    DETERMINATION = "REGR_R2"

    @property
    def is_symmetric(self) -> bool:
        """Whether the two numbers can be exchanged."""
        return self not in {PairFunction.SLOPE, PairFunction.INTERCEPT}


@dataclass(frozen=True, slots=True)
class PairStatistic:
    """A statistic of two numbers over the rows of a group in which neither is NULL.

    A regression explains ``y`` by ``x``; it is the line with the least sum of squares.
    """

    function: PairFunction
    y: Expression
    x: Expression


Aggregate = (
    CountRows
    | CountUnits
    | CountValues
    | CountDistinct
    | Sum
    | Mean
    | Variance
    | Deviation
    | PairStatistic
    | Quantile
    | Least
    | Greatest
)


# Relations -----------------------------------------------------------------------------------
#
# Every relation below the top keeps track of the unit of each of its rows.

BELOW = RESERVED
"""Prefix of the columns that a subquery computes: above `PerUnit`, such a column is called
below.name."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of a dataset."""

    dataset: str


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows of ``source`` for which a condition is true."""

    source: "Relation"
    condition: Expression


@dataclass(frozen=True, slots=True)
class Join:
    """An inner join of ``source`` with ``dataset`` on ``left`` = ``right``.

    ``left`` is a column of ``source``, written dataset.column, and ``right`` is a column of
    ``dataset``. The two columns are the ends of a declared link, or both identify the unit, so
    that each joined row still belongs to exactly one unit.
    """

    source: "Relation"
    dataset: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """A join like `Join` that also keeps the rows of ``source`` without a match, with NULLs."""

    source: "Relation"
    dataset: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Semi:
    """The rows of ``source`` for which ``below`` has a row of the same unit that matches.

    Two rows match if they belong to one unit and their columns are equal: each pair of ``on``
    is a column of ``source`` and one of ``below``, both written dataset.column. NULL equals
    nothing. One pair must show that both rows belong to one unit: it is a declared link, or
    identifies the unit in both. The unit is equated in any case. If the semi-join is ``anti``,
    the rows of ``source`` without a match are kept instead.
    """

    source: "Relation"
    below: "Relation"
    on: tuple[tuple[str, str], ...]
    anti: bool = False


@dataclass(frozen=True, slots=True)
class JoinPublic:
    """A join of ``source`` with a public table on ``left`` = ``right``.

    ``left`` is a column of ``source``, written dataset.column. A row without a match is
    dropped, or is kept with NULLs if the join is ``outer``.
    """

    source: "Relation"
    table: str
    left: str
    right: str
    outer: bool = False


@dataclass(frozen=True, slots=True)
class UnitValue:
    """An aggregate over the rows of one unit, and the name of its column."""

    name: str
    aggregate: Aggregate


@dataclass(frozen=True, slots=True)
class PerUnit:
    """A subquery with GROUP BY unit and ``keys``: one row for each unit and each of its groups.

    ``keys`` are columns of ``source``, written dataset.column; the unit is always a key and is
    not listed. The columns of the result are the unit and the keys, with their own names, and
    the ``values``.
    """

    source: "Relation"
    keys: tuple[str, ...]
    values: tuple[UnitValue, ...]


Relation = Scan | Filter | Join | LeftJoin | Semi | JoinPublic | PerUnit


def datasets(relation: Relation) -> tuple[str, ...]:
    """Return the names of the datasets and public tables that ``relation`` reads, in order.

    The tables of a semi-join come last; a table that is read twice is listed once.

    Example:
        >>> datasets(Filter(Join(Scan("visits"), "patients", "visits.patient", "id"), True))
        ('visits', 'patients')
        >>> datasets(Semi(Scan("visits"), Scan("labs"), (("visits.id", "labs.visit"),)))
        ('visits', 'labs')
    """
    found = [*tables_in_scope(relation)]
    for each in every_semi(relation):
        found += datasets(each.below)
    return tuple(dict.fromkeys(found))


def tables_in_scope(relation: Relation) -> tuple[str, ...]:
    """Return the tables whose columns the rows of ``relation`` have, or are computed from.

    The tables that only a semi-join reads are not among them.
    """
    match relation:
        case Scan(dataset):
            return (dataset,)
        case Filter(source, _) | PerUnit(source, _, _) | Semi(source, _, _, _):
            return tables_in_scope(source)
        case (
            Join(source, dataset, _, _)
            | LeftJoin(source, dataset, _, _)
            | JoinPublic(source, dataset, _, _, _)
        ):
            return (*tables_in_scope(source), dataset)


def per_unit_in(relation: Relation) -> PerUnit | None:
    """Return the `PerUnit` subquery that ``relation`` reads; None if it reads datasets."""
    below = _below(relation)
    while below is not None:
        relation, below = below, _below(below)
    return relation if isinstance(relation, PerUnit) else None


def filters(relation: Relation) -> list[Expression]:
    """Return the conditions on the rows of ``relation``, from the bottom up.

    Conditions inside a `PerUnit` subquery or of a semi-join are not included.
    """
    return [each.condition for each in _steps(relation) if isinstance(each, Filter)]


def semi_joins(relation: Relation) -> list[Semi]:
    """Return the semi-joins of the rows of ``relation``, from the bottom up.

    Those inside a `PerUnit` subquery or of a semi-join itself are not included.
    """
    return [each for each in _steps(relation) if isinstance(each, Semi)]


def every_semi(relation: Relation) -> list[Semi]:
    """Return the semi-joins of ``relation`` and of its `PerUnit` subqueries."""
    below = per_unit_in(relation)
    inside = [] if below is None else every_semi(below.source)
    return [*inside, *semi_joins(relation)]


def _below(relation: Relation) -> Relation | None:
    """Return the relation that one step reads; None for tables and subqueries."""
    return None if isinstance(relation, Scan | PerUnit) else relation.source


def _steps(relation: Relation) -> list[Relation]:
    """Return the steps above the first table or subquery of ``relation``, bottom up."""
    found: list[Relation] = []
    below = _below(relation)
    while below is not None:
        found.append(relation)
        relation, below = below, _below(below)
    return found[::-1]


# Post-processing -----------------------------------------------------------------------------
#
# Post-processing uses released values only, and so costs no privacy budget.


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer: its name, and its expression over released columns."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class OrderBy:
    """A sort key of the answer's rows; NULL comes last, unless ``nulls_first``."""

    expression: Expression
    descending: bool
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Post:
    """The output columns, HAVING, ORDER BY and LIMIT of a question.

    Fields name keys and measures of the plan. Rows that ``order`` does not distinguish are in
    the order of the keys.

    With ``below``, the post-processing has several steps: the rows are those that the steps
    below return, one after another (UNION ALL), and fields name outputs of the first of them.
    """

    outputs: tuple[Output, ...]
    having: Expression | None = None
    order: tuple[OrderBy, ...] = ()
    limit: int | None = None
    below: tuple["Post", ...] = ()

    def __post_init__(self) -> None:
        names = [output.name for output in self.outputs]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidValue(
                f"Columns of an answer must have distinct names, and two are called "
                f"{twice[0]!r}; rename one with AS."
            )
        if len({len(step.outputs) for step in self.below}) > 1:
            raise InvalidValue(
                "The parts of UNION ALL must have the same number of columns; add the missing "
                "columns."
            )

    @property
    def plain_outputs(self) -> tuple[Output, ...]:
        """The outputs over released columns; those that steps below compute are left out."""
        if not self.below:
            return self.outputs
        if len(self.below) > 1:
            return ()
        meant = {Field(each.name): each.expression for each in self.below[0].plain_outputs}
        return tuple(
            Output(output.name, meant[output.expression])
            for output in self.outputs
            if isinstance(output.expression, Field) and output.expression in meant
        )

    @classmethod
    def showing(cls, *names: str) -> "Post":
        """Return post-processing that outputs the columns ``names`` without change."""
        return cls(tuple(Output(name, Field(name)) for name in names))


# Plans ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupKey:
    """An expression in GROUP BY, and the name of its column."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class NamedAggregate:
    """An aggregate, and the name of its column."""

    name: str
    aggregate: Aggregate


@dataclass(frozen=True, slots=True)
class Plan:
    """A question: for each group of ``source`` by ``keys``, the aggregates ``measures``.

    ``post`` is the post-processing of the released values. ``sets`` are the grouping sets of a
    question with several tables, each as the names of the keys that it groups by. It is empty
    for one table, which groups by all keys.
    """

    source: Relation
    keys: tuple[GroupKey, ...]
    measures: tuple[NamedAggregate, ...]
    post: Post
    sets: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if not self.measures:
            raise InvalidValue(
                "A question must ask for at least one aggregate, such as COUNT(*); rows are "
                "not released."
            )
        names = [key.name for key in self.keys] + [part.name for part in self.measures]
        if len(set(names)) != len(names):
            raise InvalidValue(
                "Keys and measures must have distinct names; rename one with AS."
            )
        if self.sets:
            _check_sets(self.sets, {key.name for key in self.keys})


def _check_sets(sets: tuple[tuple[str, ...], ...], keys: set[str]) -> None:
    """Refuse grouping sets that repeat, or that do not use exactly the keys of the plan."""
    if len({frozenset(each) for each in sets}) != len(sets):
        raise InvalidValue(
            "A grouping set is listed twice; list each combination of keys once in GROUPING "
            "SETS, and no key both inside and outside of ROLLUP or CUBE."
        )
    if {name for each in sets for name in each} != keys:
        raise InvalidValue(
            "Each key must be in a grouping set, and each grouping set must consist of keys."
        )


@dataclass(frozen=True, slots=True)
class PublicRows:
    """The answer to a statement that needs no data, such as SELECT 1 or the declared keys.

    ``columns`` are names and values that are public, and ``post`` computes the answer from
    them. ``datasets`` are the tables whose declarations are shown.
    """

    columns: tuple[tuple[str, tuple[Key, ...]], ...]
    post: Post
    datasets: tuple[str, ...] = ()
