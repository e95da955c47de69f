"""A ledger that is lost under a running server: no question is charged, and /ready says it.

Whoever restores a database under a server, or deletes the keys of owners in it, is noticed.
"""

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from serving import COUNT, Server, make_project, serving
from signing import key_of

from tacit.ledger import KeySet
from tacit.server import checkpoints
from tacit.session.project import project_and_ledger

MINE = "SELECT COUNT(*) AS n FROM people"


@dataclass
class Served:
    """A server, the database of its ledger, and a copy that lacks its newest charge."""

    server: Server
    ledger: Path
    old: Path
    token: str
    opened: int
    """The inode of the file that the server has open."""

    def ask(self, sql: str) -> requests.Response:
        return self.server.ask(self.token, sql)

    def entries(self) -> int:
        """The number of entries in the file that now has the ledger's name; 0 without one."""
        if not self.ledger.exists():
            return 0
        address = f"{self.ledger.as_uri()}?mode=ro"
        if self.ledger.stat().st_ino != self.opened:
            address += "&immutable=1"  # the log that has its name belongs to the file before it
        with closing(sqlite3.connect(address, uri=True)) as found:
            return int(found.execute("SELECT COUNT(*) FROM entries").fetchone()[0])

    def ready(self) -> requests.Response:
        return self.server.call("GET", "/ready")

    def waits_until_not_ready(self) -> requests.Response:
        last = time.monotonic() + 60
        while "ledger" not in (found := self.ready()).json().get("error", {}).get("given", ""):
            assert time.monotonic() < last, found.text
            time.sleep(0.1)
        assert found.status_code == 503
        return found

    def logged(self) -> str:
        """The reason that the log has for a broken ledger."""
        found = [json.loads(line) for line in self.server.log]
        [why] = [line["why"] for line in found if line.get("ledger") == "broken"]
        return str(why)


def backup(path: Path, to: Path) -> None:
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(checkpoints, "PAUSE_SECONDS", 0.2)
    file = make_project(tmp_path / "clinic")
    olga = key_of("olga")
    with project_and_ledger(file) as (_, home):
        home.ledger.signed_by(olga).propose("patients", KeySet("olga", olga.key), by="olga")
    with serving(file) as server:
        token = server.token("ann")
        ledger, old = file.parent / ".tacit/ledger.db", tmp_path / "old.db"
        backup(ledger, old)
        assert server.ask(token, COUNT).status_code == 200
        yield Served(server, ledger, old, token, ledger.stat().st_ino)


def statements(path: Path, *told: str) -> None:
    """Change the database behind the server's back, without its triggers."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as database:
        names = "SELECT name FROM main.sqlite_master WHERE type = 'trigger'"
        for (name,) in database.execute(names).fetchall():
            database.execute(f"DROP TRIGGER main.{name}")
        for each in told:
            database.execute(each)


def put_rows_back(served: Served) -> None:
    """What a restore into a running database does."""
    told = [f"ATTACH '{served.old}' AS old", "BEGIN IMMEDIATE"]
    for table in ("budgets", "entries", "requests", "answers", "holders"):
        told.append(f"DELETE FROM main.{table}")  # noqa: S608 - our own names
        told.append(f"INSERT INTO main.{table} SELECT * FROM old.{table}")  # noqa: S608
    statements(served.ledger, *told, "COMMIT")


def put_file_back(served: Served) -> None:
    """What an operator does with a backup."""
    shutil.copy(served.old, served.ledger.parent / "old")
    (served.ledger.parent / "old").rename(served.ledger)


def delete_file(served: Served) -> None:
    served.ledger.rename(served.ledger.parent / "moved")


LOST: dict[Callable[[Served], None], str] = {
    put_rows_back: "The ledger was put back to an older copy",
    put_file_back: "The ledger was put back to an older copy",
    delete_file: "The ledger was deleted",
}


@pytest.mark.parametrize("lose", LOST)
def test_a_lost_ledger_charges_nothing_and_is_not_ready(
    served: Served, lose: Callable[[Served], None]
) -> None:
    assert served.ready().json()["ledger"] is True
    lose(served)
    before = served.entries()
    refused = served.ask(MINE)
    assert refused.status_code == 500
    error = refused.json()["error"]
    assert error["code"] == "ledger_broken"
    assert LOST[lose] in error["message"]
    assert "Nothing was charged" in error["message"]
    assert served.entries() == before
    assert served.waits_until_not_ready().json()["error"]["code"] == "not_ready"
    assert LOST[lose] in served.logged()


def test_deleted_keys_of_owners_are_in_the_log_and_not_ready(served: Served) -> None:
    statements(served.ledger, "DELETE FROM owner_keys")
    assert served.waits_until_not_ready().json()["error"]["code"] == "not_ready"
    assert "the keys of owners in the store are not those of the chain" in served.logged()


def test_a_ledger_that_goes_on_stays_ready(served: Served) -> None:
    """The lie: looking at it is not what makes a server unready."""
    assert served.ask(MINE).status_code == 200
    time.sleep(1)
    assert served.ready().json()["ledger"] is True
    assert not any('"ledger"' in line for line in served.server.log)
