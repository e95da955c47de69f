"""LIKE is decided in public: a pattern becomes the declared keys that it matches."""

import re
from collections.abc import Iterable

from tacit.core.column import Column, Kind
from tacit.core.schema import Schema
from tacit.errors import InvalidValue
from tacit.plan.expression import Comparison, Expression, Field, Like
from tacit.plan.plan import Plan
from tacit.plan.scope import Released
from tacit.plan.size import every
from tacit.plan.steps import ColumnOneOf, CompareColumns, Condition

MOST_MATCHES = 100_000
"""Keys that all patterns of a question together are put beside, before it has a price."""

MOST_WILDCARDS, LONGEST_PATTERN = 4, 1000
"""Of one pattern: how many % and _ it holds, and how many bytes of UTF-8 it is long."""


def matching(pattern: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Those of ``texts`` that look like ``pattern``: % is any text, _ one character.

    Between two % the first place that fits is taken, which is as good as any other: the time
    is that of the pattern times the text, whatever they hold.

    Example:
        >>> matching("n%t_", ["north", "nt", "ninety", "south"])
        ('north', 'ninety')
    """
    parts = [_part(each) for each in pattern.split("%")]
    lengths = [len(each) for each in pattern.split("%")]

    def fits(text: str) -> bool:
        if len(parts) == 1:
            return parts[0].fullmatch(text) is not None
        if parts[0].match(text) is None:
            return False
        place = lengths[0]
        for part in parts[1:-1]:
            found = part.search(text, place)
            if found is None:
                return False
            place = found.end()
        end = len(text) - lengths[-1]
        return end >= place and parts[-1].match(text, end) is not None

    return tuple(text for text in texts if fits(text))


def _part(written: str) -> re.Pattern[str]:
    """What stands between two %: so many characters."""
    return re.compile("".join("." if c == "_" else re.escape(c) for c in written), re.DOTALL)


def declared_keys(part: Expression, schema: Schema) -> tuple[Column, list[str]]:
    """The column that is asked about, and its keys; refused where none are declared."""
    if isinstance(schema, Released):
        raise InvalidValue("LIKE is about rows; put it into WHERE, or use = and IN.")
    if not isinstance(part, Field):
        raise InvalidValue("LIKE asks about a column, as in ward LIKE 'no%'.")
    column = schema[part.name]
    if column.kind is not Kind.TEXT or column.keys is None:
        raise InvalidValue(
            f"LIKE needs a text column with declared keys, and {column.name!r} is none; list "
            "the values with IN, or ask the owner to declare the keys."
        )
    return column, [key for key in column.keys.values if isinstance(key, str)]


def check_pattern(pattern: str) -> None:
    """Refuse a pattern with too many wildcards, or that is too long.

    Example:
        >>> check_pattern("n%t_")
    """
    wildcards = pattern.count("%") + pattern.count("_")
    if wildcards > MOST_WILDCARDS:
        raise InvalidValue(
            f"A pattern of LIKE holds at most {MOST_WILDCARDS} wildcards (% and _), and this "
            f"one holds {wildcards}; list the values with IN."
        )
    if len(pattern.encode(errors="surrogatepass")) > LONGEST_PATTERN:
        raise InvalidValue(
            f"A pattern of LIKE is at most {LONGEST_PATTERN} bytes long; list the values with "
            "IN."
        )


def like(wanted: Like, schema: Schema) -> Condition:
    """``wanted`` as an engine decides it: no pattern is left."""
    check_pattern(wanted.pattern)
    column, keys = declared_keys(wanted.part, schema)
    matched = matching(wanted.pattern, keys)
    if not matched:
        # false, and unknown where it is NULL
        return CompareColumns(Comparison.UNEQUAL, column.name, column.name, column.kind)
    return ColumnOneOf(column.name, column.kind, matched)


def not_too_many_patterns(plan: Plan, schema: Schema) -> None:
    """Refuse patterns that would take long to decide, one by one harmless."""
    asking = (plan.source, plan.keys, plan.measures)
    asked = sum(len(declared_keys(each.part, schema)[1]) for each in every(asking, Like))
    if asked > MOST_MATCHES:
        raise InvalidValue(
            f"The patterns of a question are put beside at most {MOST_MATCHES} keys in all, "
            f"and these beside {asked}; ask for fewer, or list the values with IN."
        )
