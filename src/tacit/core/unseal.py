"""The one way to open a secret. Import contracts name who may import this module."""

from typing import TypeVar

from tacit.core.secret import Secret

Value = TypeVar("Value")


def unseal(secret: Secret[Value]) -> Value:
    """The exact value inside.

    What is computed from it must leave through noise, or not at all.
    """
    value: Value = secret._Secret__value  # type: ignore[attr-defined] # noqa: SLF001 - this is the key
    return value
