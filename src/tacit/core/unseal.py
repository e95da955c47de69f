"""The only way to open a secret. An import contract lists who may import this module."""

from typing import TypeVar

from tacit.core.secret import Secret

Value = TypeVar("Value")


def unseal(secret: Secret[Value]) -> Value:
    """Return the exact value of a secret.

    A result that is computed from it may be released only with noise.
    """
    value: Value = secret._Secret__value  # type: ignore[attr-defined] # noqa: SLF001 - this is the key
    return value
