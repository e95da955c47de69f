"""The canonical form of a question, its text, and its hash.

Questions that differ only in names or in order have one canonical form. The hash of its text
is part of the key of a release, so that a repeated question finds its stored answer and is not
charged again. Declarations and streams are hashed in the same way.

The text must therefore never change its meaning. A `Vocabulary` lists the stored name of every
class, field and enum member that can occur in a text; modules that hash other classes extend
it. A class or a field may be renamed or moved in the code, and its stored name stays the same.
A stored name is never reused and never removed.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from tacit.errors import InternalError, InvalidValue
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.plan.source import Source
from tacit.plan.tree_walk import PARTS, not_too_large, rewritten

Node = TypeVar("Node")


class StoredForm(NamedTuple):
    """The form of a class in a text: its stored name, and its fields in the order of the text.

    Fields that are ``left_out`` are not part of the text: two values that differ only in such
    a field have the same text. A field that is ``optional`` is in the text, with its name, only
    where it differs from its default: a class that gains such a field keeps its old texts.
    """

    name: str
    fields: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The classes and enum members that a text may contain, with their stored names.

    Guarantee: stored names are distinct, and every field of a class is either in its stored
    form or left out on purpose. The constructor checks this, because a forgotten field would
    give two different questions the same text, and so the same answer.
    """

    classes: Mapping[type, StoredForm]
    choices: Mapping[Enum, str]

    def __post_init__(self) -> None:
        named = [form.name for form in self.classes.values()]
        for names in (named, list(self.choices.values())):
            if len(set(names)) != len(names):
                raise InternalError(f"Stored names must be distinct; got {sorted(names)}.")
        for kind, form in self.classes.items():
            actual = {part.name for part in fields(kind)} if is_dataclass(kind) else set()
            listed = [*form.fields, *form.left_out, *form.optional]
            if len(set(listed)) != len(listed) or set(listed) != actual:
                raise InternalError(
                    f"{kind.__name__} has the fields {sorted(actual)}, and its stored form has "
                    f"{sorted(listed)}; list each field once in `fields`, `left_out` or "
                    "`optional`."
                )

    def with_more(
        self, classes: Mapping[type, StoredForm], choices: Mapping[Enum, str] | None = None
    ) -> "Vocabulary":
        """Return a vocabulary with more classes and enum members."""
        return Vocabulary({**self.classes, **classes}, {**self.choices, **(choices or {})})

    def form_of(self, kind: type) -> StoredForm:
        """Return the stored form of a class; a missing form is an error in Tacit."""
        found = self.classes.get(kind)
        if found is None:
            raise InternalError(
                f"The class {kind.__name__} has no stored form; add it to the vocabulary with "
                "which it is hashed."
            )
        return found

    def choice_of(self, choice: Enum) -> str:
        """Return the stored name of an enum member; a missing name is an error in Tacit."""
        found = self.choices.get(choice)
        if found is None:
            raise InternalError(
                f"The enum member {choice} has no stored name; add it to the vocabulary."
            )
        return found


_OF_AGGREGATES: dict[type, StoredForm] = {
    nodes.CountRows: StoredForm("CountRows"),
    nodes.CountUnits: StoredForm("CountUnits"),
    nodes.CountValues: StoredForm("CountValues", ("argument",)),
    nodes.CountDistinct: StoredForm("CountDistinct", ("argument",)),
    nodes.Sum: StoredForm("Sum", ("argument",)),
    nodes.Mean: StoredForm("Mean", ("argument",)),
    nodes.Variance: StoredForm("Variance", ("argument", "sample")),
    nodes.Deviation: StoredForm("Deviation", ("argument", "sample")),
    nodes.PairStatistic: StoredForm("PairStatistic", ("function", "y", "x")),
    nodes.Quantile: StoredForm("Quantile", ("argument", "fraction")),
    nodes.Least: StoredForm("Least", ("argument",)),
    nodes.Greatest: StoredForm("Greatest", ("argument",)),
}
_OF_EXPRESSIONS: dict[type, StoredForm] = {
    expr.Field: StoredForm("Field", ("name",)),
    expr.Constant: StoredForm("Constant", ("value",)),
    expr.Compare: StoredForm("Compare", ("comparison", "left", "right")),
    expr.OneOf: StoredForm("OneOf", ("part", "values")),
    expr.Like: StoredForm("Like", ("part", "pattern")),
    expr.IsNull: StoredForm("IsNull", ("part",)),
    expr.And: StoredForm("And", ("parts",)),
    expr.Or: StoredForm("Or", ("parts",)),
    expr.Not: StoredForm("Not", ("part",)),
    expr.Arithmetic: StoredForm("Arithmetic", ("operation", "left", "right")),
    expr.Divide: StoredForm("Divide", ("left", "right")),
    expr.FunctionCall: StoredForm("FunctionCall", ("function", "parts")),
    expr.Bin: StoredForm("Bin", ("part", "width")),
    expr.DatePart: StoredForm("DatePart", ("part", "day")),
    expr.Period: StoredForm("Period", ("span", "day")),
    expr.Case: StoredForm("Case", ("whens", "otherwise")),
    expr.OfReleased: StoredForm("OfReleased", ("function", "parts")),
    expr.SortKey: StoredForm("SortKey", ("part", "descending", "nulls_first")),
    expr.WindowValue: StoredForm(
        "WindowValue", ("function", "part", "partition", "order", "offset", "frame")
    ),
}
_OF_RELATIONS: dict[type, StoredForm] = {
    nodes.Scan: StoredForm("Scan", ("dataset",)),
    nodes.Filter: StoredForm("Filter", ("source", "condition")),
    nodes.Join: StoredForm("Join", ("source", "dataset", "left", "right")),
    nodes.LeftJoin: StoredForm("LeftJoin", ("source", "dataset", "left", "right")),
    nodes.Semi: StoredForm("Semi", ("source", "below", "on", "anti")),
    nodes.JoinPublic: StoredForm("JoinPublic", ("source", "table", "left", "right", "outer")),
    nodes.UnitValue: StoredForm("UnitValue", ("name", "aggregate")),
    nodes.PerUnit: StoredForm("PerUnit", ("source", "keys", "values")),
}
_OF_PLANS: dict[type, StoredForm] = {
    nodes.GroupKey: StoredForm("GroupKey", ("name", "expression")),
    nodes.NamedAggregate: StoredForm("Measure", ("name", "aggregate")),
    nodes.Plan: StoredForm("Plan", ("source", "keys", "measures", "post"), optional=("sets",)),
    nodes.Output: StoredForm("Output", ("name", "expression")),
    nodes.OrderBy: StoredForm(
        "OrderBy", ("expression", "descending"), optional=("nulls_first",)
    ),
    nodes.Post: StoredForm(
        "Post", ("outputs", "having", "order", "limit"), optional=("below",)
    ),
}
_OF_CHOICES: dict[Enum, str] = {
    expr.Comparison.EQUAL: "EQUAL",
    expr.Comparison.UNEQUAL: "UNEQUAL",
    expr.Comparison.LESS: "LESS",
    expr.Comparison.AT_MOST: "AT_MOST",
    expr.Comparison.MORE: "MORE",
    expr.Comparison.AT_LEAST: "AT_LEAST",
    expr.Operation.ADD: "ADD",
    expr.Operation.SUBTRACT: "SUBTRACT",
    expr.Operation.MULTIPLY: "MULTIPLY",
    expr.DatePartName.YEAR: "YEAR",
    expr.DatePartName.QUARTER: "QUARTER",
    expr.DatePartName.MONTH: "MONTH",
    expr.DatePartName.DAY: "DAY",
    expr.DatePartName.WEEKDAY: "WEEKDAY",
    expr.DatePartName.ISO_WEEKDAY: "ISO_WEEKDAY",
    expr.DatePartName.DAY_OF_YEAR: "DAY_OF_YEAR",
    expr.DatePartName.WEEK: "WEEK",
    expr.DatePartName.ISO_YEAR: "ISO_YEAR",
    expr.DatePartName.DECADE: "DECADE",
    expr.DatePartName.CENTURY: "CENTURY",
    expr.DatePartName.MILLENNIUM: "MILLENNIUM",
    expr.Function.ABS: "ABS",
    expr.Function.FLOOR: "FLOOR",
    expr.Function.CEIL: "CEIL",
    expr.Function.ROUND: "ROUND",
    expr.Function.TRUNCATE: "TRUNCATE",
    expr.Function.INTEGER: "INTEGER",
    expr.Function.GREATEST: "GREATEST",
    expr.Function.LEAST: "LEAST",
    expr.Function.POWER: "POWER",
    expr.Function.SQRT: "SQRT",
    expr.Function.LN: "LN",
    expr.Function.EXP: "EXP",
    expr.Function.UPPER: "UPPER",
    expr.Function.LOWER: "LOWER",
    expr.Function.ASCII_LOWER: "ASCII_LOWER",
    expr.Function.TRIM: "TRIM",
    expr.Function.TRIM_LEFT: "TRIM_LEFT",
    expr.Function.TRIM_RIGHT: "TRIM_RIGHT",
    expr.Function.SUBSTRING: "SUBSTRING",
    expr.Function.CONCAT: "CONCAT",
    expr.Function.JOIN: "JOIN",
    expr.DatePartName.HOUR: "HOUR",
    expr.DatePartName.MINUTE: "MINUTE",
    expr.Span.YEARS: "YEARS",
    expr.Span.QUARTERS: "QUARTERS",
    expr.Span.MONTHS: "MONTHS",
    expr.Span.WEEKS: "WEEKS",
    expr.Span.DAYS: "DAYS",
    nodes.PairFunction.CORRELATION: "CORR",
    nodes.PairFunction.COVARIANCE: "COVAR_POP",
    nodes.PairFunction.SAMPLE_COVARIANCE: "COVAR_SAMP",
    nodes.PairFunction.SLOPE: "REGR_SLOPE",
    nodes.PairFunction.INTERCEPT: "REGR_INTERCEPT",
    nodes.PairFunction.DETERMINATION: "REGR_R2",
    **{each: f"RELEASED {each.name}" for each in expr.ReleasedFunction},
    **{each: f"WINDOW {each.name}" for each in expr.WindowFunction},
}

PLANS = Vocabulary(_OF_AGGREGATES | _OF_EXPRESSIONS | _OF_RELATIONS | _OF_PLANS, _OF_CHOICES)
"""The vocabulary of plans."""


@dataclass(frozen=True, slots=True)
class Canonical:
    """A question with canonical names, and the post-processing that the analyst asked for."""

    plan: nodes.Plan
    post: nodes.Post

    @property
    def hash(self) -> bytes:
        """The SHA-256 hash of the question's text, without its post-processing."""
        return sha256(f"tacit plan 1\n{text(self.plan)}".encode()).digest()


def canonical(plan: nodes.Plan) -> Canonical:
    """Return the canonical form of ``plan``.

    Conditions are flattened and sorted, and duplicates are removed. Keys and measures are
    sorted by their text and renamed. Two questions that mean the same but have different
    canonical forms are charged twice: this wastes budget and does not harm privacy.
    """
    not_too_large(plan)
    plan = with_canonical_names(plan)
    keys = {key.name: _normal(key.expression) for key in plan.keys}
    measures = {part.name: _normal(part.aggregate) for part in plan.measures}
    key_names = _number_names("key", keys.values())
    measure_names = _number_names("measure", measures.values())
    made = nodes.Plan(
        _normal(plan.source),
        tuple(nodes.GroupKey(*each) for each in key_names.values()),
        tuple(nodes.NamedAggregate(*each) for each in measure_names.values()),
        nodes.Post.showing(
            *(name for name, _ in (*key_names.values(), *measure_names.values()))
        ),
        _canonical_sets(plan.sets, {name: key_names[text(keys[name])][0] for name in keys}),
    )
    new_names = {name: key_names[text(part)][0] for name, part in keys.items()}
    new_names |= {name: measure_names[text(part)][0] for name, part in measures.items()}
    return Canonical(made, rename_released(plan.post, partial(_rename_output, new_names)))


def rename_released(
    post: nodes.Post, change: Callable[[expr.Field], expr.Expression]
) -> nodes.Post:
    """Return ``post`` with ``change`` applied to each field that names a released column.

    If there are steps below, only those read released columns.
    """
    if post.below:
        return replace(post, below=tuple(rename_released(each, change) for each in post.below))
    found: nodes.Post = rewritten(post, change)
    return found


def _canonical_sets(
    sets: tuple[tuple[str, ...], ...], names: Mapping[str, str]
) -> tuple[tuple[str, ...], ...]:
    """Return grouping sets with canonical names: the largest first, then in order of the keys.

    One grouping set of all keys is the same as none.
    """
    order = {name: place for place, name in enumerate(sorted(set(names.values()), key=_place))}
    found = {
        tuple(sorted({names[name] for name in each}, key=order.__getitem__)) for each in sets
    }
    if found == {tuple(order)}:
        return ()
    return tuple(sorted(found, key=lambda each: (-len(each), [order[name] for name in each])))


def _place(name: str) -> int:
    """Return the number in a canonical name, such as ``key_10``."""
    return int(name.rpartition("_")[2])


def subject_hash(question: Canonical, source: Source) -> bytes:
    """Return the hash of a question in whichever order its tables are joined.

    ``source`` are the tables of the question, with those that lead to the unit. An inner join
    is a set of tables and a set of conditions, so that both orders of it have one hash; so do
    two questions of which one names a table that the other reads for its unit alone. A
    question with a subquery, in which order is harder to take out, has its own hash.

    This hash finds answers that serve other questions. The key of a release is another one,
    whose text must not change.
    """
    plan = question.plan
    if source.gathered is not None:
        return question.hash
    parts: list[object] = [nodes.Scan(source.dataset)]
    for each in source.beside:
        left, right = expr.Field(each.left), expr.Field(each.right)
        if each.outer:
            parts.append(("outer", nodes.Scan(each.dataset), left, right))
        else:
            parts += [nodes.Scan(each.dataset), expr.Compare(_EQUAL, left, right)]
    parts += [replace(semi, source=nodes.Scan("")) for semi in nodes.semi_joins(plan.source)]
    for wanted in nodes.filters(plan.source):
        parts += wanted.parts if isinstance(wanted, expr.And) else (wanted,)
    form: tuple[object, ...] = (
        _sort_by_text(map(_normal, parts)),
        plan.keys,
        plan.measures,
    )
    if plan.sets:
        form = (*form, plan.sets)
    return sha256(f"tacit subject 1\n{text(form)}".encode()).digest()


_EQUAL = expr.Comparison.EQUAL


def with_key(question: Canonical, column: str) -> Canonical:
    """Return the question, which has no grouping sets, with one more group key, a column."""
    plan = question.plan
    key = nodes.GroupKey(f"by {column}", expr.Field(column))
    return canonical(
        nodes.Plan(plan.source, (*plan.keys, key), plan.measures, nodes.Post.showing(key.name))
    )


def with_canonical_names(plan: nodes.Plan) -> nodes.Plan:
    """Return ``plan`` with canonical names for the columns that its subqueries compute."""
    source, names = _canonical_relation(plan.source)
    change = partial(_rename_field, names)
    keys, measures = rewritten(plan.keys, change), rewritten(plan.measures, change)
    return nodes.Plan(source, keys, measures, plan.post, plan.sets)


def _canonical_relation(relation: nodes.Relation) -> tuple[nodes.Relation, dict[str, str]]:
    """Return ``relation`` with canonical names, and the new name of each renamed column."""
    match relation:
        case nodes.Scan():
            return relation, {}
        case nodes.Filter(source, wanted):
            found, names = _canonical_relation(source)
            change = partial(_rename_field, names)
            return nodes.Filter(found, rewritten(wanted, change)), names
        case nodes.Join(source, dataset, left, right) | nodes.LeftJoin(
            source, dataset, left, right
        ):
            found, names = _canonical_relation(source)
            return type(relation)(found, dataset, names.get(left, left), right), names
        case nodes.Semi(source, below, on, anti):
            found, names = _canonical_relation(source)
            inside, _ = _canonical_relation(below)
            return nodes.Semi(found, inside, on, anti), names
        case nodes.JoinPublic(source, table, left, right, outer):
            found, names = _canonical_relation(source)
            return nodes.JoinPublic(found, table, names.get(left, left), right, outer), names
        case nodes.PerUnit(source, keys, values):
            found, names = _canonical_relation(source)
            change = partial(_rename_field, names)
            normal = {v.name: _normal(rewritten(v.aggregate, change)) for v in values}
            made = _number_names("value", normal.values())
            new_values = tuple(nodes.UnitValue(*each) for each in made.values())
            new_names = {
                f"{nodes.BELOW}.{v}": f"{nodes.BELOW}.{made[text(part)][0]}"
                for v, part in normal.items()
            }
            return nodes.PerUnit(found, _sort_by_text(keys), new_values), new_names


def _rename_field(names: Mapping[str, str], field: expr.Field) -> expr.Field:
    return expr.Field(names.get(field.name, field.name))


def _rename_output(names: Mapping[str, str], field: expr.Field) -> expr.Field:
    if field.name not in names:
        raise InvalidValue(f"The answer has no column {field.name!r}; name one of its outputs.")
    return expr.Field(names[field.name])


def text(node: object, words: Vocabulary = PLANS) -> str:
    """Return the text of a plan or of a part of it. Two parts have one text only if equal.

    Callers that hash other classes than those of plans pass their vocabulary as ``words``.

    Example:
        >>> from tacit.plan.plan import Scan
        >>> text(Scan("visits"))
        '["Scan","visits"]'
    """
    return json.dumps(_plain(node, words), separators=(",", ":"))


def _plain(node: object, words: Vocabulary) -> Any:
    match node:
        case None | bool() | str():
            return node
        case int():
            return ["int", str(node)]
        case Fraction():
            return ["fraction", str(node)]
        case datetime():  # before date, because it is one in Python
            return ["timestamp", node.isoformat()]
        case date():
            return ["date", node.isoformat()]
        case Enum():
            return ["enum", words.choice_of(node)]
        case tuple():
            return ["tuple", *[_plain(part, words) for part in node]]
    form = words.form_of(type(node))
    return [
        form.name,
        *[_plain(getattr(node, name), words) for name in form.fields],
        *[
            [GIVEN, name, _plain(getattr(node, name), words)]
            for name in form.optional
            if getattr(node, name) != _default(type(node), name)
        ],
    ]


GIVEN = "="
"""The mark of an optional field in a text; no class has this stored name."""


def _default(kind: type, name: str) -> object:
    """Return the default of an optional field."""
    return next(part.default for part in fields(kind) if part.name == name)


def _normal(node: Node) -> Node:
    """Return the canonical form of ``node``, computed from the leaves up."""
    if isinstance(node, tuple):
        return tuple(_normal(part) for part in node)  # type: ignore[return-value]
    if isinstance(node, Fraction) and node.denominator == 1:
        return int(node)  # type: ignore[return-value]
    names = PARTS[type(node)]
    if names is None:
        return node
    made: Any = type(node)(*[_normal(getattr(node, name)) for name in names])
    match made:
        case expr.And(inner) | expr.Or(inner):
            same = [part.parts if isinstance(part, type(made)) else (part,) for part in inner]
            flat = _sort_by_text(part for group in same for part in group)
            return flat[0] if len(flat) == 1 else type(made)(flat)  # type: ignore[return-value]
        case expr.Compare(comparison, left, right) if text(left) > text(right):
            return expr.Compare(comparison.mirrored, right, left)  # type: ignore[return-value]
        case expr.OneOf(part, values):
            return expr.OneOf(part, _sort_by_text(values))  # type: ignore[return-value]
        case nodes.PairStatistic(function, y, x) if function.is_symmetric and text(y) > text(x):
            return nodes.PairStatistic(function, x, y)  # type: ignore[return-value]
        case nodes.Filter(nodes.Filter(source, below), above):
            return _normal(nodes.Filter(source, expr.And((below, above))))  # type: ignore[return-value]
        case nodes.Join(nodes.Filter(source, wanted), _, _, _) | nodes.LeftJoin(
            nodes.Filter(source, wanted), _, _, _
        ):
            # a filter below a join keeps the same rows as a filter above it
            return _normal(nodes.Filter(replace(made, source=source), wanted))  # type: ignore[return-value]
        case (
            nodes.Join(nodes.Semi() as semi, _, _, _)
            | nodes.LeftJoin(nodes.Semi() as semi, _, _, _)
            | nodes.JoinPublic(nodes.Semi() as semi, _, _, _, _)
        ):
            # so does a semi-join, which only removes rows
            return _normal(replace(semi, source=replace(made, source=semi.source)))  # type: ignore[return-value]
        case nodes.Semi(nodes.Filter(source, wanted), _, _, _):
            return _normal(nodes.Filter(replace(made, source=source), wanted))  # type: ignore[return-value]
        case nodes.Semi():
            return _sort_semi_joins(made)  # type: ignore[return-value]
        case nodes.JoinPublic(nodes.Filter(source, wanted), table, one, other, outer):
            public = nodes.JoinPublic(source, table, one, other, outer)
            return _normal(nodes.Filter(public, wanted))  # type: ignore[return-value]
    return made  # type: ignore[no-any-return]


def _sort_semi_joins(semi: nodes.Semi) -> nodes.Relation:
    """Return a chain of semi-joins in the order of their texts, and each of them once.

    They only remove rows, so that their order and repetition change nothing.
    """
    found: list[nodes.Semi] = []
    source: nodes.Relation = semi
    while isinstance(source, nodes.Semi):
        pairs = _sort_by_text(source.on)
        found.append(replace(source, source=nodes.Scan(""), on=pairs))
        source = source.source
    for each in _sort_by_text(found):
        source = replace(each, source=source)
    return source


def _sort_by_text(parts: Iterable[Any]) -> tuple[Any, ...]:
    """Return the parts without duplicates, sorted by their texts.

    Duplicates are found by text and not by ``==``: in Python 1 equals True, and a question that
    lists both would lose one of them before its kind is checked.
    """
    by_text = {text(part): part for part in parts}
    return tuple(by_text[each] for each in sorted(by_text))


def _number_names(word: str, parts: Iterable[Any]) -> dict[str, tuple[str, Any]]:
    """Map the text of each part to a numbered name, such as ``key_0``, and to the part."""
    in_order = enumerate(_sort_by_text(parts))
    return {text(part): (f"{word}_{place}", part) for place, part in in_order}


# Reading a plan from its text ----------------------------------------------------------------
#
# A worker process receives the plan that it runs as canonical text.

NODES: dict[str, type] = {form.name: kind for kind, form in PLANS.classes.items()}
"""The classes of plans, by stored name."""

CHOICES = {name: choice for choice, name in PLANS.choices.items()}
"""The enum members of plans, by stored name; `Vocabulary` checks that names are distinct."""


def decode_plan(stored: str) -> nodes.Plan:
    """Return the plan whose canonical text is ``stored``; refuse any other text.

    Guarantee: ``decode_plan(text(plan)) == plan``.
    """
    try:
        found = _restore(json.loads(stored))
        canonical = isinstance(found, nodes.Plan) and text(found) == stored
    except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
        raise InvalidValue(
            "This is not the text of a plan: it was changed, or another version of Tacit wrote "
            "it."
        ) from error
    if not isinstance(found, nodes.Plan) or not canonical:
        raise InvalidValue(
            "This is not the canonical text of a plan: it was changed, or another version of "
            "Tacit wrote it."
        )
    return found


def _restore(stored: Any) -> Any:
    match stored:
        case None | bool() | str():
            return stored
        case ["int", str() as number]:
            return int(number)
        case ["fraction", str() as number]:
            return Fraction(number)
        case ["timestamp", str() as time]:
            return datetime.fromisoformat(time)
        case ["date", str() as day]:
            return date.fromisoformat(day)
        case ["enum", str() as name]:
            return CHOICES[name]
        case ["tuple", *parts]:
            return tuple(map(_restore, parts))
        case [str() as name, *parts]:
            kind, form = NODES[name], PLANS.form_of(NODES[name])
            many = len(form.fields)
            values = dict(zip(form.fields, map(_restore, parts[:many]), strict=True))
            for mark, field, part in parts[many:]:
                if mark != GIVEN or field not in form.optional:
                    raise ValueError
                values[field] = _restore(part)
            return kind(**values)
    raise ValueError
