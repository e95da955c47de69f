"""Subselects in WHERE: EXISTS and IN (SELECT ...), with or without NOT.

Such a condition keeps a row if a row of the same person exists elsewhere, or if none does. It
must therefore say that both rows belong to one person: by an equation of two columns in the
WHERE of the subselect, or by the two columns of IN. The functions here find these conditions in
a WHERE and these equations in a subselect; `tacit.sql.relation` makes semi-joins of them, and
`tacit.plan.allowed_joins` checks the equations.

A row whose own value is NULL is in the answer neither of IN nor of NOT IN. A NULL among the
values of a subselect equals nothing and is ignored. SQL differs in the last case: there, one
NULL in the list of NOT IN removes all rows of everybody.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.core import Catalog
from tacit.errors import InvalidValue
from tacit.plan import equation

Names = Mapping[str, Mapping[str, object]]
"""The columns of tables, by the names of the tables."""


@dataclass(frozen=True, slots=True)
class Subselect:
    """A condition with a subselect: EXISTS, or IN if a column is ``tested``.

    If it is ``negated``, rows without a match are kept.
    """

    query: exp.Select
    tested: exp.Expr | None
    negated: bool

    @property
    def word(self) -> str:
        """The condition as it is written."""
        name = "EXISTS" if self.tested is None else "IN (SELECT ...)"
        return f"NOT {name}" if self.negated else name


def split_where(where: exp.Expr) -> tuple[list[exp.Expr], list[Subselect]]:
    """Return the conditions of a WHERE without subselects, and those with one.

    Example:
        >>> from sqlglot import parse_one
        >>> tree = parse_one("SELECT 1 FROM t WHERE a > 1 AND NOT EXISTS (SELECT 1 FROM u)")
        >>> plain, found = split_where(tree.args["where"].this)
        >>> [each.sql() for each in plain], [each.word for each in found]
        (['a > 1'], ['NOT EXISTS'])
    """
    plain: list[exp.Expr] = []
    found: list[Subselect] = []
    for part in conjuncts(where):
        inner = _subselect(part)
        if inner is None:
            refuse_subselects(part)
            plain.append(part)
        else:
            found.append(inner)
    return plain, found


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions that AND joins, without their parentheses."""
    match condition:
        case exp.Paren() if isinstance(condition.this, exp.And | exp.Paren):
            yield from conjuncts(condition.this)
        case exp.And():
            yield from conjuncts(condition.this)
            yield from conjuncts(condition.expression)
        case _:
            yield condition


def _subselect(part: exp.Expr) -> Subselect | None:
    negated = False
    while isinstance(part, exp.Not | exp.Paren):
        negated ^= isinstance(part, exp.Not)
        part = part.this
    tested: exp.Expr | None = None
    query: exp.Expr | None = None
    if isinstance(part, exp.Exists):
        query = part.this
    elif isinstance(part, exp.In) and part.args.get("query") is not None:
        tested, query = part.this, part.args["query"]
    while isinstance(query, exp.Subquery | exp.Paren):
        query = query.this
    return Subselect(query, tested, negated) if isinstance(query, exp.Select) else None


def refuse_subselects(node: exp.Expr) -> None:
    """Refuse a subselect anywhere in ``node`` that is not a condition of its own."""
    if _is_set(node):
        raise InvalidValue(
            "EXISTS and IN (SELECT ...) are supported only as conditions of their own in "
            "WHERE, joined with AND; not in OR, CASE, SELECT, HAVING or ORDER BY. Ask one "
            "question for each part of an OR."
        )
    if node.find(exp.Select) is not None:
        raise InvalidValue(
            "A subselect that returns a value is not supported, because the value would be "
            "about all people. Release it with a question of its own and write it as a "
            "constant. For a value of each person, write a subquery in FROM with GROUP BY and "
            "the unit, or IN (SELECT ... GROUP BY ... HAVING ...)."
        )


def _is_set(node: exp.Expr) -> bool:
    listed = (each.args.get("query") is not None for each in node.find_all(exp.In))
    return node.find(exp.Exists) is not None or any(listed)


# Equations with the outer row ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Correlated:
    """A subselect without its equations with the outer row, and these equations.

    The first column of an equation is of the outer row, the second of the inner row.
    """

    query: exp.Select
    equations: tuple[tuple[exp.Expr, exp.Expr], ...]


def take_equations(query: exp.Select, inner: Names, outer: Names) -> Correlated:
    """Return ``query`` without the conditions that name a column of the outer question.

    A name means a column of the subselect if it has one, and of the outer question otherwise,
    as in SQL. A condition with both must be an equation of two columns.
    """
    where = query.args.get("where")
    kept: list[exp.Expr] = []
    equations: list[tuple[exp.Expr, exp.Expr]] = []
    for part in conjuncts(where.this) if where is not None else ():
        outside = [each for each in _own_columns(part) if _is_outer(each, inner, outer)]
        if not outside:
            kept.append(part)
            continue
        bare = part.this if isinstance(part, exp.Paren) else part
        sides = [bare.this, bare.expression] if isinstance(bare, exp.EQ) else []
        inside = [side for side in sides if not _is_outer(side, inner, outer)]
        if len(outside) != 1 or len(inside) != 1 or not isinstance(inside[0], exp.Column):
            raise InvalidValue(
                f"{outside[0].sql()} is a column of the outer question. A subselect can only "
                "equate it with one of its own columns, as in inner.patient = outer.patient; "
                "other conditions on it belong in the outer WHERE."
            )
        equations.append((outside[0], inside[0]))
    made = query.copy()
    made.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
    made.set("distinct", None)  # whether a row exists does not depend on how often it does
    return Correlated(made, tuple(equations))


def _own_columns(part: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns of a condition; those of a subselect in it are its own."""
    inner = _subselect(part)
    if inner is not None:
        if isinstance(inner.tested, exp.Column):
            yield inner.tested
        return
    yield from part.find_all(exp.Column)


def _is_outer(node: exp.Expr, inner: Names, outer: Names) -> bool:
    if not isinstance(node, exp.Column):
        return False
    return not _has(node, inner) and _has(node, outer)


def _has(node: exp.Column, names: Names) -> bool:
    if node.table:
        return node.table in names
    return any(node.name in columns for columns in names.values())


def say_uncorrelated(found: Subselect, one: str, other: str, catalog: Catalog) -> InvalidValue:
    """Return the refusal of a subselect that no equation ties to the outer row.

    ``one`` is the table of the question, and ``other`` that of the subselect.
    """
    why = (
        f"{found.word} must be about rows of the same person, because it would otherwise tell "
        "whether somebody else has a row; equate a declared link or the unit"
    )
    known = equation(one, other, catalog)
    if known is None:
        return InvalidValue(f"{why} in the WHERE of its subselect.")
    left, right = known
    word = "NOT IN" if found.negated else "IN"
    return InvalidValue(f"{why}, as in {asking_for(one, left, word, right, other)}.")


def asking_for(one: str, left: str, word: str = "IN", right: str = "", other: str = "") -> str:
    """Return a question with a subselect, to propose it; without ``other``, of one table.

    Example:
        >>> asking_for("visits", "visits.person")
        'SELECT COUNT(*) FROM visits WHERE visits.person IN (SELECT visits.person FROM visits)'
    """
    listed = ["SELECT", right or left, "FROM", other or one]
    asked = ["SELECT COUNT(*) FROM", one, "WHERE", left, word, f"({' '.join(listed)})"]
    return " ".join(asked)
