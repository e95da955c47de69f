"""Open a store by its address."""

from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from tacit.errors import InvalidValue
from tacit.store.postgres import open_postgres
from tacit.store.sqlite import open_sqlite
from tacit.store.store import SqlStore


def open_store(address: str) -> SqlStore:
    """The store at ``address``: ``sqlite:///a/file.db`` or ``postgresql://user@host/name``.

    Example:
        >>> open_store("mysql://somewhere")
        Traceback (most recent call last):
        ...
        tacit.errors.InvalidValue: A store is sqlite:///FILE or postgresql://HOST/NAME.
    """
    # the address may hold a password, so it is not repeated
    refusal = "A store is sqlite:///FILE or postgresql://HOST/NAME."
    try:
        url = make_url(address)
    except ArgumentError as error:
        raise InvalidValue(refusal) from error
    if url.drivername == "postgresql":
        return open_postgres(url)
    if url.drivername == "sqlite" and url.database:
        return open_sqlite(Path(url.database))
    raise InvalidValue(refusal)
