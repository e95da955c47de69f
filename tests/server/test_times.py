"""The time of answers over HTTP: the rule that a server needs, delays, and what they cost."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from prepared import FILE, ROWS, TEXT
from serving import Server, running

from tacit.cli.demo import PROJECT
from tacit.cli.main import main
from tacit.core.codec import decode_event
from tacit.core.event import Composed, DelayNoise
from tacit.errors import InvalidValue
from tacit.ledger.entries import Charged, decode_act
from tacit.server.app import make_app, watched_app
from tacit.session.engines import read_project
from tacit.session.project import apply_project, open_for_serving
from tacit.session.served_time import check_time_rule

OPEN = 'kind = "open"'
MEASURED = 'measured = "2026-11-18 on host 7"\nmeasured_ms = 2'
DELAY = f'kind = "delay"\nperson_ms = 2\n{MEASURED}\nplaces = 2'
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE cost > {}"
RHO = {"epsilon": None, "rho": "0.05"}


def made(folder: Path, said: str, text: str = TEXT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
        owner.execute(ROWS)
    file = folder / "tacit.toml"
    file.write_text(text.replace("ENGINE", FILE).replace(OPEN, said))
    apply_project(file, by="olga")
    return file


@contextmanager
def served(file: Path) -> Iterator[Server]:
    curator, settings = open_for_serving(file, {})
    log: list[str] = []
    with running(watched_app(make_app(curator, settings), log.append)) as address:
        yield Server(address, curator, log)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(made(tmp_path_factory.mktemp("delayed"), DELAY)) as found:
        yield found


def test_an_answer_is_delayed_and_its_time_is_charged(server: Server) -> None:
    ann = server.token("ann")
    began = time.monotonic()
    told = server.ask(ann, COUNT.format(1), **RHO).json()
    taken = time.monotonic() - began
    said = " ".join(told["guarantee"].split())
    assert "also holds for anyone who sees when the answer arrives" in said
    assert "by at most 2 ms (2026-11-18 on host 7)" in said
    ledger = server.curator.home.ledger
    acts = [decode_act(entry.body) for entry in ledger.entries("patients")]
    [charged] = [act for act in acts if isinstance(act, Charged)]
    event = decode_event(charged.event)
    assert isinstance(event, Composed)
    delay = event.events[-1]
    assert isinstance(delay, DelayNoise)
    assert (delay.variance, delay.step_ms) == (200, 2)  # rho 0.05 * 0.05
    # 99 steps of 2 ms and the floor on average; five standard deviations less are 58 ms
    assert taken > 0.078
    assert ledger.status("patients").spent.amount <= 0.05
    # the same again is free, and is not delayed: no run, no draw, no charge
    entries = len(ledger.entries("patients"))
    again = server.ask(ann, COUNT.format(1), **RHO).json()
    assert again["columns"] == told["columns"]
    assert len(ledger.entries("patients")) == entries


def test_a_quote_says_what_time_costs(server: Server) -> None:
    ann = server.token("ann")
    quoted = server.call("POST", "/v1/quote", ann, json={"sql": COUNT.format(2), "rho": "0.05"})
    assert "pays for the time at which the answer leaves" in quoted.text
    assert "0.0025" in quoted.text
    little = {"sql": COUNT.format(2), "rho": "1e-9"}
    for route in ("quote", "ask"):
        refused = server.call("POST", f"/v1/{route}", ann, json=little)
        assert refused.status_code == 422
        assert "Ask for at least epsilon " in refused.json()["error"]["message"]
    found = server.call("POST", "/v1/quote", ann, json={"sql": COUNT.format(2), "rho": "1e-4"})
    assert found.status_code == 200  # and not refused for a point of its curve


def test_each_answer_pays_for_its_own_time(server: Server) -> None:
    """Charging a class of questions once would not do."""
    ann = server.token("ann")
    for number in range(10, 14):
        answer = server.ask(ann, COUNT.format(number), epsilon=None, rho="0.01")
        assert answer.status_code == 200
    ledger = server.curator.home.ledger
    acts = [decode_act(entry.body) for entry in ledger.entries("patients")]
    events = [decode_event(act.event) for act in acts if isinstance(act, Charged)]
    delays = [each.events[-1] for each in events if isinstance(each, Composed)]
    of_a_hundredth = [each for each in delays if each.variance == 1000]
    assert len(of_a_hundredth) == 4


def test_a_server_does_not_start_without_a_rule(tmp_path: Path) -> None:
    file = made(tmp_path, "", TEXT.replace("[server.time]\n", ""))
    with pytest.raises(InvalidValue, match="does not say how the time of answers is protected"):
        open_for_serving(file, {})
    said = CliRunner().invoke(main, ["serve", "--project", str(file)])
    assert said.exit_code == 1
    assert 'kind = "delay"' in said.output


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('row_key = "id"  # of the hospital\n', "", "rows of one person in 'visits' is not"),
        ('epsilon = 3, delta = "1e-6"', "epsilon = 3", "counted in epsilon without delta"),
        (
            'epsilon = 3, delta = "1e-6"',
            'rho = 0.1, conversion_delta = "1e-6"',
            "of 0 for keys and times, .* Raise the delta of the budget",
        ),
        (
            'delta = "1e-6"',
            'delta = "5e-13"',
            "Set a smaller delta in .server.time.",
        ),
    ],
)
def test_a_delay_that_would_not_hold_is_refused(
    old: str, new: str, told: str, tmp_path: Path
) -> None:
    file = made(tmp_path, DELAY, TEXT.replace(old, new))
    with pytest.raises(InvalidValue, match=told):
        open_for_serving(file, {})


def test_a_delay_is_refused_before_a_copy_is_made(tmp_path: Path) -> None:
    lines: list[str] = []
    file = made(tmp_path, DELAY, TEXT.replace('row_key = "id"  # of the hospital\n', ""))
    with pytest.raises(InvalidValue) as refused:
        open_for_serving(file, {}, lines.append)
    assert lines == []
    assert "[datasets.visits] row_key and max_rows_in_all" in str(refused.value)
    assert "Then run `tacit apply`" in str(refused.value)
    # the same file with a public most of rows is served, after its copies are made
    most = 'most_rows = { rows = 9, source = "the insurer" }\n'
    file = made(
        tmp_path / "most", DELAY, TEXT.replace('row_key = "id"  # of the hospital\n', most)
    )
    open_for_serving(file, {}, lines.append)[0].close()
    assert any("copy of visits" in line for line in lines)


def test_open_time_is_said_in_every_guarantee(tmp_path: Path) -> None:
    with served(made(tmp_path, OPEN)) as server:
        told = server.ask(server.token("ann"), COUNT.format(1), **RHO).json()
    assert "the time of answers is open" in " ".join(told["guarantee"].split())


def test_the_demo_can_be_served(tmp_path: Path) -> None:
    file = tmp_path / "tacit.toml"
    for said in (PROJECT, PROJECT.replace('kind = "open"', 'kind = "delay"')):
        file.write_text(said.replace("OWNER", '"olga"'))
        if said == PROJECT:
            check_time_rule(read_project(file))
        else:  # nothing is declared about the rows of a person in labs
            with pytest.raises(InvalidValue, match=r"datasets.labs\] the public most of rows"):
                check_time_rule(read_project(file))


def test_init_writes_a_delay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("clinic.duckdb") as owner:
        owner.execute(ROWS)
    said = CliRunner().invoke(main, ["init", "clinic.duckdb"])
    assert said.exit_code == 0, said.output
    text = Path("tacit.toml").read_text(encoding="utf-8")
    assert "[server.time]" in text
    assert 'kind = "delay"' in text
