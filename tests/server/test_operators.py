"""The port of operators: engine times are there, and nowhere else."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

import duckdb
import pytest
import requests
from prepared import FILE, ROWS, TEXT
from serving import Server, running

from tacit.errors import InvalidValue
from tacit.server.app import make_app, watched_app
from tacit.server.operators import EngineTimes, OperatorsListener
from tacit.server.token_policy import Role
from tacit.session.project import apply_project, open_for_serving

DELAY = 'kind = "delay"\nperson_ms = 2\nplaces = 1'
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE cost > {}"
SUM = "tacit_engine_seconds_sum"
PUBLIC = ("tacit_requests_total", "tacit_request_seconds")


@dataclass(frozen=True)
class TwoPorts:
    """A server with a port for operators."""

    server: Server
    operators: str
    times: EngineTimes

    def get(self, path: str, method: str = "GET") -> requests.Response:
        return requests.request(method, f"http://{self.operators}{path}", timeout=30)

    def public(self) -> str:
        """The metrics of the public port, without the request for them."""
        token = self.server.token("op", Role.OPERATOR)
        text = self.server.call("GET", "/metrics", token).text
        return "\n".join(line for line in text.splitlines() if '"/metrics"' not in line)


def made(folder: Path) -> Path:
    with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
        owner.execute(ROWS)
    file = folder / "tacit.toml"
    file.write_text(TEXT.replace("ENGINE", FILE).replace('kind = "open"', DELAY))
    apply_project(file, by="olga")
    return file


@contextmanager
def served(file: Path) -> Iterator[TwoPorts]:
    curator, settings = open_for_serving(file, {})
    log: list[str] = []
    app = make_app(curator, replace(settings, operators=("127.0.0.1", 0)))
    times = app.state.current.curator.watch
    with running(watched_app(app, log.append)) as address:
        yield TwoPorts(Server(address, curator, log), app.state.operators.address, times)


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoPorts]:
    with served(made(tmp_path_factory.mktemp("operators"))) as found:
        yield found


def test_operators_have_three_routes_and_need_no_token(ports: TwoPorts) -> None:
    assert ports.get("/health").json() == {"status": "ok"}
    assert ports.get("/ready").json()["status"] == "ready"
    assert ports.get("/metrics").headers["Content-Type"].startswith("text/plain; version=0.0.4")
    for path in ("/v1/datasets", "/v1/status", "/v1/ledger/patients", "/openapi.json", "/"):
        assert ports.get(path).status_code == 404
        assert ports.get(path).json()["error"]["code"] == "not_found"
    assert ports.get("/metrics", "POST").status_code == 405
    assert ports.server.call("GET", "/metrics").status_code == 401  # as on the public port


def asked(ports: TwoPorts, number: int) -> None:
    answer = ports.server.ask(
        ports.server.token("ann"), COUNT.format(number), epsilon=None, rho="0.05"
    )
    assert answer.status_code == 200


def test_the_time_of_an_engine_is_on_the_operators_port_and_nowhere_else(
    ports: TwoPorts,
) -> None:
    asked(ports, 1)
    told = ports.get("/metrics").text
    [line] = [line for line in told.splitlines() if line.startswith(SUM)]
    assert line.startswith(SUM + '{engine="warehouse"} 0.')
    taken = line.split("0.", 1)[1]
    seconds = float(f"0.{taken}")
    # in seconds, milliseconds or microseconds, as a number of the text or rounded
    digits = {f"0.{taken}", f"{seconds:.6f}", f"{1e3 * seconds:.3f}", f"{1e6 * seconds:.0f}"}
    # as a whole number: four digits in a row stand in many a digest by chance
    shows = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, digits))})(?![\w.])").search
    ledger = ports.server.curator.home.ledger
    chain = "".join(entry.body for entry in ledger.entries("patients"))
    released = ports.server.call("GET", "/v1/status", ports.server.token("olga", Role.OWNER))
    for text in (ports.public(), "".join(ports.server.log), chain, released.text):
        assert text
        assert not shows(text)
        assert "engine" not in text
    assert shows(told)  # the lie: the port of operators has it


def test_the_public_metrics_do_not_depend_on_the_times_of_engines(ports: TwoPorts) -> None:
    before, shown = ports.public(), ports.get("/metrics").text
    assert all(each in before and each in shown for each in PUBLIC)
    ports.times.note_engine("warehouse", 3.25)
    ports.times.note_engine("lake", 0.5)
    assert ports.public() == before
    again = ports.get("/metrics").text
    assert 'tacit_engine_seconds_count{engine="lake"} 1' in again
    # the lie: the text of the operators' port does depend on them
    engines = [line for line in shown.splitlines() if "engine_seconds" in line]
    assert engines != [line for line in again.splitlines() if "engine_seconds" in line]


def test_operators_see_how_full_the_queue_is(ports: TwoPorts) -> None:
    idle = [
        "tacit_questions 0",
        'tacit_questions_waiting{engine="warehouse"} 0',
        'tacit_places{engine="warehouse",state="free"} 1',
        'tacit_places{engine="warehouse",state="held"} 0',
    ]
    full = [
        "tacit_questions 2",
        'tacit_questions_waiting{engine="warehouse"} 1',
        'tacit_places{engine="warehouse",state="free"} 0',
        'tacit_places{engine="warehouse",state="held"} 1',
    ]
    _until(lambda: all(line in ports.get("/metrics").text for line in idle))
    threads = [Thread(target=asked, args=(ports, number)) for number in (21, 22)]
    for thread in threads:
        thread.start()
    _until(lambda: all(line in ports.get("/metrics").text for line in full))
    for thread in threads:
        thread.join()
    _until(lambda: all(line in ports.get("/metrics").text for line in idle))


def test_a_port_that_is_taken_is_refused() -> None:
    async def app(*_: object) -> None: ...

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidValue, match=f"port {port}"):
            OperatorsListener(("127.0.0.1", port), app)


def test_both_ports_end_when_the_server_is_told_to_stop(tmp_path: Path) -> None:
    file = made(tmp_path)
    time_section = "[server.time]"
    settings = f'[server]\noperators = "127.0.0.1:0"\n\n{time_section}'
    file.write_text(file.read_text().replace(time_section, settings))
    command = [sys.executable, "-m", "tacit.cli", "serve", "--port", "0"]
    command += ["--project", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        addresses = [f"http://{told['host']}:{told['port']}", f"http://{told['operators']}"]
        for address in addresses:
            assert requests.get(f"{address}/health", timeout=30).json() == {"status": "ok"}
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    finally:
        process.kill()
    for address in addresses:
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{address}/health", timeout=1)


def _until(holds: Callable[[], bool]) -> None:
    last = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < last, "It did not come in 30 seconds."
        time.sleep(0.005)
