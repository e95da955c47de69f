"""Addresses with the passwords that variables hold."""

from collections.abc import Mapping
from urllib.parse import quote, urlsplit, urlunsplit

from tacit.errors import InvalidValue
from tacit.project.engines import EngineAddress


def with_password(address: EngineAddress, environment: Mapping[str, str]) -> str:
    """The address with the password that a variable holds: for the driver, and nobody else."""
    if address.password is None:
        return address.address
    if address.password not in environment:
        raise InvalidValue(
            f"The engine {address.name!r} wants the variable {address.password}, which is not "
            "set."
        )
    split = urlsplit(address.address)
    user, _, host = split.netloc.rpartition("@")
    secret = quote(environment[address.password], safe="")
    return urlunsplit(split._replace(netloc=f"{user}:{secret}@{host}"))
