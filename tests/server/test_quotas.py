"""Quotes and statuses respect the quotas of the analyst, at every entry point."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from serving import COUNT, Server, make_project, serving

from tacit.cli.main import main
from tacit.client import connect
from tacit.core.loss import Loss
from tacit.errors import BudgetExceeded
from tacit.session.project import apply_project, open_project, project_and_ledger

BUDGET = 'budget = { epsilon = 3, delta = "1e-6" }'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Bob has a quota of 1, and everybody else one of 0.3."""
    more = {BUDGET: f"{BUDGET}\ndefault_quota = {{ epsilon = 0.3 }}"}
    return make_project(tmp_path, changed=more)


@pytest.fixture
def server(file: Path) -> Iterator[Server]:
    with serving(file) as running:
        yield running


def fitting(file: Path, who: str) -> int:
    with open_project(file, principal=who, environment={}) as session:
        return session.sql(COUNT).quote(epsilon="0.1").standing.more


def test_a_default_quota_is_declared_in_the_file(file: Path) -> None:
    ann, bob = (fitting(file, who) for who in ("ann", "bob"))
    assert 3 <= ann < bob < 100
    larger = file.read_text().replace("default_quota = { epsilon = 0.3 }", "")
    file.write_text(larger)
    assert apply_project(file, by="olga") == ()  # it stays
    assert fitting(file, "ann") == ann


def test_it_is_set_by_a_command(file: Path) -> None:
    words = ["budget", "patients", "--epsilon", "3", "--delta", "1e-6"]
    words += ["--default-quota", "0.1", "--project", str(file)]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert 'default_quota = {epsilon = "0.1"}' in file.read_text()
    (change,) = apply_project(file, by="olga")
    assert "the quota of analysts without one of their own is" in str(change)
    assert fitting(file, "ann") == 1
    with open_project(file, principal="ann", environment={}) as session:
        assert session.status("patients").questions_like(
            session.sql(COUNT).quote(epsilon="0.1").quote.event
        )
        session.sql(COUNT).ask(epsilon="0.1")
        assert session.sql(COUNT).quote(epsilon="0.05").standing.more == 0
        with pytest.raises(BudgetExceeded):
            session.sql(f"{COUNT} WHERE id > 3").ask(epsilon="0.05")
    shown = CliRunner().invoke(
        main,
        ["ask", COUNT, "--epsilon", "0.05", "--quote", "--as", "ann", "--project", str(file)],
    )
    assert "about 0 such questions fit" in shown.output


def test_a_server_and_its_client_respect_it(server: Server) -> None:
    token = server.token("ann")
    body = {"sql": COUNT, "epsilon": "0.1"}
    quoted = server.call("POST", "/v1/quote", token, json=body).json()
    with connect(server.address, token=token) as session:
        question = session.sql(COUNT)
        assert question.quote(epsilon="0.1").standing.more == quoted["standing"]["more"]
        (left,) = session.status("patients").quotas
        assert left <= session.status("patients").left
        answer = question.ask(epsilon="0.1")
        assert answer.standing.more == quoted["standing"]["more"] - 1
        assert session.status("patients").quotas[0].amount < left.amount


def test_a_quota_below_what_was_spent_leaves_nothing(file: Path, server: Server) -> None:
    token = server.token("bob")
    assert server.ask(token, epsilon="0.5").status_code == 200
    with project_and_ledger(file, {}) as (_, home):
        home.ledger.set_quota("patients", "bob", Loss.zcdp("0.0001"), by="olga")
    told = server.call("GET", "/v1/status", token).json()["budgets"][0]
    assert told["own"]["left"]["amount"] == "0"
    assert told["quotas_left"][0]["amount"] == "0"
    quoted = server.call("POST", "/v1/quote", token, json={"sql": COUNT, "epsilon": "0.1"})
    assert quoted.json()["standing"]["more"] == 0
    with connect(server.address, token=token) as session:
        assert session.status("patients").quotas[0].amount == 0
