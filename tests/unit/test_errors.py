import inspect
import re

import pytest

from tacit import errors

KINDS = {
    name: kind
    for name, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == errors.__name__
}
BUILT_IN = {
    "InvalidValue": ValueError,
    "CopyMissing": ValueError,
    "MissingBound": ValueError,
    "UnknownName": LookupError,
    "SecretMisuse": TypeError,
    "MissingExtra": ImportError,
}


# each name in the drawing, with the nearest name above it that stands further left
def drawn(text: str) -> dict[str, str | None]:
    parents: dict[str, str | None] = {}
    above: list[tuple[int, str]] = []
    for left, name in re.findall(r"^( {4}[ │├└─]*)(\w+) {2,}\S", text, flags=re.MULTILINE):
        above = [(indent, other) for indent, other in above if indent < len(left)]
        parents[name] = above[-1][1] if above else None
        above.append((len(left), name))
    return parents


def derived(kinds: dict[str, type]) -> dict[str, str | None]:
    bases = {name: kind.__bases__[0].__name__ for name, kind in kinds.items()}
    return {name: base if base in kinds else None for name, base in bases.items()}


def test_the_tree_is_drawn_as_it_stands() -> None:
    assert drawn(errors.__doc__) == derived(KINDS)


def test_a_drawing_without_an_error_or_under_another_parent_is_found_out() -> None:
    without = re.sub(r".*MissingExtra.*\n", "", errors.__doc__)
    moved = errors.__doc__.replace("│   └── MissingBound", "├── MissingBound    ")
    assert without != errors.__doc__ != moved
    assert drawn(without) != derived(KINDS)
    assert drawn(moved) != derived(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_every_error_is_one_of_ours_and_of_the_kind_that_python_knows(name: str) -> None:
    assert issubclass(KINDS[name], errors.TacitError)
    assert issubclass(KINDS[name], BUILT_IN.get(name, Exception))
    python = [kind for kind in BUILT_IN.values() if issubclass(KINDS[name], kind)]
    assert set(python) == {BUILT_IN[name]} if name in BUILT_IN else python == []


FIXED = {"AnswerPending": (1_000,), "AnswerLost": ()}
"""Errors that have one text, and what they are given instead of it."""


@pytest.mark.parametrize("name", sorted(KINDS.keys() - FIXED.keys()))
def test_an_error_shows_its_text_and_nothing_more(name: str) -> None:
    assert str(KINDS[name]("declare the bounds of 'pay'")) == "declare the bounds of 'pay'"


@pytest.mark.parametrize("name", FIXED)
def test_an_error_of_one_text_says_what_was_charged_and_what_to_do(name: str) -> None:
    told = str(KINDS[name](*FIXED[name]))
    assert told.endswith(".")
    assert "with a new idempotency key" in told if name == "AnswerLost" else "is free" in told
    assert "1000" not in told


def test_who_waits_knows_until_when() -> None:
    assert errors.AnswerPending(1_000).until == 1_000
