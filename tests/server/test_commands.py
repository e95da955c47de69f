"""`tacit serve` and `tacit token`: what is decided where the ledger is."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from serving import COUNT, OPEN_TIME, make_project, serving

from tacit.cli.main import main


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make_project(tmp_path / "clinic")


def run(file: Path, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, [*arguments, "--project", str(file)])
    return done.exit_code, done.output


def test_a_token_is_issued_listed_used_and_revoked(file: Path) -> None:
    _, token = run(
        file,
        "token",
        "issue",
        "ann",
        "--role",
        "analyst",
        "--dataset",
        "people",
        "--most",
        "0.2",
    )
    token = token.strip()
    _, listed = run(file, "token", "list")
    assert "analyst ann: people, at most epsilon 0.2 for a question, until " in listed
    assert token not in listed
    with serving(file) as server:
        assert server.ask(token).status_code == 200
        assert server.ask(token, epsilon="0.3").status_code == 403
        assert server.ask(token, "SELECT COUNT(*) AS n FROM visits").status_code == 404
        assert run(file, "token", "revoke", listed[:64])[1].startswith("Token revoked")
        assert server.ask(token).status_code == 401
    code, told = run(file, "token", "revoke", token)
    assert (code, "There is no such valid token, so nothing was revoked" in told) == (1, True)


def test_what_a_token_reaches_is_told_as_it_is(file: Path) -> None:
    def issue(who: str, role: str) -> str:
        code, told = run(file, "token", "issue", who, "--role", role)
        assert code == 0
        return told

    warned = "eve owns no population: the token reaches nothing until then."
    assert warned in issue("eve", "owner")
    for who, role in (("olga", "owner"), ("carl", "operator"), ("ann", "analyst")):
        assert "owns no population" not in issue(who, role)
    lines = run(file, "token", "list")[1].splitlines()
    reached = {line[66:].partition(", until")[0] for line in lines}
    assert reached == {
        "owner eve: no dataset",
        "owner olga: people, visits",
        "operator carl: no dataset",
        "analyst ann: people, visits, shifts",
    }


def test_a_team_shares_a_quota_and_an_analyst_asks_for_more(file: Path) -> None:
    olga, ann = ("--as", "olga"), ("--as", "ann")
    for words in (
        ("quota", "set", "patients", "@lab", "--epsilon", "0.11", *olga),
        ("team", "add", "patients", "lab", "ann", "bob", *olga),
    ):
        assert run(file, *words)[0] == 0
    code, told = run(file, "team", "add", "patients", "lab", "cy", "ann", *olga)
    assert (code, "ann is already in the team @lab" in told) == (1, True)
    _, told = run(file, "team", "list", "patients")
    assert told.startswith("@lab: ann, bob; epsilon 0 (rho 0) is spent, of ")  # and not cy
    with serving(file) as server:
        tokens = [server.token(who) for who in ("ann", "bob")]
        codes = [
            server.ask(token, f"{COUNT} WHERE id > {place}").status_code
            for place, token in enumerate(tokens)
        ]
        assert codes == [200, 402]
    wish = ("quota", "request", "patients", "--epsilon", "0.3", "--team", "lab")
    assert run(file, *wish, "--reason", "a second wave", *ann)[0] == 0
    _, told = run(file, "quota", "list", "patients")
    (line,) = [line for line in told.splitlines() if line.startswith("request")]
    assert line.endswith("for @lab (a second wave)")
    number = line.split()[1].rstrip(",")
    assert run(file, "quota", "grant", "patients", number, *ann)[0] == 1
    code, told = run(file, "quota", "grant", "patients", number, *olga)
    assert code == 0, (line, told)
    with serving(file) as server:
        asked = server.ask(server.token("bob"), f"{COUNT} WHERE id > 1")
        assert asked.status_code == 200
    assert run(file, *wish[:4], "2", *ann)[0] == 1  # no quota of her own limits ann
    with serving(file) as server:
        around = {"TACIT_TOKEN": server.token("bob"), "TACIT_SERVER": server.address}
        done = CliRunner().invoke(main, [*wish[:4], "0.4", "--team", "lab"], env=around)
        assert (done.exit_code, done.output.endswith("An owner of patients decides it.\n")) == (
            0,
            True,
        )
    assert "bob asks for epsilon 0.4" in run(file, "quota", "list", "patients")[1]
    assert run(file, "team", "remove", "patients", "@lab", "ann", *olga)[0] == 0
    assert run(file, "team", "list", "patients")[1].startswith("@lab: bob;")


def test_a_server_is_asked_from_the_command_line(file: Path) -> None:
    with serving(file) as server:
        around = {"TACIT_TOKEN": server.token("ann"), "TACIT_SERVER": server.address}

        def ask(*words: str, **other: str) -> tuple[int, str]:
            done = CliRunner().invoke(main, ["ask", COUNT, *words], env=around | other)
            return done.exit_code, done.output

        code, quoted = ask("--quote", "--epsilon", "0.1", "--assume-size", "50")
        assert (code, "Price: " in quoted) == (0, True)
        assert ask("--explain")[0] == 0
        answers = [json.loads(ask("--epsilon", "0.1", "--json")[1]) for _ in range(2)]
        assert answers[0]["columns"] == answers[1]["columns"]
        assert answers[0]["receipt"] == server.ask(server.token("bob")).json()["receipt"]
        code, told = ask("--epsilon", "9")
        assert (code, "does not fit into the budget" in told) == (1, True)
        assert ask("--explain", TACIT_TOKEN="nobody")[0] == 1  # noqa: S106
    code, told = ask("--explain", TACIT_TOKEN="")
    assert (code, "set TACIT_TOKEN" in told) == (1, True)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["@all", "--role", "auditor"], "must not begin with @"),
        (["ann", "--role", "analyst", "--dataset", "ghosts"], "There is no dataset 'ghosts'"),
        (["ann", "--role", "analyst", "--most", "0"], "must be above 0"),
        (["ann", "--role", "root"], "'root' is not one of"),
    ],
)
def test_a_token_that_means_nothing_is_not_issued(
    file: Path, wrong: list[str], told: str
) -> None:
    code, said = run(file, "token", "issue", *wrong)
    assert code != 0
    assert told in said
    assert run(file, "token", "list") == (0, "")


def test_a_project_that_was_not_applied_is_not_served_and_the_next_step_is_told(
    file: Path,
) -> None:
    file.write_text(file.read_text().replace("max_rows = 5", "max_rows = 50"))
    code, said = run(file, "serve", "--port", "0")
    assert code == 1
    assert "Run `tacit apply` to record" in said
    assert "+ visits: at most 2 groups of 50 rows" in said


def test_settings_that_make_no_sense_are_refused_at_their_line(file: Path) -> None:
    for said, told in (
        ("deadline = 0", "deadline must be at least 0.01 seconds"),
        ("deadline = 0.001", "deadline must be at least 0.01 seconds"),
        ("deadline = 61", "at most `seconds`"),
        ("processes = 0", "processes must be from 1 to 1,024"),
        ("megabits = 1", "'megabits' is not a known name in this part of the file"),
        (
            'oidc = { issuer = "x", audience = "y" }',
            "'keys' is missing in this part of the file",
        ),
    ):
        broken = file.with_name("broken.toml")
        broken.write_text(f"[server]\n{said}\n{file.read_text().replace(OPEN_TIME, '')}")
        code, output = run(broken, "serve")
        assert code == 1
        assert output.startswith("Error: broken.toml:")
        assert told in output
