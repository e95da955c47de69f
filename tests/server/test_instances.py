"""Servers hold no state: any number of them share one store, and one charge is one charge."""

import json
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from serving import COUNT, Server, make_project, serving

from tacit.errors import LedgerBroken
from tacit.store.sealed_state import VARIABLE

KEY = {VARIABLE: b64encode(bytes(range(32))).decode()}


@pytest.fixture
def shared(tmp_path: Path, new_store: Callable[[str], str]) -> Path:
    """A project whose ledger is in PostgreSQL."""
    store = f'[store]\naddress = "{new_store("postgresql")}"\n'
    return make_project(tmp_path / "clinic", more=store, environment=KEY)


def know_routes(*servers: Server) -> None:
    """Let each server describe its routes, one after the other.

    FastAPI does this at the first request, by objects that the servers of one process share.
    """
    for server in servers:
        assert server.call("GET", "/v1/nothing").status_code == 404


def test_the_same_request_at_two_servers_at_once_is_one_charge_and_the_same_answer(
    shared: Path,
) -> None:
    with serving(shared, KEY) as one, serving(shared, KEY) as other:
        know_routes(one, other)
        ann = one.token("ann")  # issued at one, known at both
        before = one.curator.home.ledger.status("patients").spent
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(server.ask, ann, key="monday") for server in [one, other] * 8]
            answers = [each.result() for each in asked]
        assert [answer.text for answer in answers if answer.status_code != 200] == []
        assert len({str(answer.json()["columns"]) for answer in answers}) == 1
        paid = [a for a in answers if a.json()["standing"]["cost"]["amount"] != "0"]
        spent = one.curator.home.ledger.status("patients").spent
        assert len(paid) == 1
        assert spent.amount - before.amount > 0
        assert len(one.curator.home.ledger.book("patients").requests) == 1
        assert other.ask(ann, key="monday", epsilon="0.2").status_code == 409


def test_servers_with_keys_of_their_own_cannot_serve_one_store(shared: Path) -> None:
    other = {VARIABLE: b64encode(bytes(32)).decode()}
    with serving(shared, KEY) as server, serving(shared, other) as lying:
        ann = server.token("ann")
        assert server.ask(ann).status_code == 200
        failed = lying.ask(ann, epsilon="0.2")
        assert failed.json()["error"]["code"] == "ledger_broken"
        with pytest.raises(LedgerBroken):
            lying.curator.salt("patients")
        assert len(server.curator.home.ledger.book("patients").requests) == 1


def test_a_server_that_is_told_to_stop_finishes_its_answers(tmp_path: Path) -> None:
    settings = "[server]\nprocesses = 1\ndeadline = 1\n"
    file = make_project(tmp_path / "clinic", more=settings)
    with serving(file) as here:
        ann = here.token("ann")
    command = [sys.executable, "-m", "tacit.cli", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--project", str(file)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        address = f"http://{told['host']}:{told['port']}"
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(
                requests.post,
                f"{address}/v1/ask",
                json={"sql": COUNT, "epsilon": "0.1"},
                headers={"Authorization": f"Bearer {ann}"},
                timeout=30,
            )
            time.sleep(0.5)  # of the second that the answer takes
            process.send_signal(signal.SIGTERM)
            assert asked.result().status_code == 200
        said, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert [json.loads(line)["status"] for line in said.splitlines()][-1] == 200
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{address}/health", timeout=1)
