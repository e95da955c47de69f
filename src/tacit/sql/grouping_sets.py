"""GROUPING SETS, ROLLUP and CUBE: from GROUP BY to the tables that a question asks for.

ROLLUP (a, b) is short for GROUPING SETS ((a, b), (a), ()), and CUBE (a, b) for all subsets.
Several parts of one GROUP BY are combined: each set of the first with each set of the second.
GROUPING (a) says whether a table sums over the key a, which is then NULL in its rows.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.plan import expression as expr

GROUPINGS = (exp.Grouping, exp.GroupingId)
"""The nodes of GROUPING (a, b)."""

MOST_SETS = 64
"""Largest number of grouping sets of one question, which is a CUBE of 6 keys."""

GroupingSet = tuple[exp.Expr, ...]
"""The keys of one grouping set."""


def read_grouping_sets(group: exp.Group | None) -> list[GroupingSet]:
    """Return the grouping sets of GROUP BY; without ROLLUP and the like it is one set.

    Example:
        >>> from sqlglot import parse_one
        >>> tree = parse_one("SELECT 1 FROM t GROUP BY a, ROLLUP (b, c)")
        >>> [[key.name for key in each] for each in read_grouping_sets(tree.args["group"])]
        [['a', 'b', 'c'], ['a', 'b'], ['a']]
    """
    if group is None:
        return [()]
    if group.args.get("rollup") or group.args.get("cube"):  # GROUP BY a, b WITH ROLLUP
        parts = [_keys(each) for each in group.expressions]
        return _cube(parts) if group.args.get("cube") else _rollup(parts)
    found: list[GroupingSet] = [()]
    for each in group.expressions:
        found = [(*one, *other) for one, other in product(found, _not_too_many(_sets(each)))]
        _not_too_many(found)
    return found


def _sets(node: exp.Expr) -> list[GroupingSet]:
    """Return the grouping sets of one part of GROUP BY."""
    match node:
        case exp.Rollup():
            return _rollup([_keys(each) for each in node.expressions])
        case exp.Cube():
            return _cube([_keys(each) for each in node.expressions])
        case exp.GroupingSets():
            return [each for part in node.expressions for each in _sets(part)]
    return [_keys(node)]


def _keys(node: exp.Expr) -> GroupingSet:
    """Return the keys of one element: a key, or several keys in parentheses."""
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)


def _rollup(parts: list[GroupingSet]) -> list[GroupingSet]:
    lengths = range(len(parts), -1, -1)
    return [tuple(key for part in parts[:length] for key in part) for length in lengths]


def _cube(parts: list[GroupingSet]) -> list[GroupingSet]:
    _check_number(2 ** len(parts))
    return [
        tuple(key for part in chosen for key in part)
        for length in range(len(parts), -1, -1)
        for chosen in combinations(parts, length)
    ]


def _not_too_many(sets: list[GroupingSet]) -> list[GroupingSet]:
    _check_number(len(sets))
    return sets


def _check_number(sets: int) -> None:
    if sets > MOST_SETS:
        raise InvalidValue(
            f"A question can have at most {MOST_SETS} grouping sets, as a CUBE of 6 keys has; "
            "use ROLLUP, or list fewer sets with GROUPING SETS."
        )


def name_sets(
    sets: Iterable[GroupingSet], name: Callable[[exp.Expr], str]
) -> tuple[tuple[str, ...], ...]:
    """Return the names of the keys of each grouping set; nothing if there is one set."""
    named = tuple(tuple(dict.fromkeys(map(name, each))) for each in sets)
    return () if len(named) == 1 else named


def grouping(keys: Sequence[str]) -> expr.Expression:
    """Return GROUPING of released keys: a bit for each, 1 if the table sums over the key."""
    found: expr.Expression | None = None
    for name in keys:
        tested = expr.IsNull(expr.Field(name))
        bit = expr.Case(((tested, expr.Constant(1)),), expr.Constant(0))
        if found is None:
            found = bit
            continue
        twice = expr.Arithmetic(expr.Operation.MULTIPLY, expr.Constant(2), found)
        found = expr.Arithmetic(expr.Operation.ADD, twice, bit)
    if found is None:
        raise InvalidValue("GROUPING needs a key, as in GROUPING(ward).")
    return found


def show_sets(keys: dict[str, exp.Expr], sets: tuple[tuple[str, ...], ...]) -> exp.Expr:
    """Return grouping sets as SQL; ``keys`` has the expression of each key by its name."""
    listed = [exp.Tuple(expressions=[keys[name].copy() for name in each]) for each in sets]
    return exp.GroupingSets(expressions=listed)
