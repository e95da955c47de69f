"""Patterns of LIKE: a pattern becomes the list of declared keys that match it.

Engines therefore never match patterns against data.
"""

import re
from collections.abc import Iterable

from tacit.core import Schema
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps
from tacit.plan.plan import Plan
from tacit.plan.text_functions import key_map
from tacit.plan.tree_walk import every

MOST_MATCHES = 100_000
"""Largest number of keys with which all patterns of a question together are compared. The
comparison is made before the question is priced, so that it must be fast."""

KEYS_PER_FUNCTION = 10
"""Number of comparisons with a key that take as long as one function of a key."""

MOST_WILDCARDS, LONGEST_PATTERN = 4, 1000
"""Largest number of % and _ in a pattern, and its largest length in bytes of UTF-8."""


def matching(pattern: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts that match ``pattern``: % is any text, _ is one character.

    For each part between two %, the first match is taken; if any match leads to success, the
    first does too. There is no backtracking, so that the time is at most proportional to the
    length of the pattern times the length of the text.

    Example:
        >>> matching("n%t_", ["north", "nt", "ninety", "south"])
        ('north', 'ninety')
    """
    parts = [_compile_part(each) for each in pattern.split("%")]
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


def _compile_part(written: str) -> re.Pattern[str]:
    """Compile the part of a pattern between two %, which matches texts of one length."""
    return re.compile("".join("." if c == "_" else re.escape(c) for c in written), re.DOTALL)


def check_pattern(pattern: str) -> None:
    """Refuse a pattern with too many wildcards, or that is too long.

    Example:
        >>> check_pattern("n%t_")
    """
    wildcards = pattern.count("%") + pattern.count("_")
    if wildcards > MOST_WILDCARDS:
        raise InvalidValue(
            f"A pattern of LIKE can have at most {MOST_WILDCARDS} wildcards (% and _), and "
            f"this one has {wildcards}; list the values with IN."
        )
    if len(pattern.encode(errors="surrogatepass")) > LONGEST_PATTERN:
        raise InvalidValue(
            f"A pattern of LIKE can be at most {LONGEST_PATTERN} bytes long; list the values "
            "with IN."
        )


def like(part: expr.Expression, pattern: str, schema: Schema) -> grid_steps.Condition:
    """Return LIKE as a condition without a pattern: the column is one of the matching keys.

    ``part`` is a constant, a column with declared keys or a function of one.
    """
    check_pattern(pattern)
    if isinstance(part, expr.Constant):
        return grid_steps.ConstantCondition(
            bool(matching(pattern, [part.value])) if isinstance(part.value, str) else None
        )
    found = key_map(part, schema, "LIKE")
    texts = {text for _, text in found.results if text is not None} | {found.null or ""}
    matched = set(matching(pattern, texts))
    return found.where(matched.__contains__)


def not_too_many_patterns(plan: Plan, schema: Schema) -> None:
    """Refuse a question whose patterns and functions need too many visits of declared keys."""
    asking = (plan.source, plan.keys, plan.measures)
    texts = [call for call in every(asking, expr.FunctionCall) if call.function.of_text]
    asked = sum(
        times * len(keys.values)
        for parts, times in ((every(asking, expr.Like), 1), (texts, KEYS_PER_FUNCTION))
        for each in parts
        for field in every((each,), expr.Field)
        if (keys := schema[field.name].keys) is not None
    )
    if asked > MOST_MATCHES:
        raise InvalidValue(
            f"The patterns of this question need {asked} comparisons with declared keys, and "
            f"{MOST_MATCHES} are the most; use fewer patterns, or list the values with IN."
        )
