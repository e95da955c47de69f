"""A server is set up, asked and governed as its page tells it."""

from pathlib import Path
from socket import create_server

import duckdb
import pytest
from walking import Walk

PAGE = (Path(__file__).parents[2] / "docs/how-to/serve.md").read_text()
VISITS = (
    "CREATE TABLE visits AS SELECT range AS id, 'p' || range % 4000 AS person, "
    "['north', 'south'][1 + range // 7 % 2] AS ward, range % 800 AS cost FROM range(12000)"
)


def free_port() -> str:
    with create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Walk:
    """An operator in a folder with the database of the page."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("clinic.duckdb") as owner:
        owner.execute(VISITS)
    return Walk(monkeypatch)


def test_a_server_is_run_as_its_page_tells(walk: Walk) -> None:
    assert PAGE.count("\n$ tacit ") >= 10
    assert walk.through(PAGE.replace("8800", free_port())) == []


def test_a_page_without_the_rule_of_time_does_not_start(walk: Walk) -> None:
    start, _, rest = PAGE.partition("## Ask")[0].partition("[server.time]")
    wrong = walk.through(f"{start}[server.notify]{rest.partition('[server.notify]')[2]}")
    assert ["it does not answer" in each for each in wrong] == [True]
