"""A question as method calls: the same tree that SQL gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

from tacit.core import Catalog
from tacit.errors import InvalidValue
from tacit.frame.expression import Agg, Expr, col
from tacit.plan import Expression, Field, gather, rewritten, scope_of
from tacit.plan import plan as nodes

Asked = TypeVar("Asked", bound="FrameQuery")
"""What a table makes of a finished plan: a question that may know more than its plan."""


@dataclass(frozen=True, slots=True)
class Table(Generic[Asked]):
    """Rows of a dataset, to be filtered, joined and counted; nothing is read.

    ``asked`` makes a question of the finished plan.

    Example:
        Table.of(catalog, "visits").where(col("age") > 30).group_by("ward").agg(n=count())
    """

    catalog: Catalog
    relation: nodes.Relation
    asked: Callable[[nodes.Plan], Asked]
    keys: tuple[tuple[str, Expression], ...] = ()

    @staticmethod
    def of(catalog: Catalog, dataset: str) -> "Table[FrameQuery]":
        """All rows of ``dataset``."""
        return Table(catalog, nodes.Scan(catalog.dataset(dataset).name), FrameQuery)

    def where(self, condition: Expr) -> Self:
        """The rows for which ``condition`` holds."""
        return replace(self, relation=nodes.Filter(self.relation, self._resolved(condition)))

    def join(self, dataset: str, *, left: str, right: str, outer: bool = False) -> Self:
        """Each row beside those of ``dataset`` whose ``right`` equals the row's ``left``.

        Rows without any are dropped; where the join is ``outer`` they stay, beside NULLs, which
        is for public tables.
        """
        ours = self._resolved(col(left))
        if not isinstance(ours, Field):
            raise InvalidValue("A join equates two columns.")
        if self.catalog.is_public(dataset):
            public = nodes.JoinPublic(self.relation, dataset, ours.name, right, outer)
            return replace(self, relation=public)
        if outer:
            raise InvalidValue(f"An outer join is for public tables; {dataset!r} is none.")
        return replace(self, relation=nodes.Join(self.relation, dataset, ours.name, right))

    def group_by(self, *names: str, **expressions: Expr) -> Self:
        """Groups by columns, or by expressions under names of their own."""
        plain = [(name, self._resolved(col(name))) for name in names]
        named = [(name, self._resolved(part)) for name, part in expressions.items()]
        return replace(self, keys=(*plain, *named))

    def agg(self, **measures: Agg) -> Asked:
        """What is asked of each group, under the names of the answer's columns."""
        made = tuple(
            nodes.NamedAggregate(name, self._rewritten(part.aggregate))
            for name, part in measures.items()
        )
        keys = tuple(nodes.GroupKey(name, key) for name, key in self.keys)
        post = nodes.Post.showing(*(key.name for key in keys), *measures)
        return self.asked(nodes.Plan(self.relation, keys, made, post))

    def per_unit(self, **values: Agg) -> Self:
        """A row for each unit and group: aggregates of the unit's own rows, under names."""
        fields = [key for _, key in self.keys if isinstance(key, Field)]
        if len(fields) != len(self.keys):
            raise InvalidValue("Rows of units are grouped by columns, and by no expressions.")
        made = tuple(
            nodes.UnitValue(name, self._rewritten(part.aggregate))
            for name, part in values.items()
        )
        keys = tuple(field.name for field in fields)
        return replace(self, relation=nodes.PerUnit(self.relation, keys, made), keys=())

    def _resolved(self, part: Expr) -> Expression:
        resolved: Expression = self._rewritten(part.node)
        return resolved

    def _rewritten(self, node: Any) -> Any:
        """``node`` with each column called by its dataset too."""
        named = nodes.per_unit_in(self.relation) is None
        scope = (
            scope_of(nodes.datasets(self.relation), self.catalog)
            if named
            else gather(self.relation, self.catalog).scope
        )
        return rewritten(node, lambda field: Field(scope[field.name].name))


@dataclass(frozen=True, slots=True)
class FrameQuery:
    """A question, and what is done with its answer; ``plan`` is the tree."""

    plan: nodes.Plan

    def having(self, condition: Expr) -> Self:
        """Only the groups whose released values meet ``condition``."""
        return self._posted(having=self._meant(condition.node))

    def order_by(self, name: str, *, descending: bool = False) -> Self:
        """The groups in the order of one column of the answer."""
        order = nodes.OrderBy(self._meant(Field(name)), descending)
        return self._posted(order=(*self.plan.post.order, order))

    def limit(self, count: int) -> Self:
        """The first groups."""
        return self._posted(limit=count)

    def select(self, **outputs: Expr) -> Self:
        """Other columns, computed from the released ones."""
        made = tuple(
            nodes.Output(name, self._meant(part.node)) for name, part in outputs.items()
        )
        return self._posted(outputs=made)

    def _meant(self, node: Expression) -> Expression:
        """``node`` with the names of columns replaced by what they show."""
        shown: Mapping[str, Expression] = {
            output.name: output.expression for output in self.plan.post.outputs
        }
        found: Expression = rewritten(node, lambda field: _shown(shown, field))
        return found

    def _posted(self, **changes: Any) -> Self:
        posted = replace(self.plan, post=replace(self.plan.post, **changes))
        return replace(self, plan=posted)


def _shown(shown: Mapping[str, Expression], field: Field) -> Expression:
    if field.name not in shown:
        known = ", ".join(shown)
        raise InvalidValue(f"The answer has no column {field.name!r}; it has {known}.")
    return shown[field.name]
