"""The first setup over HTTP: who may, where to, what is kept secret, and what is recorded."""

import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from click.testing import CliRunner
from postgres_cluster import PostgresCluster
from serving import NOTHING, Server, make_project
from setting_up import (
    DECLARED,
    HOSTILE,
    SECRET,
    TABLES,
    WITH_HOSTILE,
    body,
    declare,
    new_clinic,
    port_of,
    setting_up,
    setup_token,
    silent_port,
)

from tacit.cli.main import main
from tacit.core import Column, Kind
from tacit.errors import InvalidValue
from tacit.project.document import ProjectText, TomlEntry
from tacit.project.engines import SECRETS, SecretPlace, dataset_lines, secret_place
from tacit.server.routes.setup import USUAL_DELTA, USUAL_ODDS
from tacit.server.token_policy import Role, TokenScope
from tacit.session.engines import secret_of
from tacit.session.project import apply_project, project_and_ledger

ROUTES = (
    ("POST", "databases", {}),
    ("GET", "draft", None),
    ("DELETE", "draft", None),
    *(("POST", route, dict(sent)) for route, sent in DECLARED[-1:]),
    ("GET", "changes", None),
    ("POST", "apply", None),
)


@pytest.fixture(scope="module")
def clinic(cluster: PostgresCluster) -> str:
    new_clinic(cluster, "setup_clinic", (*TABLES, *WITH_HOSTILE))
    return "setup_clinic"


@pytest.fixture
def place(tmp_path: Path, cluster: PostgresCluster) -> Iterator[tuple[Server, Path]]:
    with setting_up(tmp_path / "own", cluster) as found:
        yield found


def connect(server: Server, token: str, sent: dict[str, Any]) -> Any:
    return server.call("POST", "/v1/setup/databases", token, json=sent)


def test_only_the_right_to_set_up_opens_the_routes(place: tuple[Server, Path]) -> None:
    server, _ = place
    callers = [server.token(who, role) for role in Role for who in ("olga", "petra", "paul")]
    # a token in another role does not have the right, whatever its scope says
    scope = TokenScope(setup=True).fix(server.curator.catalog)
    callers += [server.token("olga", role, scope) for role in Role if role is not Role.OWNER]
    for token in callers:
        assert server.call("GET", "/v1/me", token).json()["may_set_up"] is False
        for method, route, sent in ROUTES:
            found = server.call(method, f"/v1/setup/{route}", token, json=sent)
            assert found.status_code == 403, (method, route)
    allowed = setup_token(server)
    assert server.call("GET", "/v1/me", allowed).json()["may_set_up"] is True
    assert server.call("GET", "/v1/setup/draft", allowed).status_code == 200


def test_no_token_of_http_has_the_right(place: tuple[Server, Path]) -> None:
    server, _ = place
    for more in ({"setup": True}, {}):
        sent = {"principal": "olga", "role": "owner"} | more
        made = server.call("POST", "/v1/tokens", setup_token(server, "olga"), json=sent)
        assert made.status_code == (422 if more else 201)
    found = server.call("GET", "/v1/me", made.json()["token"]).json()
    assert found["may_set_up"] is False


def test_a_token_with_the_right_reaches_only_what_its_owner_owns(
    place: tuple[Server, Path],
) -> None:
    server, _ = place
    assert server.call("GET", "/v1/me", setup_token(server)).json()["datasets"] == []
    found = server.call("GET", "/v1/me", setup_token(server, "oscar")).json()["datasets"]
    assert found == ["shifts"]


def test_without_the_section_the_routes_say_what_to_do(place: tuple[Server, Path]) -> None:
    server, _ = place
    server.app.state.setup = None
    found = server.call("GET", "/v1/setup/draft", setup_token(server))
    assert found.status_code == 404
    assert "[server.setup]" in found.json()["error"]["next"]


def test_only_the_allowed_address_is_ever_connected_to(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, _ = place
    token, allowed = setup_token(server), body(cluster, clinic)
    elsewhere = [{"port": port_of(server)}, {"port": 22}]
    hosts = (
        *("localhost", "2130706433", "0x7f000001", "127.1", "::1", "[::1]", "::ffff:127.0.0.1"),
        *(
            ".".join("0000"),
            "127.0.0.1.",
            "127.0.0.1 ",
            "169.254.169.254",
            "/var/run",
            "@127.0.0.1",
        ),
        *(
            "127.0.0.1,evil",
            "host=/var/run",
            "127.0.0.1?host=/tmp",
            "\u217cocalhost",
            "127.0.0.1#",
        ),
    )
    elsewhere += [{"host": host} for host in hosts]
    for more in elsewhere:
        found = connect(server, token, allowed | more)
        assert found.status_code == 403, more
        assert SECRET not in found.text
    assert connect(server, token, allowed | {"address": "sc://x"}).status_code == 422
    assert connect(server, token, allowed).status_code == 201


def test_names_are_names_and_never_options(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, _ = place
    token, allowed = setup_token(server), body(cluster, clinic)
    for more in (
        {"database": f"{clinic}?host=/var/run"},
        {"database": f"host=127.0.0.1 port={port_of(server)} dbname={clinic}"},
        {"database": f"postgresql://postgres@127.0.0.1/{clinic}"},
        {"database": "../postgres"},
        {"role": "postgres@evil:1/x?"},
        {"role": "postgres:other"},
        {"role": "a\0b"},
        {"database": ""},
        {"password": ""},
        {"password": "wrong"},
    ):
        found = connect(server, token, allowed | more)
        assert found.status_code == 422, more
        assert SECRET not in found.text
        assert "FATAL" not in found.text


def test_a_dead_or_silent_port_is_said_within_two_seconds(
    tmp_path: Path, cluster: PostgresCluster, clinic: str
) -> None:
    with (
        silent_port() as silent,
        setting_up(tmp_path, cluster, (("127.0.0.1", silent), ("127.0.0.1", 9))) as (server, _),
    ):
        token = setup_token(server)
        for port in (silent, 9):
            began = time.monotonic()
            found = connect(server, token, body(cluster, clinic, port=port))
            assert time.monotonic() - began < 6  # two, and room for a busy machine
            assert found.status_code == 422
            assert "No database answers" in found.json()["error"]["message"]


def test_hostile_names_stay_names(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, file = place
    token = setup_token(server)
    tables = connect(server, token, body(cluster, clinic)).json()["tables"]
    found = {each["name"]: each for each in tables}
    assert {"patients", "stays", "labs", "seen"} <= set(found)
    assert found["labs"]["left_out"] == [{"name": "raw", "type": "json"}]
    assert "is a view" in found["seen"]["why_left_out"]
    hostile = next(name for name in found if name.startswith("x"))
    sent = {"name": hostile, "unit": "person", "max_groups": 1, "max_rows": 1}
    server.call("POST", "/v1/setup/tables", token, json=sent)
    server.call("POST", "/v1/setup/budget", token, json={"epsilon": 1})
    text = server.call("GET", "/v1/setup/draft?format=toml", token).text
    assert set(tomlkit.parse(text).unwrap()) <= {"engines", "populations", "datasets"}
    applied = server.call("POST", "/v1/setup/apply", token)
    now = tomlkit.parse(file.read_text()).unwrap()
    assert "setup" not in now.get("server", {})
    if found[hostile]["why_left_out"] is None:
        assert applied.status_code == 200, applied.text
        assert HOSTILE in now["datasets"]


def test_no_name_begins_another_section_of_a_drafted_file() -> None:
    columns = (Column(HOSTILE, Kind.TEXT), Column("day\n[server]", Kind.DATE))
    lines = dataset_lines("live", "sick", ((HOSTILE,), columns, ((HOSTILE, "json\n[x]"),)))
    found = tomlkit.parse("\n".join(lines)).unwrap()
    assert set(found) == {"datasets"}
    assert set(found["datasets"]) == {HOSTILE}
    assert set(found["datasets"][HOSTILE]["columns"]) == {HOSTILE, "day\n[server]"}


def test_the_secret_is_in_one_private_file_and_nowhere_else(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, file = place
    token = setup_token(server)
    texts = [connect(server, token, body(cluster, clinic)).text]
    assert not (file.parent / SECRETS).exists()
    declare(server, token)
    for method, route in (
        ("GET", "draft"),
        ("GET", "draft?format=toml"),
        ("GET", "changes"),
        ("POST", "apply"),
    ):
        found = server.call(method, f"/v1/setup/{route}", token)
        assert found.status_code == 200, found.text
        texts.append(found.text)
    texts += [*server.log, file.read_text()]
    forms = (SECRET, "hunter2", SECRET.encode().hex())
    assert not [form for form in forms for text in texts if form in text]
    holding = [
        each
        for each in file.parent.rglob("*")
        if each.is_file() and b"hunter2" in each.read_bytes()
    ]
    assert [each.parent for each in holding] == [file.parent / SECRETS]
    assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(holding[0].parent.stat().st_mode) == 0o700


def test_the_ledger_has_what_the_command_line_records(
    tmp_path: Path, cluster: PostgresCluster, clinic: str
) -> None:
    with setting_up(tmp_path / "http", cluster) as (server, file):
        token = setup_token(server)
        before = file.read_text()
        connect(server, token, body(cluster, clinic))
        declare(server, token)
        text = server.call("GET", "/v1/setup/draft?format=toml", token).text
        assert server.call("POST", "/v1/setup/apply", token).status_code == 200
        assert file.read_text() == f"{before}\n{text}"
    other = by_commands(tmp_path / "cli", cluster, clinic)
    assert acts(file) == acts(other)
    assert acts(file)  # and they are not both empty


def by_commands(folder: Path, cluster: PostgresCluster, clinic: str) -> Path:
    """The same population, declared by `tacit init`, `protect`, `domain`, `budget`, `apply`."""
    file = make_project(folder)
    drawn = folder / "drawn.toml"
    address = f"postgresql://tacit_setup@127.0.0.1:{cluster.port}/{clinic}"
    environment = {"CLINIC": SECRET, **os.environ}

    def run(*words: str) -> None:
        result = CliRunner(env=environment).invoke(main, [*words, "--project", str(drawn)])
        assert result.exit_code == 0, (words, result.output)

    run("init", address, "--population", "sick", "--password", "env:CLINIC", "--as", "petra")
    source = ProjectText.at(drawn)
    for name in source.root().value["datasets"]:
        if name not in {"patients", "stays", "labs"}:
            source = source.without(("datasets", name))
    source.save(drawn)
    run("protect", "patients", "--unit", "id", "--max-groups", "1", "--max-rows", "1",
        "--in-place")  # fmt: skip
    run("protect", "stays", "--link", "patient=patients.id", "--max-groups", "2",
        "--max-rows", "5", "--most-rows", "30", "--most-rows-source", "a visit a day",
        "--in-place")  # fmt: skip
    run("protect", "labs", "--link", "visit=stays.id", "--max-groups", "1", "--max-rows", "9",
        "--in-place")  # fmt: skip
    run("domain", "patients.born", "1900..2026", "--source", "public")
    run("domain", "patients.city", "Bern,Ulm", "--source", "policy")
    run("budget", "sick", "--epsilon", "3")
    made = drawn.read_text().partition("[engines.warehouse]")[2]
    added = "\n[engines.clinic2]" + re.sub(
        r"\[anchors\].*?(?=\[datasets)", "", made, flags=re.DOTALL
    )
    file.write_text(file.read_text() + added.replace('"warehouse"', '"clinic2"'))
    apply_project(file, by="petra", environment=environment)
    return file


def acts(file: Path) -> list[str]:
    """What the ledger has about the population, without times and hashes."""
    with project_and_ledger(file, {"CLINIC": SECRET}) as (_, home):
        entries = home.ledger.entries("sick", 0)
    return [re.sub(r"\b\d{13}\b", "TIME", entry.body) for entry in entries]


def test_other_sections_stay_and_a_changed_file_is_refused(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, file = place
    token = setup_token(server)
    for name in ("patients", "staff", "warehouse", "a b", "../x"):
        taken = connect(server, token, body(cluster, clinic, population=name))
        assert taken.status_code == 422
    connect(server, token, body(cluster, clinic))
    declare(server, token)
    before = file.read_text()
    file.write_text(before + "\n# another owner was here\n")
    refused = server.call("POST", "/v1/setup/apply", token)
    assert refused.status_code == 422, refused.text
    assert file.read_text() == before + "\n# another owner was here\n"
    assert not (file.parent / SECRETS).exists()


def test_what_is_missing_is_said_and_nothing_is_written(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, file = place
    token, before = setup_token(server), file.read_text()
    assert server.call("POST", "/v1/setup/apply", token).status_code == 404
    missing = connect(server, token, body(cluster, clinic)).json()["missing"]
    assert [each["step"] for each in missing] == ["people", "budget"]
    assert server.call("POST", "/v1/setup/apply", token).status_code == 422
    declare(server, token)
    lost = server.call(
        "POST", "/v1/setup/tables", token, json={"name": "patients", "protect": False}
    ).json()
    assert [each["step"] for each in lost["missing"]] == ["people"]  # stays links to it
    assert server.call("POST", "/v1/setup/apply", token).status_code == 422
    assert file.read_text() == before


def test_a_budget_is_chosen_by_its_odds(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, _ = place
    token = setup_token(server)
    connect(server, token, body(cluster, clinic))
    odds = server.call("POST", "/v1/setup/budget", token, json={"of_100": 66}).json()["odds"]
    assert odds["epsilon"] == "0.5"  # 63 of 100; with epsilon 1 it would be 74
    assert odds["of_100"] == 63
    assert "62.3 of 100 tries" in odds["in_words"]


def test_the_new_population_is_asked_as_soon_as_it_is_applied(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, _ = place
    token = setup_token(server)
    connect(server, token, body(cluster, clinic))
    declare(server, token)
    assert server.call("POST", "/v1/setup/apply", token).status_code == 200
    last = time.monotonic() + 120
    while "patients" not in server.call("GET", "/v1/me", token).json()["datasets"]:
        assert time.monotonic() < last
        time.sleep(0.2)
    sent = {"principal": "nina", "role": "analyst", "datasets": ["patients", "stays", "labs"]}
    analyst = server.call("POST", "/v1/tokens", token, json=sent).json()["token"]
    sql = "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"
    answer = server.ask(analyst, sql, epsilon="1")
    assert answer.status_code == 200, answer.text


def test_a_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    place = secret_place(TomlEntry("file:clinic-1", ("password",)))
    assert place == SecretPlace("file", ("clinic-1",))
    folder = tmp_path / SECRETS
    folder.mkdir(parents=True)
    (folder / "clinic-1").write_text("a b\n")
    (folder / "clinic-1").chmod(0o644)
    with pytest.raises(InvalidValue, match="chmod 600"):
        secret_of(place, "live", NOTHING, tmp_path)
    (folder / "clinic-1").chmod(0o600)
    assert secret_of(place, "live", NOTHING, tmp_path) == "a b"
    shutil.move(folder / "clinic-1", tmp_path / "elsewhere")
    (folder / "clinic-1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidValue, match="cannot be read"):
        secret_of(place, "live", NOTHING, tmp_path)


@pytest.mark.parametrize("name", ["../key", "a/b", "", ".hidden", "a\0"])
def test_a_secret_is_named_without_a_path(name: str) -> None:
    with pytest.raises(Exception, match="Name the place"):
        secret_place(TomlEntry(f"file:{name}", ("password",)))


def test_a_draft_has_choices_of_budgets_and_their_odds(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, _ = place
    token = setup_token(server)
    connect(server, token, body(cluster, clinic))
    before = server.call("GET", "/v1/setup/draft", token).json()
    assert before["draft"]["odds"] is None
    choices = {each["epsilon"]: each["of_100"] for each in before["choices"]}
    assert len(choices) == len(USUAL_ODDS)
    for epsilon in ("0.5", "2", "8"):  # the stored odds are those that are computed
        sent = {"epsilon": epsilon, "delta": USUAL_DELTA}
        odds = server.call("POST", "/v1/setup/budget", token, json=sent, timeout=300).json()
        assert odds["odds"]["of_100"] == choices[epsilon]
    assert server.call("GET", "/v1/setup/draft", token).json()["draft"]["odds"] == odds["odds"]


def test_a_draft_says_what_each_column_takes(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, _ = place
    token = setup_token(server)

    def takes(draft: dict[str, Any]) -> dict[str, Any]:
        [found] = [each for each in draft["tables"] if each["name"] == "patients"]
        return {each["name"]: each["takes"] for each in found["columns"]}

    new = connect(server, token, body(cluster, clinic)).json()
    assert set(takes(new).values()) == {None}  # no table is protected
    declare(server, token)
    draft = server.call("GET", "/v1/setup/draft", token).json()["draft"]
    assert takes(draft) == {"id": None, "name": "keys", "born": "bounds", "city": "keys"}
    sent = {"table": "patients", "column": "born", "bounds": ["1900", "2026"]}
    refused = server.call("POST", "/v1/setup/columns", token, json=sent)
    assert refused.status_code == 422
    assert "patients.born" in refused.json()["error"]["message"]


def test_what_was_applied_is_kept_for_its_owner(
    place: tuple[Server, Path], cluster: PostgresCluster, clinic: str
) -> None:
    server, _ = place
    token = setup_token(server)
    connect(server, token, body(cluster, clinic))
    declare(server, token)
    recorded = server.call("POST", "/v1/setup/apply", token).json()
    found = server.call("GET", "/v1/setup/draft", token).json()
    assert found["draft"] is None
    assert found["applied"] == recorded
    assert recorded["tables"] == ["patients", "stays", "labs"]
    other = server.call("GET", "/v1/setup/draft", setup_token(server, "paul")).json()
    assert other["applied"] is None
