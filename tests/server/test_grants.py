"""Claims and groups of an identity provider give a role, datasets and a most, and no more."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from serving import Server, make_project, serving

from tacit.errors import InvalidValue, NotPermitted
from tacit.project.document import Fault, TomlEntry
from tacit.project.grants import Grant
from tacit.project.populations import Allowance
from tacit.project.project import Issuer, Serving, serving_of
from tacit.server.grants import SignedIn, read_claims
from tacit.server.identity import OidcIdentity
from tacit.server.token_policy import Role, TokenScope
from tacit.session.project import apply_project

SAID = {"issuer": "https://id.example", "audience": "tacit", "keys": "https://id.example/keys"}
BY_CLAIMS = Issuer(*SAID.values())
ONE, HALF = (Allowance(epsilon=Fraction(each)) for each in ("1", "1/2"))
GRANTS = (
    Grant("owners", "owner"),
    Grant("oncology", "analyst", ("people", "visits"), ONE),
    Grant("trainees", "analyst", ("people",), HALF),
    Grant("ward", "analyst", ("shifts",)),
    Grant("audit", "auditor", ("people", "visits")),
    Grant("watch", "operator"),
)
BY_GROUPS = Issuer(*SAID.values(), grants=GRANTS)
SHIFTS = "SELECT COUNT(*) AS n FROM shifts"


def test_groups_decide_role_datasets_and_most() -> None:
    def found(*groups: str) -> tuple[Role, TokenScope]:
        who = read_claims({"sub": "ann", "groups": list(groups)}, BY_GROUPS)
        assert who.principal == "ann"
        return who.role, who.scope

    assert found("oncology") == (Role.ANALYST, TokenScope(("people", "visits"), ONE))
    assert found("ward", "choir") == (Role.ANALYST, TokenScope(("shifts",)))
    # datasets are united, the least most holds, and the first role of the file alone counts
    both = TokenScope(("people", "visits"), HALF)
    assert found("trainees", "oncology") == (Role.ANALYST, both)
    assert found("audit", "ward") == (Role.ANALYST, TokenScope(("shifts",)))
    assert found("ward", "owners") == (Role.OWNER, TokenScope())
    assert found("watch") == (Role.OPERATOR, TokenScope(()))


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"groups": []},
        {"groups": ["choir"]},
        {"groups": {"oncology": True}},
        {"groups": ["oncology", 7]},
        {"groups": None},
        {"tacit_role": "analyst", "tacit_datasets": ["people"]},
        {"groups": "onc"},
    ],
)
def test_whoever_is_in_no_group_of_the_file_has_no_access(claims: dict[str, Any]) -> None:
    with pytest.raises((LookupError, TypeError, ValueError)):
        read_claims({"sub": "ann"} | claims, BY_GROUPS)
    assert read_claims({"sub": "ann", "groups": "oncology"}, BY_GROUPS).role is Role.ANALYST


def test_groups_may_be_inside_another_claim() -> None:
    inner = Issuer(*SAID.values(), groups=("realm_access", "roles"), grants=GRANTS)
    claims = {"sub": "ann", "realm_access": {"roles": ["ward"]}, "groups": ["owners"]}
    assert read_claims(claims, inner).scope == TokenScope(("shifts",))
    with pytest.raises((LookupError, TypeError)):
        read_claims(claims | {"realm_access": ["ward"]}, inner)


def test_claims_decide_where_there_are_no_grants() -> None:
    claims: dict[str, Any] = {"sub": "ann", "tacit_role": "analyst"}
    assert read_claims(claims, BY_CLAIMS).scope == TokenScope(())  # and not all datasets
    claims |= {"tacit_datasets": ["people"], "tacit_most": "0.5", "groups": ["owners"]}
    assert read_claims(claims, BY_CLAIMS).scope == TokenScope(("people",), HALF)
    assert read_claims(claims, BY_CLAIMS).role is Role.ANALYST
    for role, scope in (("owner", TokenScope()), ("operator", TokenScope(()))):
        assert read_claims(claims | {"tacit_role": role}, BY_CLAIMS).scope == scope


def test_a_name_that_people_can_choose_is_not_believed() -> None:
    by_email = Issuer(*SAID.values(), principal="email", grants=GRANTS)
    claims = {"sub": "7", "email": "olga@clinic.example", "groups": ["owners"]}
    for unverified in ({}, {"email_verified": False}, {"email_verified": "true"}):
        with pytest.raises(ValueError, match=r"^$"):
            read_claims(claims | unverified, by_email)
    found = read_claims(claims | {"email_verified": True}, by_email)
    assert found.principal == "olga@clinic.example"
    # another claim needs no such proof: the operator knows what it says
    assert read_claims(claims, Issuer(*SAID.values(), grants=GRANTS)).principal == "7"


def said(**grants: Any) -> tuple[Grant, ...]:
    oidc = serving_of(TomlEntry({"oidc": SAID | {"grants": grants}}, ("server",))).oidc
    assert oidc is not None
    return oidc.grants


def test_grants_are_read_from_the_project_file() -> None:
    found = said(
        oncology={"role": "analyst", "datasets": ["people"], "most": {"epsilon": "0.5"}},
        owners={"role": "owner"},
    )
    assert found == (Grant("oncology", "analyst", ("people",), HALF), Grant("owners", "owner"))
    for wrong, why in (
        ({"role": "analyst"}, "No group reaches all of them"),
        ({"role": "auditor"}, "No group reaches all of them"),
        ({"role": "owner", "datasets": ["people"]}, "Leave out the datasets"),
        ({"role": "root"}, "must be one of"),
        ({"role": "analyst", "datasets": ["people"], "most": {"epsilon": 0}}, "above 0"),
        ({"role": "auditor", "datasets": ["people"], "most": {"rho": 1}}, "Only analysts"),
    ):
        with pytest.raises(Fault, match=why):
            said(group=wrong)
    analyst = {"role": "analyst", "datasets": ["people"]}
    with pytest.raises(Fault, match="in epsilon, or of all in rho"):
        said(a=analyst | {"most": {"rho": "0.1"}}, b=analyst | {"most": {"epsilon": 1}})
    with pytest.raises(Fault, match="at least one group"):
        said()


def test_groups_and_claims_do_not_mix() -> None:
    """A setting without effect would leave an operator with rights that nobody has."""
    grants = {"ward": {"role": "analyst", "datasets": ["people"]}}

    def read(**more: object) -> object:
        return serving_of(TomlEntry({"oidc": {**SAID, **more}}, ("server",)))

    with pytest.raises(Fault, match=r"add a section \[server.oidc.grants.NAME\]"):
        read(groups="groups")
    for name in ("role", "datasets", "most"):
        with pytest.raises(Fault, match=f"Leave out {name}: where there are grants"):
            read(groups="groups", grants=grants, **{name: f"tacit_{name}"})
        read(**{name: f"tacit_{name}"})  # without grants, the claim is used
    read(groups="groups", grants=grants)


def test_a_grant_of_an_unknown_dataset_is_refused(tmp_path: Path) -> None:
    file = make_project(tmp_path)
    oidc = "".join(f'{name} = "{value}"\n' for name, value in SAID.items())
    grant = '[server.oidc.grants.ward]\nrole = "analyst"\ndatasets = ["ghosts"]\n'
    file.write_text(f"{file.read_text()}\n[server.oidc]\n{oidc}{grant}")
    with pytest.raises(InvalidValue, match=r"tacit.toml:\d+: There is no dataset 'ghosts'"):
        apply_project(file, by="olga")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server whose callers bring claims that need no signature (`test_oidc` has those)."""

    def who(_: OidcIdentity, token: str, **__: object) -> SignedIn:
        try:
            return read_claims(json.loads(urlsafe_b64decode(token)), BY_GROUPS)
        except (LookupError, TypeError, ValueError):
            raise NotPermitted("This token is not valid.") from None

    monkeypatch.setattr(OidcIdentity, "who", who)
    settings = Serving(requests_per_minute=10**6, oidc=BY_GROUPS)
    with serving(make_project(tmp_path), serving=settings) as running:
        yield running


def person(name: str, *groups: str) -> str:
    claims = {"sub": name, "groups": groups}
    return urlsafe_b64encode(json.dumps(claims).encode()).decode()


def test_people_reach_what_their_groups_are_granted(server: Server) -> None:
    trainee, nurse = person("ann", "trainees"), person("sam", "ward")
    assert server.ask(trainee).status_code == 200
    assert server.ask(trainee, epsilon="0.51").status_code == 403
    assert server.ask(trainee, SHIFTS).status_code == 404
    assert server.ask(nurse, SHIFTS).status_code == 200
    assert server.ask(nurse).status_code == 404
    assert server.call("GET", "/v1/ledger/patients", person("abe", "audit")).status_code == 200
    assert server.call("GET", "/v1/ledger/staff", person("abe", "audit")).status_code == 404
    # a group of owners does not make anybody an owner: the ledger does
    for name, status in (("olga", 200), ("ann", 404)):
        told = server.call("GET", "/v1/ledger/patients", person(name, "owners"))
        assert told.status_code == status
    assert server.call("GET", "/v1/status", person("ann", "choir")).status_code == 401
    for name, status in (("olga", 200), ("ann", 404)):
        stop = server.call("POST", "/v1/ledger/patients/freeze", person(name, "owners"))
        assert stop.status_code == status
    ledger = server.curator.home.ledger
    last = ledger.entries("patients", ledger.chain_ends()["patients"] - 1)[0]
    assert '"by":"olga"' in last.body
    assert '"kind":"frozen"' in last.body


def test_a_sign_in_that_reaches_all_datasets_is_found_out(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server.ask(person("ann", "trainees"), SHIFTS).status_code == 404
    monkeypatch.setattr("tacit.server.grants._unite", lambda _: TokenScope())
    assert server.ask(person("ann", "trainees"), SHIFTS).status_code == 200


def test_a_most_that_a_budget_cannot_count_stops_the_server(tmp_path: Path) -> None:
    rho = Grant("ward", "analyst", ("shifts",), Allowance(rho=Fraction(1, 10)))
    settings = Serving(oidc=Issuer(*SAID.values(), grants=(rho,)))
    file = make_project(tmp_path)
    with (
        pytest.raises(InvalidValue, match="'staff' is counted in epsilon"),
        serving(file, serving=settings),
    ):
        pass
