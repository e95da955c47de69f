"""Owners sign with key files: as people type it, and over HTTP by their own sign-in."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner, Result
from joserfc.jwk import RSAKey
from serving import BUDGET, Server, make_project, serving
from test_oidc import AUDIENCE, Provider, provider

from tacit.cli.main import main
from tacit.ledger.owner_acts import ActSigner, fingerprint
from tacit.project.project import Serving
from tacit.server.token_policy import Role
from tacit.session.curator import signing_key
from tacit.session.project import apply_project, project_and_ledger
from tacit.store.key_files import SigningKey

__all__ = ["provider"]

HERE = "/v1/ledger/patients"
TWO = {'owners = ["olga"]': 'owners = ["olga", "omar"]'}
TWO_OWNERS = ("olga", "omar")
OWNER = Role.OWNER
LARGER = BUDGET.replace("3", "4")


def tacit(*words: object, **environment: str) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], env=environment)


def done(*words: object, **environment: str) -> str:
    """What a command prints, which must succeed."""
    result = tacit(*words, **environment)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*words: object, **environment: str) -> str:
    """What a command prints, which must be refused without a traceback."""
    result = tacit(*words, **environment)
    assert result.exit_code in {1, 2}, result.output
    assert isinstance(result.exception, SystemExit)
    return " ".join(result.output.split())


def told_fingerprint(file: Path) -> str:
    return done("key", "show", file).split()[-1]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of two owners, each with a key file: olga.key and omar.key."""
    folder = tmp_path_factory.mktemp("signed") / "clinic"
    file = make_project(folder, changed=TWO)
    for owner, other in (("olga", "omar"), ("omar", "olga")):
        key = folder / f"{owner}.key"
        done("key", "new", key)
        shown = done("key", "set", "patients", key, "--as", owner, "--project", file)
        place = shown.split()[1].rstrip(":")
        given = ("--fingerprint", told_fingerprint(key), "--project", file)
        approve = ("ledger", "approve", "patients", place, "--as", other, *given)
        done(*approve, "--key", folder / f"{other}.key") if owner == "omar" else done(*approve)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(copytree(made, tmp_path / "clinic"))


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "tacit.toml"


def raise_cap(file: Path, by: str, *more: object) -> Result:
    file.write_text(file.read_text().replace(BUDGET, LARGER))
    why = ("--reason", "a second study")
    return tacit("apply", "--yes", "--as", by, "--project", file, *why, *more)


def cap(file: Path) -> Any:
    with project_and_ledger(file) as (_, home):
        return home.ledger.status("patients").cap


def proposals(file: Path) -> list[int]:
    with project_and_ledger(file) as (_, home):
        return list(home.ledger.waiting_proposals("patients"))


# ------------------------------------------------------------------ one shell


def test_one_shell_user_with_as_approves_nothing_once_keys_are_set(
    folder: Path, file: Path
) -> None:
    before, olga, omar = cap(file), folder / "olga.key", folder / "omar.key"
    unsigned = raise_cap(file, "olga")
    assert unsigned.exit_code == 1
    assert "this one was not, so that nothing was recorded" in " ".join(unsigned.output.split())
    assert raise_cap(file, "olga", "--key", olga).exit_code == 0
    (place,) = proposals(file)
    approve = ("ledger", "approve", "patients", place, "--as", "omar", "--project", file)
    for more in ((), ("--key", olga)):
        assert "so that nothing was recorded" in refused(*approve, *more)
    assert cap(file) == before
    done(*approve, TACIT_KEY=str(omar))
    assert cap(file).amount > before.amount
    assert "consistent" in done("ledger", "verify", "--project", file)


def test_without_keys_the_same_shell_user_raises_the_cap(tmp_path: Path) -> None:
    """The finding, and the lie: two names are two owners to a ledger without keys."""
    file = make_project(tmp_path / "clinic", changed=TWO)
    before = cap(file)
    assert raise_cap(file, "olga").exit_code == 0
    (place,) = proposals(file)
    done("ledger", "approve", "patients", place, "--as", "omar", "--project", file)
    assert cap(file).amount > before.amount


def test_a_proposal_from_before_the_first_key_is_made_again(tmp_path: Path) -> None:
    file = make_project(tmp_path / "clinic", changed=TWO)
    more, key = ("--project", file), tmp_path / "olga.key"
    assert raise_cap(file, "olga").exit_code == 0
    (old,) = proposals(file)
    done("key", "new", key)
    place = done("key", "set", "patients", key, "--as", "olga", *more).split()[1].rstrip(":")
    given = ("--fingerprint", told_fingerprint(key))
    done("ledger", "approve", "patients", place, "--as", "omar", *given, *more)
    assert f"proposal {old} of olga can no longer be approved" in done("status", *more)
    assert raise_cap(file, "olga", "--key", key).exit_code == 0
    (new,) = proposals(file)
    assert new > old
    assert f"proposal {new} of olga waits for a second owner" in done("status", *more)


def test_every_command_of_an_owner_signs(folder: Path, file: Path) -> None:
    more = ("--as", "olga", "--project", file)
    done("freeze", "patients", *more)  # an emergency needs no key
    commands = (
        ("thaw", "patients"),
        ("team", "add", "patients", "lab", "ann"),
        ("team", "remove", "patients", "lab", "ann"),
        ("quota", "set", "patients", "ann", "--epsilon", "1"),
    )
    for command in commands:
        assert "so that nothing was recorded" in refused(*command, *more)
        done(*command, *more, "--key", folder / "olga.key")
    for decision in ("grant", "decline"):
        asked = done(
            "quota", "request", "patients", "--epsilon", "2", "--as", "ann", "--project", file
        )
        command = ("quota", decision, "patients", asked.split()[1])
        assert "so that nothing was recorded" in refused(*command, *more)
        if decision == "grant":
            done(*command, "--epsilon", "1.5", *more, "--key", folder / "olga.key")
        else:
            done(*command, *more, "--key", folder / "olga.key")
    done("ledger", "verify", "--project", file)


# ------------------------------------------------------------------ files


def test_a_key_file_is_for_its_owner_alone(folder: Path, file: Path) -> None:
    key = folder / "olga.key"
    assert key.stat().st_mode & 0o777 == 0o600
    thaw = ("thaw", "patients", "--as", "olga", "--project", file, "--key")
    for mode in (0o640, 0o604, 0o644):
        key.chmod(mode)
        assert "can be read by other users" in refused(*thaw, key)
        assert "can be read by other users" in refused("key", "show", key)
    assert "There is no key file" in refused(*thaw, folder / "none.key")
    assert not (folder / "none.key").exists()
    assert "cannot be read" in refused(*thaw, folder / ".tacit")
    assert "already exists" in refused("key", "new", key)
    assert "cannot be created" in refused("key", "new", folder / "no" / "such.key")
    (folder / "text.key").write_text("no base64!")
    (folder / "text.key").chmod(0o600)
    assert "base64" in refused(*thaw, folder / "text.key")


def test_the_private_key_is_never_printed_or_recorded(folder: Path, file: Path) -> None:
    secret = (folder / "olga.key").read_text().strip()
    shown = done("key", "show", folder / "olga.key")
    shown += done("key", "list", "patients", "--project", file)
    shown += done("status", "--project", file)
    assert secret not in shown
    assert secret.encode() not in (folder / ".tacit" / "ledger.db").read_bytes()
    public = SigningKey.in_file(folder / "olga.key").public.hex()
    assert fingerprint(public) in shown


def test_a_key_is_approved_by_a_fingerprint_that_its_owner_told(
    folder: Path, file: Path
) -> None:
    new = folder / "omar-2.key"
    done("key", "new", new)
    shown = done("key", "set", "patients", new, "--as", "omar", "--project", file)
    place = shown.split()[1].rstrip(":")
    approve = ("ledger", "approve", "patients", place, "--as", "olga", "--project", file)
    signed = (*approve, "--key", folder / "olga.key")
    assert "This proposal gives omar a key. Ask omar in person" in refused(*signed)
    wrong = told_fingerprint(folder / "omar.key")
    assert "is another one than you gave" in refused(*signed, "--fingerprint", wrong)
    done(*signed, "--fingerprint", told_fingerprint(new))
    listed = done("key", "list", "patients", "--project", file)
    assert f"omar: {told_fingerprint(new)}" in listed
    # the lost key signs nothing more
    quota = ("quota", "set", "patients", "ann", "--epsilon", "1", "--as", "omar")
    lost = refused(*quota, "--key", folder / "omar.key", "--project", file)
    assert "so that nothing was recorded" in lost
    done(*quota, "--key", new, "--project", file)


def test_a_single_owner_replaces_a_key_with_the_old_one(tmp_path: Path) -> None:
    file = make_project(tmp_path / "clinic")
    old, new = tmp_path / "old.key", tmp_path / "new.key"
    for key in (old, new):
        done("key", "new", key)
    set_key = ("key", "set", "patients", "--as", "olga", "--project", file)
    assert "olga signs acts about patients" in done(*set_key, old)
    assert "so that nothing was recorded" in refused(*set_key, new)
    done(*set_key, new, "--key", old)
    thaw = ("quota", "set", "patients", "ann", "--epsilon", "1", "--as", "olga")
    assert "and not with" in refused(*thaw, "--key", old, "--project", file)
    done(*thaw, "--key", new, "--project", file)
    assert "by keys of olga" in done("status", "--project", file)


def test_the_status_says_whether_acts_are_signed(file: Path, tmp_path: Path) -> None:
    assert "acts of owners are signed, by keys of olga, omar" in done(
        "status", "--project", file
    )
    bare = make_project(tmp_path / "bare", changed=TWO)
    assert "acts of owners are not signed" in done("status", "--project", bare)


# ------------------------------------------------------------------ sign-ins


@pytest.fixture
def key(provider: Provider) -> Any:
    made = RSAKey.generate_key(2048, {"kid": "of this test"})
    provider.keys[:] = [made]
    return made


@pytest.fixture
def served(file: Path, folder: Path) -> Path:
    """The project file, whose tables are declared where they were copied to."""
    signer = ActSigner(SigningKey.in_file(folder / "olga.key"))
    apply_project(file, by="olga", signer=signer)
    apply_project(file, by="oscar")
    return file


@pytest.fixture
def server(served: Path, folder: Path, provider: Provider, key: Any) -> Iterator[Server]:
    assert provider.keys == [key]
    settings = Serving(oidc=provider.issuer, requests_per_minute=10**6)
    with serving(served, serving=settings, installation=signing_key(folder)) as running:
        yield running


def trust(file: Path, folder: Path, provider: Provider) -> None:
    """Both owners decide to trust the sign-ins of the server."""
    issuer = provider.issuer
    oidc = (
        f'\n[server.oidc]\nissuer = "{issuer.issuer}"\naudience = "{AUDIENCE}"\n'
        f'keys = "{issuer.keys}"\n'
    )
    before = file.read_text()
    file.write_text(before + oidc)
    own = ("--project", file, "--as")
    shown = done("key", "trust", "patients", *own, "olga", "--key", folder / "olga.key")
    place = shown.split()[-1].rstrip(".")
    approve = ("ledger", "approve", "patients", place, *own, "omar")
    done(*approve, "--key", folder / "omar.key")
    file.write_text(before)


def test_an_owner_who_signed_in_acts_once_sign_ins_are_trusted(
    file: Path, folder: Path, server: Server, provider: Provider, key: Any
) -> None:
    ledger = server.curator.home.ledger
    olga, omar = (provider.token(key, sub=who, tacit_role="owner") for who in TWO_OWNERS)
    token = server.token("omar", role=OWNER)
    quota = {"holder": "ann", "epsilon": "1"}
    for given in (omar, token):
        assert server.call("POST", f"{HERE}/quotas", given, json=quota).status_code == 403
    trust(file, folder, provider)
    before = ledger.status("patients").cap
    signed = ("--key", folder / "olga.key")
    assert raise_cap(file, "olga", *signed).exit_code == 0
    (place,) = ledger.waiting_proposals("patients")
    approve = f"{HERE}/proposals/{place}/approve"
    assert server.call("POST", approve, token).status_code == 403  # our token is no sign-in
    assert server.call("POST", approve, olga).status_code == 403  # nor another's own
    assert server.call("POST", approve, omar).status_code == 200
    assert ledger.status("patients").cap.amount > before.amount
    shown = server.call("GET", f"{HERE}/keys", olga).json()
    assert (set(shown["keys"]), set(shown["sign_ins"].values())) == (
        set(TWO_OWNERS),
        {provider.issuer.issuer},
    )
    assert ledger.verify("patients").entries == shown_entries(server, olga)
    text = "".join(each.body for each in ledger.entries("patients"))
    assert provider.issuer.issuer in text
    assert omar not in text


def test_an_owner_sets_another_key_by_a_sign_in(
    file: Path, folder: Path, server: Server, provider: Provider, key: Any
) -> None:
    trust(file, folder, provider)
    omar = provider.token(key, sub="omar", tacit_role="owner")
    new = folder / "omar-2.key"
    done("key", "new", new)
    public = SigningKey.in_file(new).public.hex()
    sent = server.call("POST", f"{HERE}/keys", omar, json={"key": public})
    assert sent.status_code == 201
    listed = server.call("GET", f"{HERE}/proposals", omar)
    assert [each["owner"] for each in listed.json()["proposals"]] == ["omar"]
    assert told_fingerprint(new) not in listed.text
    olga = provider.token(key, sub="olga", tacit_role="owner")
    approve = f"{HERE}/proposals/{sent.json()['entry']}/approve"
    for more, status in (
        ({}, 403),
        ({"json": {"fingerprint": told_fingerprint(folder / "omar.key")}}, 403),
        ({"json": {"fingerprint": told_fingerprint(new)}}, 200),
    ):
        assert server.call("POST", approve, olga, **more).status_code == status
    assert server.curator.home.ledger.owner_keys("patients").key_of("omar") == public


def test_owners_end_their_trust_in_a_server(
    file: Path, folder: Path, server: Server, provider: Provider, key: Any
) -> None:
    own = ("--project", file, "--as", "olga", "--key", folder / "olga.key")
    assert "Trusted for patients: none" in refused("key", "distrust", "patients", *own)
    trust(file, folder, provider)
    (held,) = server.curator.home.ledger.owner_keys("patients").trusted
    assert fingerprint(held) in done("key", "list", "patients", "--project", file)
    wrong = refused("key", "distrust", "patients", "none", *own)
    assert f"Trusted for patients: {fingerprint(held)}" in wrong
    place = done("key", "distrust", "patients", *own).split()[-1].rstrip(".")
    omar = provider.token(key, sub="omar", tacit_role="owner")
    for status in (200, 403):  # it is approved, and then the same sign-in approves nothing
        sent = server.call("POST", f"{HERE}/proposals/{place}/approve", omar)
        assert sent.status_code == status
    quota = {"holder": "ann", "epsilon": "1"}
    assert server.call("POST", f"{HERE}/quotas", omar, json=quota).status_code == 403
    assert server.curator.home.ledger.owner_keys("patients").trusted == {}


def test_a_server_that_nobody_trusts_signs_for_nobody(
    served: Path, folder: Path, provider: Provider, key: Any
) -> None:
    trust(served, folder, provider)
    omar = provider.token(key, sub="omar", tacit_role="owner")
    quota = {"holder": "ann", "epsilon": "1"}
    settings = Serving(oidc=provider.issuer, requests_per_minute=10**6)
    other = replace(provider.issuer, issuer="https://id.evil.example")
    evil = Serving(oidc=other, requests_per_minute=10**6)
    forged = provider.token(key, sub="omar", tacit_role="owner", iss=other.issuer)
    installation, stranger = signing_key(folder), SigningKey(bytes([7]) * 32)
    for signing, serve, token, status in (
        (None, settings, omar, 403),
        (stranger, settings, omar, 403),
        (installation, evil, forged, 403),  # another provider, put into the settings
        (installation, settings, omar, 200),
    ):
        with serving(served, serving=serve, installation=signing) as server:
            told = server.call("POST", f"{HERE}/quotas", token, json=quota)
            assert told.status_code == status, told.text


def shown_entries(server: Server, token: str) -> int:
    return int(server.call("GET", f"{HERE}/verify", token).json()["entries"])
