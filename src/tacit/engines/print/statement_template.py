"""Statements by the shape of a plan: print a shape once, and fill in the constants of WHERE.

A dashboard asks the same question for one group of patients after the other: `WHERE age >= 30`,
then `WHERE age >= 40`. Printing such a statement takes as long as pricing the question. Plans
that differ only in the integers and texts with which WHERE compares columns have one *shape*.
Its statement is printed once with secret *markers* in the places of these constants, and is cut
at the markers into a template. Later statements are the parts of the template, with constants
printed by the same dialect in between.

The text is the same, to the byte, as that of `tacit.engines.print.statement.question`; tests
compare the two. Two properties make it so:

* A constant of a condition is printed in one place of the code (`expressions.condition`), as a
  literal, and nothing else of a statement depends on it. A shape is printed twice, with two
  sets of markers, and has no template if the parts differ.
* Nobody can write a marker into a question: markers are hashes of the secret salt.

Other constants stay part of the shape: lists of IN, numbers on a grid, days, decimals, floats.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any

from tacit.core import Catalog, Kind
from tacit.engines.print import sql_builder as build
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.statement import question
from tacit.plan import BoundedPlan
from tacit.plan import steps as grid_steps

Constant = int | str

MARKED: dict[Kind, type] = {Kind.INTEGER: int, Kind.TEXT: str}
"""The kinds of columns whose constants are filled in, and the type of these constants.

The type is compared exactly, because a Boolean is an integer in Python.
"""

LARGEST = 2**31 - 1
"""Integers beyond this are part of the shape: some engines give their literals another type."""

MOST_CONSTANTS = 64
"""Number of constants up to which a shape has a template; a question has at most 64 terms."""


@dataclass(frozen=True, slots=True)
class Markers:
    """A set of constants that occur nowhere else: one integer and one text for each place."""

    numbers: tuple[int, ...]
    texts: tuple[str, ...]

    @classmethod
    def derive(cls, salt: bytes, name: str) -> "Markers":
        """Return the markers with this name, which only somebody who knows ``salt`` knows."""
        places = range(MOST_CONSTANTS)
        hashes = [sha256(f"tacit {name} marker {at}\n".encode() + salt) for at in places]
        # 31 bits, the first of them 1: a literal of the type and length of other large integers
        numbers = [int.from_bytes(each.digest()[-4:]) >> 1 | 1 << 30 for each in hashes]
        texts = [f"tacit_marker_{each.hexdigest()[:32]}" for each in hashes]
        return cls(tuple(numbers), tuple(texts))

    def of(self, place: int, constant: Constant) -> Constant:
        """Return the marker for a constant, of the same type."""
        return self.texts[place] if isinstance(constant, str) else self.numbers[place]


@lru_cache(maxsize=64)
def _markers(salt: bytes, name: str) -> Markers:
    return Markers.derive(salt, name)


@dataclass(frozen=True, slots=True)
class Template:
    """The text of a shape, cut at its markers: ``parts[0]``, constant ``places[0]``, ..."""

    parts: tuple[str, ...]
    places: tuple[int, ...]

    def fill(self, constants: list[str]) -> str:
        """Return the statement with these constants, which are printed already."""
        found = [self.parts[0]]
        for place, part in zip(self.places, self.parts[1:], strict=True):
            found += (constants[place], part)
        return "".join(found)


def fill_statement(
    plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: Dialect, *, use_copy: bool = True
) -> str:
    """Return the statement of `question`, from the template of the plan's shape if it has one.

    Guarantee: the text is that of `question` for the same arguments, to the byte.
    """
    constants = list(constants_of(plan.condition))
    if not 0 < len(constants) <= MOST_CONSTANTS:
        return question(plan, catalog, salt, dialect, use_copy=use_copy)
    shape = _with_markers(plan, constants, _markers(salt, "first"))
    template = _template(shape, catalog, salt, dialect, use_copy=use_copy)
    if template is None:
        return question(plan, catalog, salt, dialect, use_copy=use_copy)
    return template.fill([_print_constant(each, dialect) for each in constants])


@lru_cache(maxsize=256)
def _template(
    shape: BoundedPlan, catalog: Catalog, salt: bytes, dialect: Dialect, *, use_copy: bool
) -> Template | None:
    """Return the template of a shape, or None if its text depends on the constants."""
    marked = list(constants_of(shape.condition))
    other = _with_markers(shape, marked, _markers(salt, "second"))
    cut = [
        _cut(
            question(each, catalog, salt, dialect, use_copy=use_copy),
            [_print_constant(constant, dialect) for constant in constants_of(each.condition)],
        )
        for each in (shape, other)
    ]
    return cut[0] if cut[0] == cut[1] else None


def _cut(text: str, markers: list[str]) -> Template | None:
    """Cut a statement at its markers; return None if one of them does not occur."""
    pieces: list[str | int] = [text]
    for place, marker in enumerate(markers):
        pieces = [
            piece
            for each in pieces
            for piece in (_split(each, marker, place) if isinstance(each, str) else (each,))
        ]
    places = tuple(each for each in pieces if isinstance(each, int))
    if set(places) != set(range(len(markers))):
        return None
    return Template(tuple(each for each in pieces if isinstance(each, str)), places)


def _split(text: str, marker: str, place: int) -> Iterator[str | int]:
    """Yield the parts of ``text`` around each occurrence of ``marker``, for which ``place``."""
    first, *rest = text.split(marker)
    yield first
    for part in rest:
        yield place
        yield part


def _print_constant(constant: Constant, dialect: Dialect) -> str:
    return dialect.render(build.literal(constant))


# ------------------------------------------------------------------ constants of a condition


def constants_of(condition: object) -> Iterator[Constant]:
    """Yield the constants of a condition that a template fills in, in their order.

    Example:
        >>> from tacit.plan.expression import Comparison
        >>> age = grid_steps.CompareColumn(Comparison.MORE, "age", Kind.INTEGER, 30)
        >>> list(constants_of(grid_steps.Negation(age)))
        [30]
    """
    match condition:
        case grid_steps.CompareColumn(_, _, kind, value) if _is_filled_in(kind, value):
            yield value  # type: ignore[misc]
        case grid_steps.AllOf(parts) | grid_steps.AnyOf(parts):
            for part in parts:
                yield from constants_of(part)
        case grid_steps.Negation(part):
            yield from constants_of(part)


def _is_filled_in(kind: Kind, value: object) -> bool:
    if type(value) is not MARKED.get(kind):
        return False
    return not isinstance(value, int) or 0 <= value <= LARGEST


def _with_markers(
    plan: BoundedPlan, constants: list[Constant], markers: Markers
) -> BoundedPlan:
    """Return ``plan`` with markers instead of its constants."""
    given = iter([markers.of(place, each) for place, each in enumerate(constants)])
    return replace(plan, condition=_replace(plan.condition, given))


def _replace(condition: Any, given: Iterator[Constant]) -> Any:
    """Return ``condition`` with the next of ``given`` in each place of `constants_of`."""
    match condition:
        case grid_steps.CompareColumn(_, _, kind, value) if _is_filled_in(kind, value):
            return replace(condition, value=next(given))
        case grid_steps.AllOf(parts) | grid_steps.AnyOf(parts):
            return type(condition)(tuple([_replace(part, given) for part in parts]))
        case grid_steps.Negation(part):
            return grid_steps.Negation(_replace(part, given))
    return condition
