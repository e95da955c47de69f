"""People sign in at their own provider, and nobody else does by any trick with it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import requests
from browsing import Visitors, clinic
from playwright.sync_api import Browser, expect
from provider import CLIENT, ISSUER, SECRET, OpenIdProvider, providing
from serving import Server

from tacit.errors import InvalidValue
from tacit.project.console import console_of
from tacit.project.document import Fault, TomlEntry
from tacit.project.project import Issuer, Serving, serving_of
from tacit.server.console.code_flow import BEGUN_SECONDS, LARGEST, CodeFlow, post_form

WAIT = 120
SECRETS = {"CONSOLE_SECRET": SECRET}
SECTION: dict[str, Any] = {
    "address": "https://tacit.example",
    "client_id": CLIENT,
    "authorize": "https://id.example/authorize",
    "token": "https://id.example/token",
}


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenIdProvider]:
    with providing() as made:
        yield made


@pytest.fixture(autouse=True)
def _as_it_should_be(provider: OpenIdProvider) -> None:
    provider.user, provider.faults, provider.refused = {}, {}, []
    provider.status, provider.moved_to, provider.body = 200, "", None


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, provider: OpenIdProvider
) -> Iterator[Server]:
    issuer = Issuer(ISSUER, CLIENT, provider.address + "/keys")
    settings = Serving(requests_per_minute=10**6, oidc=issuer)
    folder: Path = tmp_path_factory.mktemp("clinic")
    with clinic(folder, is_asked=False, serving=settings) as running:
        entry = {
            "address": running.address,
            "client_id": CLIENT,
            "client_secret": "env:CONSOLE_SECRET",
            "authorize": provider.address + "/authorize",
            "token": provider.address + "/token",
        }
        flow = console_of(TomlEntry(entry), CLIENT).flow
        assert flow is not None
        state = running.app.state.console.state  # its port is known only now
        state.address = running.address
        state.flow = CodeFlow(flow, running.address, ISSUER, SECRETS)
        yield running


@pytest.fixture
def visitors(browser: Browser, server: Server) -> Iterator[Visitors]:
    found = Visitors(browser, server)
    yield found
    found.close()


class Traveller:
    """A browser without scripts that signs in at the provider, a step at a time."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.session = requests.Session()

    def get(self, address: str) -> requests.Response:
        return self.session.get(address, timeout=WAIT, allow_redirects=False)

    def begin(self, after: str = "/console/catalogue") -> str:
        """Begin, and return the address at the provider."""
        query = urlencode({"next": after})
        answer = self.get(f"{self.server.address}/console/sign-in/provider?{query}")
        assert answer.status_code == 303
        return answer.headers["Location"]

    def consent(self, address: str) -> str:
        """Return the address to which the provider sends the browser back."""
        return requests.get(address, timeout=WAIT, allow_redirects=False).headers["Location"]

    def come_back(self, **changed: str | None) -> requests.Response:
        """Sign in, with some parameters of the last address changed or left out."""
        return self.get(altered(self.consent(self.begin()), **changed))

    @property
    def is_signed_in(self) -> bool:
        return self.get(f"{self.server.address}/console/catalogue").status_code == 200


def altered(address: str, **changed: str | None) -> str:
    query = dict(parse_qsl(urlsplit(address).query)) | changed
    kept = {name: text for name, text in query.items() if text is not None}
    return f"{address.partition('?')[0]}?{urlencode(kept)}"


# ------------------------------------------------------------------ journeys


def test_a_person_signs_in_at_their_provider(
    visitors: Visitors, provider: OpenIdProvider
) -> None:
    provider.user = {"sub": "olga", "tacit_role": "owner"}
    page = visitors.stranger()
    visitors.open(page, "decide")  # not signed in yet
    page.get_by_role("link", name="Sign in with your organisation").click()
    page.wait_for_url(visitors.address("decide"))
    expect(page.get_by_text("olga", exact=True)).to_be_visible()
    told = page.context.cookies()
    assert [(each["httpOnly"], each["sameSite"]) for each in told] == [(True, "Lax")]
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    visitors.shoot(page, "sign-in-with-provider")


def test_a_token_signs_in_where_there_is_a_provider(visitors: Visitors) -> None:
    page = visitors.stranger()
    visitors.open(page, "sign-in")
    page.get_by_text("Sign in with a token").click()
    page.get_by_label("Token").fill(visitors.server.token("bob"))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("bob", exact=True)).to_be_visible()


def test_a_person_whom_tacit_does_not_know_is_told_so(
    visitors: Visitors, provider: OpenIdProvider
) -> None:
    provider.user = {"tacit_role": None}
    page = visitors.stranger()
    visitors.open(page, "sign-in")
    visitors.expect("status of 401")
    page.get_by_role("link", name="Sign in with your organisation").click()
    expect(page.get_by_role("alert")).to_contain_text("Tacit does not accept its token")


# ------------------------------------------------------------------ attacks


def test_a_sign_in_leads_to_the_page_that_was_wanted(server: Server) -> None:
    ann = Traveller(server)
    answer = ann.come_back()
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/catalogue")
    assert ann.is_signed_in
    eve = Traveller(server)
    back = eve.consent(eve.begin("https://evil.example/"))
    assert eve.get(back).headers["Location"] == "/console/"


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "another"},
        {"state": None},
        {"code": "another"},
        {"code": None},
        {"code": "x" * 5000},
        {"code": "é\u202e\0"},
        {"iss": "https://evil.example"},
        {"error": "access_denied"},
        {
            "error": "<script>alert(1)</script>",
            "error_description": "<script>alert(1)</script>",
        },
    ],
)
def test_another_answer_signs_nobody_in(server: Server, changed: dict[str, str | None]) -> None:
    eve = Traveller(server)
    answer = eve.come_back(**changed)
    assert answer.status_code == 403
    assert "<script>alert" not in answer.text
    assert 'role="alert"' in answer.text
    assert not eve.is_signed_in


def test_a_code_is_used_once(server: Server, provider: OpenIdProvider) -> None:
    ann = Traveller(server)
    back = ann.consent(ann.begin())
    kept = ann.session.cookies.copy()
    assert ann.get(back).status_code == 303
    again = ann.get(back)  # the cookie of the sign-in is gone
    assert again.status_code == 403
    assert "has been used already" in again.text
    eve = Traveller(server)
    eve.session.cookies.update(kept)  # also for who copied the cookie before
    assert eve.get(back).status_code == 403
    assert provider.refused == ["code"]


def test_a_code_of_another_browser_signs_nobody_in(
    server: Server, provider: OpenIdProvider
) -> None:
    """Eve sends Ann the end of her own sign-in, and Ann would work in Eve's name."""
    eve, ann = Traveller(server), Traveller(server)
    back = eve.consent(eve.begin())
    before = provider.exchanged
    assert ann.get(back).status_code == 403
    ann.begin()
    assert ann.get(back).status_code == 403
    assert provider.exchanged == before
    assert not ann.is_signed_in


def test_a_code_of_another_sign_in_does_not_fit_the_verifier(
    server: Server, provider: OpenIdProvider
) -> None:
    """A code that was stolen from another sign-in, under the state of one's own."""
    ann, eve = Traveller(server), Traveller(server)
    stolen = dict(parse_qsl(urlsplit(ann.consent(ann.begin())).query))["code"]
    assert eve.come_back(code=stolen).status_code == 403
    assert provider.refused == ["verifier"]


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": 7},
        {"azp": "another-client"},
    ],
)
def test_a_token_of_another_sign_in_is_refused(
    server: Server, provider: OpenIdProvider, claims: dict[str, Any]
) -> None:
    provider.user = claims
    answer = Traveller(server).come_back()
    assert answer.status_code == 403
    assert "did not accept this sign-in" in answer.text


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another-client"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"tacit_role": "king"},
    ],
)
def test_a_token_that_the_api_refuses_begins_no_visit(
    server: Server, provider: OpenIdProvider, claims: dict[str, Any]
) -> None:
    provider.user = claims
    eve = Traveller(server)
    answer = eve.come_back()
    assert answer.status_code == 401
    assert "Tacit does not accept its token" in answer.text
    assert not eve.is_signed_in


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"id_token": 7}',
        b'{"id_token": "a\\nb"}',
        b'{"id_token": "a.b.c"}',
        b"[" * 100_000,
        b"x" * (LARGEST + 1),
    ],
)
def test_an_odd_answer_of_the_provider_is_refused_in_words(
    server: Server, provider: OpenIdProvider, body: bytes
) -> None:
    provider.body = body
    answer = Traveller(server).come_back()
    assert answer.status_code == 403
    assert "did not accept this sign-in" in answer.text


def test_a_code_is_sent_to_no_other_address(server: Server, provider: OpenIdProvider) -> None:
    with providing() as inside:
        provider.moved_to = inside.address + "/token"
        answer = Traveller(server).come_back()
        assert answer.status_code == 403
        assert inside.exchanged == 0


def test_a_provider_that_fails_is_told_from_one_that_refuses(
    server: Server, provider: OpenIdProvider
) -> None:
    provider.status = 503
    answer = Traveller(server).come_back()
    assert "could not be reached" in answer.text


def test_a_sign_in_that_was_begun_long_ago_has_ended() -> None:
    now = [0.0]
    flow = console_of(TomlEntry(SECTION), CLIENT).flow
    assert flow is not None
    sent: list[Any] = []

    def exchange(*given: Any) -> bytes:
        sent.append(given)
        return b"{}"

    late = CodeFlow(
        flow, "https://tacit.example", ISSUER, {}, exchange=exchange, clock=lambda: now[0]
    )
    address, cookie = late.begin("")
    query = dict(parse_qsl(urlsplit(address).query))
    for now[0], count in ((BEGUN_SECONDS, 1), (BEGUN_SECONDS + 1.0, 1)):
        with pytest.raises(Exception, match="Sign in again"):
            late.end({"state": query["state"], "code": "x"}, cookie)
        assert len(sent) == count
    now[0] = 0.0
    for forged in ("", ".", cookie[:-1], "x" + cookie, json.dumps({"state": query["state"]})):
        with pytest.raises(Exception, match="not begun in this browser"):
            late.end({"state": query["state"], "code": "x"}, forged)
    assert "Authorization" not in sent[0][2]
    assert re.fullmatch(r"[\w-]{43}", sent[0][1]["code_verifier"])


def test_a_form_is_sent_to_a_real_address_only() -> None:
    with pytest.raises(OSError, match="refused"):
        post_form("http://127.0.0.1:9/", {}, {})


# ------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"address": "http://tacit.example"}, "https:// address"),
        ({"address": "https://tacit.example/path"}, "without a path"),
        ({"address": "https://u@tacit.example"}, "https:// address"),
        ({"token": "file:///etc/passwd"}, "https:// address"),
        ({"token": "http://169.254.169.254/"}, "https:// address"),
        ({"token": "https://id.example:x/"}, "https:// address"),
        ({"authorize": "https://id.example/#x"}, "https:// address"),
        ({"client_id": "another"}, "must be the audience"),
        ({"client_secret": "hunter2"}, "Keep the secret out of the file"),
        ({"scope": "profile"}, "must have openid"),
        ({"address": None}, "'address' is missing"),
        ({"token": None}, "'token' is missing"),
        ({"redirect": "x"}, "not a known name"),
    ],
)
def test_settings_that_would_be_unsafe_are_refused(changed: dict[str, Any], said: str) -> None:
    entry = {name: text for name, text in {**SECTION, **changed}.items() if text is not None}
    with pytest.raises(Fault, match=re.escape(said)):
        console_of(TomlEntry(entry), CLIENT)


def test_an_address_alone_is_enough_without_a_provider() -> None:
    said = {"console": {"address": "https://tacit.example/"}}
    assert serving_of(TomlEntry(said)).console.address == "https://tacit.example"


def test_a_secret_that_is_not_in_the_environment_is_named() -> None:
    flow = console_of(TomlEntry({**SECTION, "client_secret": "env:NAME"}), CLIENT).flow
    assert flow is not None
    with pytest.raises(InvalidValue, match="set NAME"):
        CodeFlow(flow, "https://tacit.example", ISSUER, {})
