"""What a setting of a model may be: plain, and neither larger nor smaller than a fit needs.

Settings come from anybody, over HTTP too. They are looked at here, before anything is priced or
charged, and a model's own rules come after.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import NoneType
from typing import Any, get_args, get_type_hints

from tacit.errors import InvalidValue, TacitError, UnknownName

LARGEST = 1e100
"""The largest number, either side of 0."""

LEAST = 1e-100
"""The least number that is not 0, either side of it.

Squares of settings, and products of three, are then floats that are neither 0 nor infinite. No
guarantee rests on it: sums are bounded for any number (docs/privacy/numbers.md). It refuses
settings that no fit is meant to have, before anything is charged.
"""

MOST = 10_000
"""The largest whole number that counts something: steps, clusters, components."""

DEEPEST = 3
"""How many lists may stand in one another, and how many models."""

SHOWN = 60
"""Characters of what was given that a refusal repeats."""


def check_settings(made: type, settings: Mapping[str, Any]) -> None:
    """Refuse settings that ``made`` does not have, or of other types than its constructor says.

    Example:
        >>> from tacit.ml.k_means import KMeans
        >>> check_settings(KMeans, {"n_clusters": 3, "bounds": [0, [1, 2.5]]})
        >>> check_settings(KMeans, {"n_clusters": 10**9})
        Traceback (most recent call last):
        tacit.errors.InvalidValue: KMeans takes n_clusters as int up to 10000, not 1000000000.
    """
    known = get_type_hints(made.__init__)  # type: ignore[misc] # of the class that was named
    known.pop("return", None)
    unknown = sorted(settings.keys() - known.keys())
    if unknown:
        raise UnknownName(
            f"{made.__name__} has no settings called {', '.join(unknown)[:SHOWN]}; it has: "
            f"{', '.join(known)}."
        )
    for name, value in settings.items():
        wanted = get_args(known[name]) or (known[name],)
        if not any(_is(value, kind) for kind in wanted):
            allowed = " or ".join(NAMES.get(kind, PLAIN) for kind in wanted)
            raise InvalidValue(
                f"{made.__name__} takes {name} as {allowed}, not {_shown(value)}."
            )


def is_model(stored: Any) -> bool:
    """Whether ``stored`` has the shape of a model's text."""
    told = isinstance(stored, dict) and stored.keys() == {"model", "settings"}
    return told and isinstance(stored["model"], str) and isinstance(stored["settings"], dict)


@contextmanager
def refusing(model: str) -> Iterator[None]:
    """Whatever a model's settings make impossible, as a refusal: nothing here has seen data."""
    try:
        yield
    except TacitError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise InvalidValue(
            f"{model} cannot be fitted with these settings to these columns; its page says "
            "what each setting is."
        ) from error


PLAIN = f"text, lists and plain numbers, 0 or from {LEAST:g} to {LARGEST:g} either side of it"

NAMES: dict[Any, str] = {
    bool: "true or false",
    int: f"int up to {MOST}",
    float: f"a finite number, 0 or from {LEAST:g} to {LARGEST:g} either side of it",
    str: "text",
    NoneType: "nothing",
}


def _is(value: Any, kind: Any) -> bool:
    """Whether a setting is of a kind; of one that is not in the list, whether it is plain."""
    if kind is NoneType or kind is bool or kind is str:
        return isinstance(value, kind)
    if kind is int:
        return _is_whole(value) and abs(value) <= MOST
    return _is_number(value) if kind is float else _is_plain(value, DEEPEST)


def _is_plain(value: Any, deep: int) -> bool:
    if is_model(value):
        return True  # its settings are looked at when it is made
    match value:
        case None | bool() | str():
            return True
        case list() | tuple():
            return deep > 0 and all(_is_plain(part, deep - 1) for part in value)
        case dict():
            return deep > 0 and all(_is_plain(part, deep - 1) for part in value.values())
    return _is_number(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    # what is no number at all compares with nothing
    if not (_is_whole(value) or isinstance(value, float)):
        return False
    return bool(value == 0 or LEAST <= abs(value) <= LARGEST)


def _shown(value: Any) -> str:
    """The beginning of what was given, where it is no nest: its text may be endless."""
    if isinstance(value, list | tuple | dict):
        return "a list of other things"
    if _is_whole(value) and abs(value) > LARGEST:
        return "a number beyond all"
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
