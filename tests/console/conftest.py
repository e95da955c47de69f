"""Fixtures of the tests of the console: a browser, a clinic that runs, and its visitors."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import BUILD, Visitors, chromium, clinic
from playwright.sync_api import Browser
from serving import Server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Chromium of this machine; it ends with the module, as its event loop does."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over a clinic that has given answers, for all tests of a module."""
    with clinic(tmp_path_factory.mktemp("clinic")) as running:
        yield running


@pytest.fixture
def visitors(
    browser: Browser, server: Server, request: pytest.FixtureRequest
) -> Iterator[Visitors]:
    """Visitors of the server; the test fails if a browser reports an error."""
    folder = BUILD / Path(request.node.path).stem.removeprefix("test_")
    found = Visitors(browser, server, folder)
    yield found
    found.close()
