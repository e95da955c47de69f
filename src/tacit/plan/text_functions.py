"""Functions of texts, computed for the declared keys of a column before a question runs.

Engines disagree about letters outside of ASCII, about the characters that TRIM removes, and
about which texts are equal. So no engine computes a function of a text. Tacit applies the
function to each declared key of the column, and the question becomes a list of keys: the
condition UPPER(ward) = 'NORTH' is the condition that the ward is one of the keys whose upper
case is 'NORTH'. A value that is not a declared key is equal to no text, as it is for LIKE.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from tacit.core import Column, Kind, Schema
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import steps as grid_steps
from tacit.plan.tree_walk import every

MOST_BRANCHES = 64
"""Largest number of branches of all CASEs inside one function of a text together."""


# One text ------------------------------------------------------------------------------------


def apply(function: expr.Function, values: tuple[expr.Value | None, ...]) -> str | None:
    """Return a function of constant values; None is NULL.

    Upper and lower case are those of Unicode, letter by letter: a letter whose upper case has
    two letters stays as it is. The places of SUBSTRING count characters, from 1.

    Example:
        >>> apply(expr.Function.UPPER, ("Straße 1",)), apply(expr.Function.TRIM, (" a ",))
        ('STRAßE 1', 'a')
        >>> apply(expr.Function.SUBSTRING, ("north", 2, 3))
        'ort'
    """
    if function is expr.Function.CONCAT:
        return "".join(value for value in values if isinstance(value, str))
    if None in values:
        return None
    text, *others = values
    if not isinstance(text, str):
        raise InvalidValue(f"{function.value} needs a text, as in {function.value}(ward).")
    match function:
        case expr.Function.UPPER:
            return _letter_by_letter(text, str.upper)
        case expr.Function.LOWER:
            return _letter_by_letter(text, str.lower)
        case expr.Function.ASCII_LOWER:
            return ascii_lower(text)
        case expr.Function.TRIM:
            return text.strip(_trim_characters(others))
        case expr.Function.TRIM_LEFT:
            return text.lstrip(_trim_characters(others))
        case expr.Function.TRIM_RIGHT:
            return text.rstrip(_trim_characters(others))
        case expr.Function.SUBSTRING:
            return _substring(text, *others)
        case expr.Function.JOIN if all(isinstance(other, str) for other in others):
            return "".join((text, *map(str, others)))
    raise InvalidValue(f"{function.value} needs texts.")


def ascii_lower(text: str) -> str:
    """Return a text with the letters A to Z in lower case, and all others as they are.

    Example:
        >>> ascii_lower("ÄRZTIN")
        'Ärztin'
    """
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _letter_by_letter(text: str, change: Callable[[str], str]) -> str:
    if text.isascii():
        return change(text)
    changed = ((letter, change(letter)) for letter in text)
    return "".join(new if len(new) == 1 else letter for letter, new in changed)


def _trim_characters(others: list[expr.Value | None]) -> str:
    """Return the characters that TRIM removes: those of its second argument, or spaces."""
    match others:
        case []:
            return " "
        case [str() as characters]:
            return characters
    raise InvalidValue("The characters to trim must be a constant text, as in TRIM(ward, 'x').")


def _substring(text: str, start: object = None, length: object = None) -> str:
    places = [start] if length is None else [start, length]
    for place in places:
        if isinstance(place, bool) or not isinstance(place, int):
            raise InvalidValue(
                "The places of SUBSTRING must be constant integers, as in SUBSTRING(ward, 1, "
                "2)."
            )
    if not isinstance(start, int) or start < 1 or (isinstance(length, int) and length < 0):
        raise InvalidValue("SUBSTRING needs a start of at least 1, and a length of at least 0.")
    end = None if not isinstance(length, int) else start - 1 + length
    return text[start - 1 : end]


# Declared keys -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyMap:
    """The results of a text expression: one for each declared key of a column, and for NULL."""

    column: Column
    results: tuple[tuple[str, str | None], ...]
    null: str | None

    def where(self, wanted: Callable[[str], bool]) -> grid_steps.Condition:
        """Return the condition that the result is a ``wanted`` text; unknown if it is NULL."""
        name, kind = self.column.name, self.column.kind
        found = tuple(key for key, text in self.results if text is not None and wanted(text))
        inside: grid_steps.Condition = grid_steps.ColumnOneOf(name, kind, found)
        if not found:
            # column <> column: false, and unknown where the column is NULL
            inside = grid_steps.CompareColumns(expr.Comparison.UNEQUAL, name, name, kind)
        if self.null is None:
            return inside
        there = grid_steps.ColumnIsNull(name, kind)
        if wanted(self.null):
            return grid_steps.AnyOf((there, inside))
        return grid_steps.AllOf((grid_steps.Negation(there), inside))

    def is_null(self) -> grid_steps.Condition:
        """Return the condition that the result is NULL."""
        if self.null is not None:
            return grid_steps.ConstantCondition(False)
        return grid_steps.ColumnIsNull(self.column.name, self.column.kind)

    def keys_by_result(self) -> dict[str, list[str]]:
        """Return the keys that give each text, in the order of the keys."""
        found: dict[str, list[str]] = {}
        for key, text in self.results:
            if text is not None:
                found.setdefault(text, []).append(key)
        return found


def key_map(part: expr.Expression, schema: Schema, asking: str) -> KeyMap:
    """Return the results of ``part`` for the declared keys of its column.

    Refuse a ``part`` without a column, with several columns or without declared keys;
    ``asking`` is the name of the function or the operator, for the message.

    Example:
        >>> from tacit.core import Keys
        >>> wards = Schema((Column("ward", Kind.TEXT, keys=Keys(("a", "A", "b"))),))
        >>> upper = expr.FunctionCall(expr.Function.UPPER, (expr.Field("ward"),))
        >>> key_map(upper, wards, "UPPER").keys_by_result()
        {'A': ['a', 'A'], 'B': ['b']}
    """
    names = {schema[field.name].name for field in every((part,), expr.Field)}
    if len(names) != 1:
        raise InvalidValue(
            f"{asking} needs one text column with declared keys, as in {asking}(ward); it "
            f"cannot combine {'several columns' if names else 'constants'} here."
        )
    column = schema[names.pop()]
    if column.kind is not Kind.TEXT or column.keys is None:
        raise InvalidValue(
            f"{asking} needs a text column with declared keys, and {column.name!r} has none; "
            "list the values with IN, or ask the owner to declare the keys."
        )
    keys = [key for key in column.keys.values if isinstance(key, str)]
    results = tuple((key, _evaluate(part, key)) for key in keys)
    return KeyMap(column, results, _evaluate(part, None))


def _evaluate(part: expr.Expression, key: str | None) -> str | None:
    value = _value(part, key)
    if value is None or isinstance(value, str):
        return value
    raise InvalidValue("A text is expected here, such as UPPER(ward).")


def _value(part: expr.Expression, key: str | None) -> expr.Value | None:
    match part:
        case expr.Field():
            return key
        case expr.Constant(value):
            return value
        case expr.FunctionCall(function, parts) if function.of_text:
            return apply(function, tuple(_value(each, key) for each in parts))
    raise InvalidValue("A function of a text needs a text column, as in UPPER(ward).")


# CASE inside a function ----------------------------------------------------------------------


def cases_first(part: expr.Expression) -> expr.Expression:
    """Return ``part`` with each CASE outside of the functions of texts.

    UPPER(CASE WHEN a THEN x ELSE y END) becomes CASE WHEN a THEN UPPER(x) ELSE UPPER(y) END.

    Example:
        >>> x, y = expr.Constant("x"), expr.Field("y")
        >>> inner = expr.Case(((expr.IsNull(y), x),), y)
        >>> cases_first(expr.FunctionCall(expr.Function.UPPER, (inner,))).otherwise
        FunctionCall(function=<Function.UPPER: 'UPPER'>, parts=(Field(name='y'),))
    """
    match part:
        case expr.Case(whens, otherwise):
            pairs = tuple((when, cases_first(then)) for when, then in whens)
            return expr.Case(pairs, cases_first(otherwise))
        case expr.FunctionCall(function, parts) if function.of_text:
            branches = prod(len(case.whens) + 1 for case in every(part, expr.Case))
            if branches > MOST_BRANCHES:
                raise InvalidValue(
                    f"{function.value} has {branches} branches of CASE or COALESCE inside; "
                    f"{MOST_BRANCHES} is the most."
                )
            return _out_of(function, tuple(map(cases_first, parts)))
    return part


def _out_of(function: expr.Function, parts: tuple[expr.Expression, ...]) -> expr.Expression:
    for place, each in enumerate(parts):
        if isinstance(each, expr.Case):

            def with_part(other: expr.Expression, place: int = place) -> expr.Expression:
                return _out_of(function, (*parts[:place], other, *parts[place + 1 :]))

            pairs = tuple((when, with_part(then)) for when, then in each.whens)
            return expr.Case(pairs, with_part(each.otherwise))
    values = [part.value for part in parts if isinstance(part, expr.Constant)]
    if len(values) == len(parts):
        return expr.Constant(apply(function, tuple(values)))
    return expr.FunctionCall(function, parts)
