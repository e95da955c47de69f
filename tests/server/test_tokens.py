"""A token reaches what it was issued for, and every owner of it can revoke the token."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from serving import HOUR, STAFF, Server, make_project, serving

from tacit.cli.main import main
from tacit.core import Budget, Catalog, Loss, Population, PrivacyUnit
from tacit.ledger import Ledger, wall_clock
from tacit.server.routes.owners import TokenReach
from tacit.server.token_policy import Role, TokenScope
from tacit.session.project import apply_project, project_and_ledger
from tacit.store.tokens import AccessToken, Tokens, hash_of

SHIFTS = "SELECT COUNT(*) AS n FROM shifts"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@pytest.fixture
def server(file: Path) -> Iterator[Server]:
    with serving(file) as running:
        yield running


def issue_before_staff(file: Path) -> str:
    """A token without named datasets, from the time before there was a second population."""
    whole = file.read_text()
    file.write_text(whole.replace(STAFF, ""))
    words = ["token", "issue", "ann", "--role", "analyst", "--project", str(file)]
    made = CliRunner().invoke(main, words)
    assert made.exit_code == 0, made.output
    file.write_text(whole)
    apply_project(file, by="oscar")
    return made.output.strip()


def spent_on_staff(server: Server, token: str) -> tuple[int, bool]:
    """The status of a question about the staff, and whether anything was spent for it."""
    status = server.ask(token, SHIFTS).status_code
    return status, server.curator.home.ledger.status("staff").spent.amount > 0


def test_a_token_does_not_grow_into_the_data_of_another_owner(file: Path) -> None:
    token = issue_before_staff(file)
    with serving(file) as server:
        assert spent_on_staff(server, token) == (404, False)
        told = server.call("GET", "/v1/datasets", token).json()
        assert [each["name"] for each in told["datasets"]] == ["people", "visits"]
        assert server.ask(token).status_code == 200


def test_a_token_that_is_not_fixed_would_grow(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TokenScope, "fix", lambda scope, _: scope)
    token = issue_before_staff(file)
    with serving(file) as server:
        assert spent_on_staff(server, token) == (200, True)


def test_tokens_of_earlier_versions_are_fixed_when_a_server_starts(file: Path) -> None:
    whole = file.read_text()
    file.write_text(whole.replace(STAFF, ""))
    old = AccessToken("ann", "analyst", '{"datasets": null, "most": null}', wall_clock() + HOUR)
    named = replace(old, scope='{"datasets": ["visits", "gone"], "most": null}')
    foreign = replace(old, scope='{"datasets": ["gone"], "most": null}')
    with project_and_ledger(file, {}) as (_, home):
        token, other, third = (Tokens(home.store).issue(each) for each in (old, named, foreign))
    with serving(file) as server:
        assert server.ask(token).status_code == 200
    file.write_text(whole)
    with serving(file) as server:
        assert spent_on_staff(server, token) == (404, False)
        allowed = Tokens(server.curator.home.store).admit(other, wall_clock())
        assert TokenScope.of(allowed.scope) == TokenScope(("visits",), None, ("patients",))
        # nobody declares the third one's dataset: whoever does later is another owner
        gone = Tokens(server.curator.home.store).admit(third, wall_clock())
        assert TokenScope.of(gone.scope) == TokenScope((), None, ())


def test_an_old_token_of_another_project_is_fixed_to_its_population(file: Path) -> None:
    until = wall_clock() + HOUR
    old = AccessToken("ann", "analyst", '{"datasets": ["drugs"], "most": null}', until)
    with project_and_ledger(file, {}) as (_, home):
        others = Population("trials", PrivacyUnit("person"))
        home.ledger.open_budget(others, Budget(Loss.pure(1)), ("tom",), by="tom")
        home.ledger.declare("trials", ("drugs: epoch '1'",), by="tom")
        token = Tokens(home.store).issue(old)
    with serving(file) as server:
        allowed = Tokens(server.curator.home.store).admit(token, wall_clock())
        fixed = TokenScope.of(allowed.scope)
        assert fixed == TokenScope(("drugs",), None, ("trials",))
        # an owner of this project who declares a dataset of the same name is another one
        moved = renamed(server.curator.catalog, "shifts", "drugs")
        assert fixed.names_in(moved) == ()
        assert TokenScope.of(old.scope).names_in(moved) == ("drugs",)  # the lie


def renamed(catalog: Catalog, before: str, after: str) -> Catalog:
    tables = tuple(
        replace(each, name=after) if each.name == before else each for each in catalog.datasets
    )
    return Catalog(catalog.populations, tables, catalog.public)


def test_a_token_of_an_earlier_command_is_fixed_when_it_is_first_used(server: Server) -> None:
    store = server.curator.home.store
    text = TokenScope().text
    token = Tokens(store).issue(AccessToken("ann", "analyst", text, wall_clock() + HOUR))
    assert server.call("GET", "/v1/status", token).status_code == 200
    kept = TokenScope.of(Tokens(store).admit(token, wall_clock()).scope)
    assert kept.datasets == ("people", "visits", "shifts")
    assert kept.populations == ("patients", "patients", "staff")


def test_a_dataset_of_the_same_name_and_other_people_is_another_one(server: Server) -> None:
    catalog = server.curator.catalog
    moved = Catalog(
        catalog.populations,
        tuple(
            replace(each, population="patients") if each.name == "shifts" else each
            for each in catalog.datasets
        ),
        catalog.public,
    )
    fixed = TokenScope(("people", "shifts")).fix(catalog)
    assert fixed.names_in(catalog) == ("people", "shifts")
    assert fixed.names_in(moved) == ("people",)
    assert fixed.populations_in(moved) == {"patients", "staff"}
    assert fixed.covers("staff", catalog)
    assert not fixed.covers("staff", moved)  # no dataset of the staff is left to read
    # the lie: a scope of names alone reaches the other people's data
    assert TokenScope(("people", "shifts")).names_in(moved) == ("people", "shifts")


def test_any_owner_of_something_that_a_token_reaches_sees_and_revokes_it(
    server: Server,
) -> None:
    token = server.token("ann", scope=TokenScope(("people", "shifts")))
    olga, oscar = (server.token(who, Role.OWNER) for who in ("olga", "oscar"))
    for who, own in ((olga, "people"), (oscar, "shifts")):
        (seen,) = listed(server, who, token)
        assert (seen["principal"], seen["datasets"], seen["others"]) == ("ann", [own], True)
    stranger = server.token("ann", Role.OWNER)
    assert listed(server, stranger, token) == []
    path = f"/v1/tokens/{hash_of(token).hex()}"
    assert server.call("DELETE", path, stranger).status_code == 404
    assert server.call("GET", "/v1/status", token).status_code == 200
    assert server.call("DELETE", path, oscar).status_code == 204
    assert server.call("GET", "/v1/status", token).status_code == 401


def test_owners_of_all_its_datasets_alone_could_not(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def owns_all(reach: TokenReach, allowed: AccessToken) -> bool:
        return reach._own >= TokenScope.of(allowed.scope).populations_in(reach._curator.catalog)

    monkeypatch.setattr(TokenReach, "includes", owns_all)
    token = server.token("ann", scope=TokenScope(("people", "shifts")))
    for who in ("olga", "oscar"):
        owner = server.token(who, Role.OWNER)
        assert listed(server, owner, token) == []
        path = f"/v1/tokens/{hash_of(token).hex()}"
        assert server.call("DELETE", path, owner).status_code == 404


def test_an_owner_of_one_population_cannot_shut_out_those_of_another(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as `tacit token issue` makes them: fixed to all datasets that are declared
    olga, oscar = (server.token(who, Role.OWNER) for who in ("olga", "oscar"))
    op = server.token("op", Role.OPERATOR)
    for token in (olga, op):
        assert listed(server, oscar, token) == []
        path = f"/v1/tokens/{hash_of(token).hex()}"
        assert server.call("DELETE", path, oscar).status_code == 404
    assert server.call("GET", "/v1/status", olga).status_code == 200
    assert server.call("GET", "/metrics", op).status_code == 200
    again = server.token("olga", Role.OWNER)
    assert server.call("DELETE", f"/v1/tokens/{hash_of(again).hex()}", olga).status_code == 204
    # the lie: a token of an owner reaches all that it names
    monkeypatch.setattr(Ledger, "owners", lambda *_: frozenset({"olga", "oscar"}))
    path = f"/v1/tokens/{hash_of(olga).hex()}"
    assert server.call("DELETE", path, oscar).status_code == 204


def test_an_owner_of_one_population_cannot_watch_the_whole_server(server: Server) -> None:
    oscar, new = server.token("oscar", Role.OWNER), {"principal": "spy", "datasets": ["shifts"]}
    statuses = [
        server.call("POST", "/v1/tokens", oscar, json=new | {"role": role}).status_code
        for role in ("analyst", "auditor", "operator")
    ]
    assert statuses == [201, 201, 403]


def test_a_new_token_without_named_datasets_is_for_those_of_its_owner(server: Server) -> None:
    oscar = server.token("oscar", Role.OWNER)
    new = {"principal": "sam", "role": "analyst"}
    made = server.call("POST", "/v1/tokens", oscar, json=new).json()
    assert (made["datasets"], made["others"]) == (["shifts"], False)
    assert server.ask(made["token"], SHIFTS).status_code == 200
    assert server.ask(made["token"]).status_code == 404
    refused = [
        server.call("POST", "/v1/tokens", oscar, json=new | {"datasets": [name]})
        for name in ("people", "ghosts")
    ]
    assert {each.status_code for each in refused} == {403}
    assert len({each.text for each in refused}) == 1  # nobody learns whether a name is there
    nobody = server.token("ann", Role.OWNER)
    assert server.call("POST", "/v1/tokens", nobody, json=new).status_code == 403


def listed(server: Server, owner: str, token: str) -> list[dict[str, object]]:
    """The token in an owner's list, if it is there."""
    found = server.call("GET", "/v1/tokens", owner).json()["tokens"]
    return [each for each in found if each["id"] == hash_of(token).hex()]
