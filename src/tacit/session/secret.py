"""A secret from where it is kept: for a driver, and for no text of ours."""

from collections.abc import Mapping
from typing import Any

from tacit.errors import InvalidValue
from tacit.extras import load
from tacit.project.secret import ENVIRONMENT, SecretPlace


def revealed(place: SecretPlace, engine: str, environment: Mapping[str, str]) -> str:
    """The secret of ``engine``; where it is not kept, the refusal says how it comes there."""
    if place.keeper == ENVIRONMENT:
        (variable,) = place.path
        return held(variable, f"The engine {engine!r}", environment)
    service, name = place.path
    found = _kept(load("keyring", extra="keyring"), service, name)
    if found is None:
        raise InvalidValue(
            f"The engine {engine!r} wants what the keyring holds for {name!r} of {service!r}, "
            f"and it holds nothing: keyring set {service!r} {name!r}"
        )
    return found


def held(variable: str, wanting: str, environment: Mapping[str, str]) -> str:
    """What a variable holds; where it is not set, the refusal says what is ``wanting`` it."""
    if variable not in environment:
        raise InvalidValue(
            f"{wanting} wants the variable {variable}, which is not set: export {variable}=…"
        )
    return environment[variable]


def _kept(keyring: Any, service: str, name: str) -> str | None:
    try:
        found: str | None = keyring.get_password(service, name)
    except Exception:  # noqa: BLE001 - every system has its own
        told = InvalidValue(
            "The keyring does not answer: unlock it, or name a variable in its place, "
            'password = "env:PGPASSWORD".'
        )
    else:
        return found
    raise told
