"""Limits that owners measure over HTTP: their price, who may, and what is written down."""

import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from serving import ROWS, Server
from setting_up import measuring, setup_token

from tacit.errors import StoreFailed
from tacit.ledger import ActSigner, KeySet
from tacit.project import Allowance
from tacit.project.document import ProjectText
from tacit.server.token_policy import Role, TokenScope
from tacit.session import measured_limits
from tacit.session.project import unrecorded_changes
from tacit.store import SigningKey

LIMITS = "/v1/setup/limits"
VISITS = {"dataset": "visits"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    with measuring(tmp_path / "clinic") as found:
        yield found


def test_what_is_free_is_the_same_whoever_is_in_the_data(tmp_path: Path) -> None:
    """One person, and everybody, moves no fact and no price."""
    more = "INSERT INTO visits SELECT 7, DATE '2026-02-01', 9 FROM range(70000);"
    nobody = "DELETE FROM visits; DELETE FROM people;"
    found = []
    for number, change in enumerate(("", more, nobody)):
        with measuring(tmp_path / str(number), f"{ROWS};{change}") as (server, _):
            token = setup_token(server, "olga")
            free = known(server, token)
            answer = server.call("POST", LIMITS, token, json=VISITS)
            paid = known(server, token)
            limits = [(each["limit"], each["noise"]) for each in answer.json()["limits"][:3]]
            found.append((free, sorted(answer.json()), limits, paid["standing"]))
    assert found[0] == found[1] == found[2]


def known(server: Server, token: str) -> Any:
    answer = server.call("GET", LIMITS, token, params=VISITS)
    assert answer.status_code == 200, answer.text
    return answer.json()


def spent(server: Server) -> Fraction:
    return server.curator.home.ledger.status("patients").spent.amount


def test_a_limit_is_measured_and_used(place: tuple[Server, Path]) -> None:
    server, file = place
    token = setup_token(server, "olga")
    first = known(server, token)
    assert (first["max_rows"], first["profile"], first["estimate"]) == (5, None, None)
    assert "epsilon" in first["price"]
    assert spent(server) == 0

    answer = server.call("POST", LIMITS, token, json=VISITS)
    assert answer.status_code == 200, answer.text
    estimate, paid = answer.json(), spent(server)
    cap = server.curator.home.ledger.status("patients").cap.amount
    assert cap / 40 <= paid <= cap / 40 * Fraction("1.000001")
    # each of the 500 people has four rows
    assert estimate["suggested"] in {"4", "5", "6"}
    low, high = next(each["people"] for each in estimate["limits"] if each["limit"] == "3")
    assert low > 300
    assert high < 700
    assert known(server, token)["estimate"] == estimate
    assert server.call("POST", LIMITS, token, json=VISITS).json() == estimate
    assert spent(server) == paid

    sent = {**VISITS, "limit": 4}
    answer = server.call("POST", f"{LIMITS}/use", token, json=sent)
    assert answer.status_code == 200, answer.text
    profile = answer.json()["profile"]
    assert profile["rows"] == 4
    assert 0 <= profile["people"] < 200
    assert spent(server) == 2 * paid
    section = ProjectText.at(file).root().value["datasets"]["visits"]
    assert (section["max_rows"], section["max_length"]) == (4, 4)
    assert section["profile"] == profile
    assert unrecorded_changes(file) == ()
    last = time.monotonic() + 60
    while (now := known(server, token))["max_rows"] != 4:
        assert time.monotonic() < last
        time.sleep(0.1)
    assert now["profile"] == profile

    again = server.call("POST", f"{LIMITS}/use", token, json=sent)
    assert again.json()["profile"] == profile
    assert spent(server) == 2 * paid


def refused(server: Server, token: str, status: int, words: str, **sent: Any) -> None:
    """Both questions must be refused in these words, and nothing is charged."""
    before = spent(server)
    for route, more in ((LIMITS, {}), (f"{LIMITS}/use", {"limit": 4})):
        answer = server.call("POST", route, token, json={**VISITS, **more, **sent})
        assert (answer.status_code, words in answer.text) == (status, True), answer.text
    assert spent(server) == before


def test_only_owners_who_may_set_up_measure(place: tuple[Server, Path]) -> None:
    server, _ = place
    refused(server, server.token("ann"), 403, "owner")
    refused(server, server.token("olga", Role.OWNER), 403, "does not permit to set up")
    refused(server, setup_token(server, "oscar"), 404, "There is no dataset 'visits'")
    refused(server, setup_token(server, "olga"), 404, "no dataset", dataset="nothing")
    server.app.state.setup = None
    refused(server, setup_token(server, "olga"), 404, "no_setup")


@pytest.mark.parametrize("limit", [0, -1, 65_537, 10**12, "4", 4.5, None, True])
def test_a_limit_that_no_profile_has_is_refused(
    limit: object, place: tuple[Server, Path]
) -> None:
    server, _ = place
    token = setup_token(server, "olga")
    sent = {**VISITS, "limit": limit}
    assert server.call("POST", f"{LIMITS}/use", token, json=sent).status_code == 422
    assert spent(server) == 0


def test_nothing_is_charged_that_could_not_be_recorded(place: tuple[Server, Path]) -> None:
    server, file = place
    token = setup_token(server, "olga")
    text = file.read_text()
    file.write_text(text.replace("max_groups = 2", "max_groups = 3"))
    refused(server, token, 422, "other changes that are not recorded")
    # a change of another owner is theirs to record
    file.write_text(text.replace("max_rows = 3", "max_rows = 2"))
    assert server.call("POST", LIMITS, token, json=VISITS).status_code == 200


def test_owners_whose_acts_are_signed_are_told_before_a_charge(
    place: tuple[Server, Path],
) -> None:
    server, _ = place
    key = SigningKey(bytes(32))
    ledger = server.curator.home.ledger
    ledger.signed_by(ActSigner(key)).propose(
        "patients", KeySet("olga", key.public.hex()), by="olga"
    )
    refused(server, setup_token(server, "olga"), 403, "Nothing was charged")


def test_a_token_with_a_least_of_loss_measures_nothing(place: tuple[Server, Path]) -> None:
    server, _ = place
    scope = TokenScope(setup=True, most=Allowance(epsilon=Fraction(1, 100)))
    token = server.token("olga", Role.OWNER, scope)
    refused(server, token, 403, "Your token allows at most")


def test_a_frozen_budget_is_not_charged(place: tuple[Server, Path]) -> None:
    server, _ = place
    token = setup_token(server, "olga")
    assert server.call("POST", "/v1/ledger/patients/freeze", token).status_code == 200
    refused(server, token, 423, "stopped all charges")


def test_the_file_is_as_it_was_if_nothing_was_recorded(
    place: tuple[Server, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, file = place
    token, before = setup_token(server, "olga"), file.read_text()

    def fail(*_: object, **__: object) -> None:
        raise StoreFailed("The ledger is busy, and nothing was recorded.")

    monkeypatch.setattr(measured_limits, "apply_project", fail)
    sent = {**VISITS, "limit": 4}
    answer = server.call("POST", f"{LIMITS}/use", token, json=sent)
    assert answer.status_code == 503, answer.text
    assert file.read_text() == before
    monkeypatch.undo()
    paid = spent(server)
    assert server.call("POST", f"{LIMITS}/use", token, json=sent).status_code == 200
    assert spent(server) == paid


def test_a_change_of_another_owner_does_not_put_back_what_was_recorded(
    place: tuple[Server, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, file = place
    file.write_text(file.read_text().replace("max_rows = 3", "max_rows = 2"))
    record = measured_limits.apply_project

    def record_and_fail(*given: Any, **named: Any) -> None:
        record(*given, **named)
        raise StoreFailed("It broke after the changes were recorded.")

    monkeypatch.setattr(measured_limits, "apply_project", record_and_fail)
    sent = {**VISITS, "limit": 4}
    server.call("POST", f"{LIMITS}/use", setup_token(server, "olga"), json=sent)
    assert ProjectText.at(file).root().value["datasets"]["visits"]["max_rows"] == 4
    assert {each.population for each in unrecorded_changes(file)} == {"staff"}


def test_a_file_that_changes_meanwhile_is_not_overwritten(
    place: tuple[Server, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, file = place
    token = setup_token(server, "olga")
    limit_rows = measured_limits.limit_rows

    def change(source: ProjectText, *given: Any) -> ProjectText:
        file.write_text(file.read_text() + "\n# another hand\n")
        return limit_rows(source, *given)

    monkeypatch.setattr(measured_limits, "limit_rows", change)
    answer = server.call("POST", f"{LIMITS}/use", token, json={**VISITS, "limit": 4})
    assert answer.status_code == 422
    assert "choose the limit again, for nothing" in answer.text
    assert file.read_text().endswith("# another hand\n")
    assert ProjectText.at(file).root().value["datasets"]["visits"]["max_rows"] == 5
