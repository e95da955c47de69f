"""F-P11: a server that runs follows what owners declare, and goes on answering."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Thread
from uuid import uuid4

import psycopg
import pytest
import requests
from postgres_cluster import PostgresCluster
from serving import COUNT, PATIENTS, SECONDS, Server, make_project, running

from tacit.engines.postgres_role import reader
from tacit.errors import InvalidValue
from tacit.project.project import Serving
from tacit.server.app import make_app, watched_app
from tacit.server.current_curator import stays
from tacit.server.token_policy import Role
from tacit.session.engines import read_project
from tacit.session.epochs import EpochMove
from tacit.session.prepare import Owner
from tacit.session.project import Reloader, apply_project, open_for_serving

SUM = "SELECT SUM(cost) AS s FROM visits"
STAFF = "SELECT COUNT(*) AS n FROM shifts"
BOUNDS = "bounds = [0, 100]"


@contextmanager
def reloading(file: Path, *, follows: bool = True) -> Iterator[Server]:
    """A server over ``file`` with child processes, which follows declarations, or does not."""
    curator, _ = open_for_serving(file, {})
    reload = Reloader(file, {}) if follows else stays
    log: list[str] = []
    app = make_app(curator, Serving(requests_per_minute=10**6), reload=reload)
    with running(watched_app(app, log.append)) as address:
        yield Server(address, curator, log)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make_project(tmp_path / "clinic", more="[server]\nprocesses = 1\n")


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def apply_elsewhere(file: Path, before: str, after: str, then: str | None = None) -> None:
    """Apply a change in another file, as on another machine; the server's has it at no time.

    If the server's own file were changed and changed back, it could read it in between.
    """
    other = file.with_name("other.toml")
    other.write_text(file.read_text())
    if then is not None:
        file.write_text(then)
    edit(other, before, after)
    apply_project(other, by="olga")


def comes(what: Callable[[], bool]) -> bool:
    """Whether something is true within half a minute."""
    last = time.monotonic() + SECONDS
    while time.monotonic() < last:
        if what():
            return True
        time.sleep(0.1)
    return False


def code(reply: requests.Response) -> str:
    return str(reply.json()["error"]["code"])


def test_a_server_asks_by_the_new_declaration_and_never_by_the_old(file: Path) -> None:
    with reloading(file) as server:
        ann = server.token("ann")
        assert server.ask(ann, SUM, key="1").status_code == 200
        edit(file, BOUNDS, "bounds = [0, 50]")
        apply_project(file, by="olga")
        first = server.ask(ann, SUM, key="2", epsilon="0.2")
        assert first.status_code in {200, 409}  # priced anew, or refused: never by [0, 100]
        if first.status_code == 409:
            assert code(first) == "declarations_changed"
            assert "ask again" in first.json()["error"]["message"]
        keys = iter(range(3, 10**6))
        assert comes(
            lambda: server.ask(ann, SUM, key=str(next(keys)), epsilon="0.3").status_code == 200
        )
        told = server.call("GET", "/v1/datasets", ann).json()
        assert "'50'" in str(told).replace('"', "'")
        server.curator.home.ledger.verify("patients")


def test_a_server_that_does_not_follow_charges_nothing_more(file: Path) -> None:
    with reloading(file, follows=False) as server:
        ann = server.token("ann")
        edit(file, BOUNDS, "bounds = [0, 50]")
        apply_project(file, by="olga")
        for number in range(3):
            refused = server.ask(ann, SUM, key=str(number))
            assert (refused.status_code, code(refused)) == (409, "declarations_changed")
        assert server.ask(ann, STAFF).status_code == 200
        assert not server.curator.home.ledger.book("patients").requests


def test_a_file_that_differs_stops_its_population_and_no_other(file: Path) -> None:
    with reloading(file) as server:
        ann = server.token("ann")
        apply_elsewhere(file, BOUNDS, "bounds = [0, 50]")
        keys = iter(range(10**6))

        def told() -> bool:
            reply = server.ask(ann, SUM, key=str(next(keys)))
            return (
                "On this server, tacit.toml declares" in reply.text and reply.status_code == 409
            )

        assert comes(told)
        assert server.ask(ann, STAFF).status_code == 200
        edit(file, BOUNDS, "bounds = [0, 50]")  # and once it has the right one
        assert comes(lambda: server.ask(ann, SUM, key=str(next(keys))).status_code == 200)


def test_a_file_that_cannot_be_read_stops_what_was_declared_anew(file: Path) -> None:
    with reloading(file) as server:
        ann = server.token("ann")
        text = file.read_text()
        apply_elsewhere(file, BOUNDS, "bounds = [0, 50]", then="no project")
        keys = iter(range(10**6))
        assert comes(
            lambda: (
                "on this server could not be" in server.ask(ann, SUM, key=str(next(keys))).text
            )
        )
        assert server.ask(ann, STAFF).status_code == 200
        file.write_text(text.replace(BOUNDS, "bounds = [0, 50]"))
        assert comes(lambda: server.ask(ann, SUM, key=str(next(keys))).status_code == 200)


def test_an_error_of_any_kind_while_loading_stops_one_population_and_not_the_thread(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a canary")

    with reloading(file) as server:
        ann, keys = server.token("ann"), count()
        with monkeypatch.context() as patched:
            patched.setattr("tacit.session.project.open_for_serving", broken)
            edit(file, BOUNDS, "bounds = [0, 50]")
            apply_project(file, by="olga")
            assert comes(
                lambda: (
                    "on this server could not be"
                    in server.ask(ann, SUM, key=str(next(keys))).text
                )
            )
            assert server.ask(ann, STAFF).status_code == 200
        file.write_text(file.read_text() + "\n")  # it is loaded again when the file changes
        assert comes(lambda: server.ask(ann, SUM, key=str(next(keys))).status_code == 200)
        assert "canary" not in "".join(server.log)


def of_postgres(folder: Path, address: str) -> Path:
    """The project of one table in PostgreSQL, whose copy was prepared."""
    role = f"tacit_{uuid4().hex}"
    where = address.replace("postgres@", f"{role}@")
    file = folder / "tacit.toml"
    patients = PATIENTS.partition("[datasets.visits]")[0]
    file.write_text(
        "[server]\nprocesses = 1\ntime.kind = 'open'\n"
        + patients.replace(
            'kind = "duckdb"\npath = "clinic.duckdb"',
            f'kind = "postgres"\naddress = "{where}"',
        )
    )
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(
            "CREATE TABLE people AS SELECT n::BIGINT AS id, 'p' || n AS person, "
            "CASE n % 2 WHEN 0 THEN 'Bern' ELSE 'Ulm' END AS city "
            "FROM generate_series(1, 500) AS s(n)"
        )
        for statement in reader(role, read_project(file).catalog):
            owner.execute(statement.encode())
    apply_project(file, by="olga")
    list(Owner(file, address).prepare("people"))
    return file


def test_a_server_that_waits_for_a_copy_says_so_to_each_in_their_words(
    tmp_path: Path, cluster: PostgresCluster
) -> None:
    address = cluster.database(f"tacit_{uuid4().hex}")
    file = of_postgres(tmp_path, address)
    with reloading(file) as server:
        ann, olga = server.token("ann"), server.token("olga", Role.OWNER)
        assert server.ask(ann, COUNT, key="before").status_code == 200
        edit(file, 'epoch = "1"\nunit', 'epoch = "2"\nunit')
        apply_project(file, by="olga")
        keys = iter(range(10**6))

        def told() -> bool:
            reply = server.ask(ann, COUNT, key=str(next(keys)), epsilon="0.2")
            return "must prepare its tables" in reply.text and reply.status_code == 409

        assert comes(told)
        refused = server.ask(ann, COUNT, key="now", epsilon="0.2").json()["error"]["message"]
        assert "again later" in refused
        assert "tacit prepare" not in refused
        command = "tacit prepare people --where copies --by env:OWNER"
        [line] = [json.loads(each) for each in server.log if '"waits"' in each]
        assert line["waits"] == "patients"
        assert command in line["why"]
        [budget] = server.call("GET", "/v1/status", olga).json()["budgets"]
        assert command in budget["waits"]
        assert "waits" not in server.call("GET", "/v1/status", ann).json()["budgets"][0]
        list(Owner(file, address).prepare("people"))
        assert comes(
            lambda: (
                server.ask(ann, COUNT, key=str(next(keys)), epsilon="0.2").status_code == 200
            )
        )
        assert "waits" not in server.call("GET", "/v1/status", olga).json()["budgets"][0]


def test_an_owner_stops_and_allows_charges_over_http(file: Path) -> None:
    with reloading(file, follows=False) as server:
        ann, olga = server.token("ann"), server.token("olga", Role.OWNER)
        kept = server.ask(ann, SUM, key="before")
        stopped = server.call("POST", "/v1/ledger/patients/freeze", olga)
        assert (stopped.status_code, stopped.json()["frozen"]) == (200, True)
        refused = server.ask(ann, SUM, key="after", epsilon="0.2")
        assert (refused.status_code, code(refused)) == (423, "charges_frozen")
        again = server.ask(ann, SUM, key="before")
        assert again.json()["columns"] == kept.json()["columns"]
        budgets = server.call("GET", "/v1/status", ann).json()["budgets"]
        assert [each["frozen"] for each in budgets] == [True, False]
        assert server.ask(ann, STAFF).status_code == 200
        assert server.call("POST", "/v1/ledger/patients/thaw", olga).status_code == 200
        assert server.ask(ann, SUM, key="after", epsilon="0.2").status_code == 200


@pytest.mark.parametrize("follows", [True, False])
def test_a_copy_that_is_made_anew_is_read_by_a_server_that_runs(
    tmp_path: Path, cluster: PostgresCluster, *, follows: bool
) -> None:
    """The tables of before are gone; a server that reads on waits, and locks nobody."""
    address = cluster.database(f"tacit_{uuid4().hex}")
    file = of_postgres(tmp_path, address)
    with reloading(file, follows=follows) as server:
        ann = server.token("ann")
        assert server.ask(ann, COUNT, key="before").status_code == 200
        list(Owner(file, address).prepare("people"))
        if follows:
            keys = iter(range(10**6))
            assert comes(
                lambda: (
                    server.ask(ann, COUNT, key=str(next(keys)), epsilon="0.2").status_code
                    == 200
                )
            )
        else:
            refused = server.ask(ann, COUNT, key="after", epsilon="0.2")
            assert code(refused) == "engine_unreachable"
        assert not server.curator.home.ledger.status("patients").locked


def test_a_server_follows_an_epoch_that_moves_under_a_stream_of_questions(file: Path) -> None:
    with reloading(file) as server:
        ann = server.token("ann")
        before = server.ask(ann, SUM, key="before").json()
        assert [each["epoch"] for each in before["dates"]["epochs"]] == ["1", "1"]
        replies: list[requests.Response] = []

        def ask() -> None:
            for number in range(20):
                amount = f"0.0{number + 10}"
                replies.append(server.ask(ann, SUM, key=f"q{number}", epsilon=amount))

        asking = Thread(target=ask)
        asking.start()
        EpochMove(file, ("people", "visits"), "2").record("olga")
        with pytest.raises(InvalidValue, match="had the epoch '1' before"):
            EpochMove(file, ("people",), "1").record("olga")
        asking.join()
        assert {reply.status_code for reply in replies} <= {200, 409}
        for reply in replies:
            if reply.status_code == 409:
                assert code(reply) == "declarations_changed"
            else:  # no answer mixes the epochs of two declarations
                epochs = {each["epoch"] for each in reply.json()["dates"]["epochs"]}
                assert epochs in ({"1"}, {"2"})
        keys = count()

        def follows() -> bool:
            # until the server has read the file again, stored answers of epoch 1 are free
            reply = server.ask(ann, SUM, key=f"x{next(keys)}", epsilon="0.04")
            if reply.status_code != 200:
                return False
            return {each["epoch"] for each in reply.json()["dates"]["epochs"]} == {"2"}

        assert comes(follows)
        server.curator.home.ledger.verify("patients")
