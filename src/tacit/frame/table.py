"""Tables and queries for data frames.

A `Table` collects filters, joins and group keys, and its method `agg` builds the plan. A
`FrameQuery` is the resulting question, with methods for post-processing. No data is read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

from tacit.core import Catalog
from tacit.errors import InvalidValue
from tacit.frame.expression import Agg, Expr, col
from tacit.plan import Expression, Field, gather, rewritten, scope_of
from tacit.plan import plan as nodes

Asked = TypeVar("Asked", bound="FrameQuery")
"""The type of question that a table builds from a plan; it may have more methods, for example
to run it in a session."""


@dataclass(frozen=True, slots=True)
class Table(Generic[Asked]):
    """Rows of a dataset that can be filtered, joined, grouped and aggregated; nothing is read.

    ``asked`` turns the finished plan into a question.

    Example:
        Table.of(catalog, "visits").where(col("age") > 30).group_by("ward").agg(n=count())
    """

    catalog: Catalog
    relation: nodes.Relation
    asked: Callable[[nodes.Plan], Asked]
    keys: tuple[tuple[str, Expression], ...] = ()

    @staticmethod
    def of(catalog: Catalog, dataset: str) -> "Table[FrameQuery]":
        """Return the table of all rows of ``dataset``."""
        return Table(catalog, nodes.Scan(catalog.dataset(dataset).name), FrameQuery)

    def where(self, condition: Expr) -> Self:
        """Keep the rows for which ``condition`` is true."""
        return replace(self, relation=nodes.Filter(self.relation, self._resolve(condition)))

    def join(self, dataset: str, *, left: str, right: str, outer: bool = False) -> Self:
        """Join each row with the rows of ``dataset`` whose ``right`` equals its ``left``.

        Rows without a match are dropped. An ``outer`` join keeps them with NULLs.
        """
        ours = self._resolve(col(left))
        if not isinstance(ours, Field):
            raise InvalidValue(
                "A join must equate two columns. Give the name of a column of this table as "
                "`left`, and of the joined table as `right`."
            )
        if self.catalog.is_public(dataset):
            public = nodes.JoinPublic(self.relation, dataset, ours.name, right, outer)
            return replace(self, relation=public)
        joined = nodes.LeftJoin if outer else nodes.Join
        return replace(self, relation=joined(self.relation, dataset, ours.name, right))

    def matching(self, other: "Table[Any]", *, absent: bool = False, **columns: str) -> Self:
        """Keep the rows for which ``other`` has a row of the same person that matches.

        Each keyword names a column of these rows, and its value a column of ``other``, which
        must be equal; one pair must be a declared link or the unit. If ``absent``, the rows
        without a match are kept instead.

        Example:
            visits.matching(labs.where(col("value") > 3), id="visit")
        """
        theirs = {name: other._resolve(col(name)) for name in columns.values()}  # noqa: SLF001 - another table
        pairs = [(self._resolve(col(name)), theirs[at]) for name, at in columns.items()]
        on = tuple(
            (a.name, b.name) for a, b in pairs if isinstance(a, Field) and isinstance(b, Field)
        )
        return replace(self, relation=nodes.Semi(self.relation, other.relation, on, absent))

    def group_by(self, *names: str, **expressions: Expr) -> Self:
        """Group by columns, and by named expressions."""
        plain = [(name, self._resolve(col(name))) for name in names]
        named = [(name, self._resolve(part)) for name, part in expressions.items()]
        return replace(self, keys=(*plain, *named))

    def agg(self, **measures: Agg) -> Asked:
        """Return the question for these aggregates of each group, with the given names."""
        made = tuple(
            nodes.NamedAggregate(name, self._qualify(part.aggregate))
            for name, part in measures.items()
        )
        keys = tuple(nodes.GroupKey(name, key) for name, key in self.keys)
        post = nodes.Post.showing(*(key.name for key in keys), *measures)
        return self.asked(nodes.Plan(self.relation, keys, made, post))

    def per_unit(self, **values: Agg) -> Self:
        """Aggregate the rows of each unit: the result has a row for each unit and group."""
        fields = [key for _, key in self.keys if isinstance(key, Field)]
        if len(fields) != len(self.keys):
            raise InvalidValue(
                "`per_unit` supports only columns in `group_by`, and no expressions."
            )
        made = tuple(
            nodes.UnitValue(name, self._qualify(part.aggregate))
            for name, part in values.items()
        )
        keys = tuple(field.name for field in fields)
        return replace(self, relation=nodes.PerUnit(self.relation, keys, made), keys=())

    def _resolve(self, part: Expr) -> Expression:
        resolved: Expression = self._qualify(part.node)
        return resolved

    def _qualify(self, node: Any) -> Any:
        """Return ``node`` with the full name, dataset.column, of each column."""
        named = nodes.per_unit_in(self.relation) is None
        scope = (
            scope_of(nodes.tables_in_scope(self.relation), self.catalog)
            if named
            else gather(self.relation, self.catalog).scope
        )
        return rewritten(node, lambda field: Field(scope[field.name].name))


@dataclass(frozen=True, slots=True)
class FrameQuery:
    """A question with methods for post-processing; ``plan`` is its tree."""

    plan: nodes.Plan

    def having(self, condition: Expr) -> Self:
        """Keep the groups whose released values meet ``condition``."""
        return self._with_post(having=self._expand(condition.node))

    def order_by(self, name: str, *, descending: bool = False) -> Self:
        """Sort the groups by one column of the answer."""
        order = nodes.OrderBy(self._expand(Field(name)), descending)
        return self._with_post(order=(*self.plan.post.order, order))

    def limit(self, count: int) -> Self:
        """Keep the first ``count`` groups."""
        return self._with_post(limit=count)

    def select(self, **outputs: Expr) -> Self:
        """Replace the columns of the answer by ``outputs``, computed from released columns."""
        made = tuple(
            nodes.Output(name, self._expand(part.node)) for name, part in outputs.items()
        )
        return self._with_post(outputs=made)

    def _expand(self, node: Expression) -> Expression:
        """Return ``node`` with each name of an output replaced by the output's expression."""
        outputs: Mapping[str, Expression] = {
            output.name: output.expression for output in self.plan.post.outputs
        }
        found: Expression = rewritten(node, lambda field: _find_output(outputs, field))
        return found

    def _with_post(self, **changes: Any) -> Self:
        changed = replace(self.plan, post=replace(self.plan.post, **changes))
        return replace(self, plan=changed)


def _find_output(outputs: Mapping[str, Expression], field: Field) -> Expression:
    if field.name not in outputs:
        known = ", ".join(outputs)
        raise InvalidValue(
            f"The answer has no column {field.name!r}; its columns are: {known}."
        )
    return outputs[field.name]
