"""Unit tests run in memory: their stores are there, and everything outside is refused.

`TACIT_STORES=sqlite,postgresql` runs the same tests of the ledger on real databases instead;
`just ledger` does that.
"""

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from no_io import guarded, unguarded

if TYPE_CHECKING:
    from tacit.store.store import Store

HERE = Path(__file__).parent
STORES = tuple(os.environ.get("TACIT_STORES", "memory").split(","))
IN_MEMORY = STORES == ("memory",)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Guard a unit test from its first fixture to its last, unless it runs on real stores."""
    if not IN_MEMORY or HERE not in item.path.parents:  # pytest calls this for every test
        return (yield)
    with guarded():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """End what all tests of a run share, such as a database, also after a unit test."""
    if nextitem is not None:
        return (yield)
    with unguarded():
        return (yield)


@pytest.fixture
def new_store(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The address of a new, empty store: in memory, whichever kind is asked for."""
    if not IN_MEMORY:
        real: Callable[[str], str] = request.getfixturevalue("new_store")
        return real
    numbers = count()
    return lambda _: f"memory:{next(numbers)}"


@pytest.fixture(params=STORES)
def store_address(request: pytest.FixtureRequest, new_store: Callable[[str], str]) -> str:
    """The address of a new, empty store, once of each kind that this run has."""
    return new_store(request.param)


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> "Callable[[str], Store]":
    """Opens stores; an address that was opened before gives the same store again."""
    if not IN_MEMORY:
        real: Callable[[str], Store] = request.getfixturevalue("opened")
        return real
    from tacit.testing.memory_store import MemoryStore  # noqa: PLC0415 - few tests need it

    stores: dict[str, Store] = {}

    def open_again(address: str) -> "Store":
        if address not in stores:
            stores[address] = MemoryStore()
        return stores[address]

    return open_again
