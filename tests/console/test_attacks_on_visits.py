"""Attacks on visits and forms of the console, as a hostile page or person sends them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests
from browsing import PEOPLE, clinic
from serving import Server

from tacit.project.project import Serving
from tacit.server.console.app import _compress
from tacit.server.console.templates_of import static_names
from tacit.server.console.visit import CSRF_HEADER
from tacit.server.middleware import Rate
from tacit.server.token_policy import Role
from tacit.store.tokens import Tokens

WAIT = 120
SCREENS = ("ask", "answers", "catalogue", "budget", "decide", "publications", "assure")
BIDI = "\u202edne\u2066"
HOSTILE = {
    "script": "<script>alert(1)</script>",
    "attribute": "\" onmouseover=alert(1) x='",
    "template": "{{ 7 * 7 }}{% raw %}",
    "bidirectional": BIDI,
    "NUL": "a\0b",
    "10 kB": "k" * 10_000,
    "header": "x\r\nSet-Cookie: a=b",
    "surrogate": "%ED%A0%80",
    "javascript": "javascript:alert(1)",
}


class Visiting:
    """One browser without scripts: its cookies, and the secret of its forms."""

    def __init__(self, server: Server, who: str = "", token: str | None = None) -> None:
        self.server = server
        self.session = requests.Session()
        self.session.headers["Sec-Fetch-Site"] = "same-origin"
        if who:
            self.signed = self.sign_in(token or server.token(who, PEOPLE[who]))

    def sign_in(self, token: str, **more: Any) -> requests.Response:
        return self.send("POST", "/console/sign-in", data={"token": token} | more)

    def send(self, method: str, path: str, **more: Any) -> requests.Response:
        more.setdefault("allow_redirects", False)
        return self.session.request(method, self.server.address + path, timeout=WAIT, **more)

    def get(self, path: str, **more: Any) -> requests.Response:
        return self.send("GET", f"/console/{path}", **more)

    @property
    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.get("ask").text)
        assert found is not None
        return found[1]

    @property
    def is_signed_in(self) -> bool:
        return self.get("catalogue").status_code == 200

    @property
    def id(self) -> str:
        (found,) = (each for each in self.session.cookies if each.name.startswith("tacit"))
        return str(found.value)


@pytest.fixture
def ann(server: Server) -> Visiting:
    return Visiting(server, "ann")


# ------------------------------------------------------------------ cookies


def test_the_cookie_is_for_this_server_and_no_script(ann: Visiting) -> None:
    told = ann.signed.headers["Set-Cookie"]
    assert "HttpOnly" in told
    assert "SameSite=lax" in told
    assert "Path=/console" in told
    assert "Domain" not in told
    assert "Max-Age" not in told
    assert ann.server.token("ann")[:6] not in told
    port = ann.server.address.rpartition(":")[2]
    assert told.startswith(f"tacit-console-{port}=")  # another server here has its own


def test_over_tls_no_other_host_can_set_the_cookie(server: Server) -> None:
    console = server.app.state.console
    console.state.address = "https://tacit.example"
    try:
        ann = Visiting(server, "ann")
        headers = {"Origin": "https://tacit.example"}
        signed = ann.send(
            "POST", "/console/sign-in", data={"token": server.token("ann")}, headers=headers
        )
        told = signed.headers["Set-Cookie"]
        assert told.startswith("__Host-tacit-console=")
        assert "Secure" in told
        assert "Path=/;" in told
        for origin in ("http://tacit.example", server.address, "https://tacit.example:8443"):
            headers = {"Origin": origin}
            data = {"token": server.token("ann")}
            refused = ann.send("POST", "/console/sign-in", data=data, headers=headers)
            assert refused.status_code == 403
    finally:
        console.state.address = None


def test_nobody_can_fix_the_id_of_a_visit(server: Server, ann: Visiting) -> None:
    eve = Visiting(server)
    name = f"tacit-console-{server.address.rpartition(':')[2]}"
    eve.session.cookies.set(name, "chosen-by-eve", path="/console")
    eve.sign_in(server.token("bob"))
    assert Visiting(server).get("ask", cookies={name: "chosen-by-eve"}).status_code == 303
    before = ann.id
    ann.sign_in(server.token("ann"))
    assert ann.id != before
    old = requests.get(
        f"{server.address}/console/ask",
        cookies={name: before},
        timeout=WAIT,
        allow_redirects=False,
    )
    assert old.status_code == 303  # the visit that this browser had before has ended


def test_a_cookie_opens_no_route_of_the_api(ann: Visiting) -> None:
    for path in ("/v1/me", "/v1/status", "/v1/datasets", "/metrics"):
        name = f"tacit-console-{ann.server.address.rpartition(':')[2]}"
        answer = requests.get(
            ann.server.address + path,
            cookies={name: ann.id},
            headers={"Authorization": f"Bearer {ann.id}"},
            timeout=WAIT,
        )
        assert answer.status_code == 401


def test_a_visit_that_signs_out_is_over_also_where_it_was_copied(ann: Visiting) -> None:
    copied = requests.Session()
    copied.cookies.update(ann.session.cookies)
    out = ann.send("POST", "/console/sign-out", data={"csrf": ann.csrf})
    assert (out.status_code, out.headers["Location"]) == (303, "/console/sign-in")
    answer = copied.get(
        f"{ann.server.address}/console/ask", timeout=WAIT, allow_redirects=False
    )
    assert answer.status_code == 303


def test_a_token_that_is_revoked_ends_the_visit_in_words(server: Server) -> None:
    token = server.token("bob")
    bob = Visiting(server, "bob", token)
    assert bob.is_signed_in
    Tokens(server.curator.home.store).revoke(token)
    gone = bob.get("catalogue?x=1")
    assert gone.status_code == 303
    assert (
        gone.headers["Location"]
        == "/console/sign-in?next=%2Fconsole%2Fcatalogue%3Fx%3D1&ended=1"
    )
    page = bob.send("GET", gone.headers["Location"])
    assert "your token is no longer valid" in page.text
    assert 'value="/console/catalogue?x=1"' in page.text


@pytest.mark.parametrize("kind", ["revoked", "expired", "altered", "empty", "NUL", "not ASCII"])
def test_no_other_token_signs_in(server: Server, kind: str) -> None:
    token = server.token("bob", hours=-1 if kind == "expired" else 1)
    if kind == "revoked":
        Tokens(server.curator.home.store).revoke(token)
    text = {
        "altered": token[:-2] + "xx",
        "empty": " ",
        "NUL": token + "\0",
        "not ASCII": token + "é\u202e",
    }
    nobody = Visiting(server)
    answer = nobody.sign_in(text.get(kind, token))
    assert answer.status_code == 401
    assert "This token is not valid." in answer.text
    assert "Set-Cookie" not in answer.headers
    assert not nobody.is_signed_in


def test_an_operator_is_told_that_there_are_no_screens(server: Server) -> None:
    opal = Visiting(server)
    answer = opal.sign_in(server.token("opal", Role.OPERATOR))
    assert answer.status_code == 403
    assert "an operator, who has no screens here" in answer.text
    assert "Set-Cookie" not in answer.headers


# ------------------------------------------------------------------ forms


def test_a_form_needs_the_secret_of_its_own_visit(server: Server, ann: Visiting) -> None:
    other = Visiting(server, "bob").csrf
    for given in ("", "x", other, ann.csrf[:-1], ann.csrf + "x", "é", "\0"):
        refused = ann.send("POST", "/console/sign-out", data={"csrf": given})
        assert refused.status_code == 403
        assert "Nothing was changed" in refused.text
    assert ann.is_signed_in
    assert ann.send("POST", "/console/sign-out", headers={CSRF_HEADER: ann.csrf}).ok
    assert not ann.is_signed_in


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "//"},
        {"Sec-Fetch-Site": None},
    ],
)
def test_a_form_of_another_site_is_refused(
    server: Server, ann: Visiting, headers: dict[str, str]
) -> None:
    data = {"csrf": ann.csrf, "token": server.token("bob")}
    for path in ("/console/sign-out", "/console/sign-in"):
        refused = ann.send("POST", path, data=data, headers=headers)
        assert refused.status_code == 403, path
    assert "ann" in ann.get("catalogue").text


def test_a_page_that_is_only_looked_at_changes_nothing(ann: Visiting) -> None:
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"):
        answer = ann.send(method, "/console/sign-out", data={"csrf": ann.csrf})
        assert answer.status_code == 405
        assert answer.headers["Allow"] == "POST"
        assert method in {"HEAD", "OPTIONS"} or "cannot be asked for" in answer.text
    assert ann.is_signed_in


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"token=" + b"x" * 300_000, 413),
        (b"&".join([b"a=b"] * 2000), 413),
        (b"token=%ff%00%zz&&&=&==", 401),
        (b"", 401),
        (b"\xff\xfe\x00", 401),
        (b'{"token": "x"}', 401),
    ],
)
def test_odd_forms_are_answered_in_words(server: Server, body: bytes, status: int) -> None:
    answer = Visiting(server).send("POST", "/console/sign-in", data=body)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "<h1>" in answer.text


def test_a_form_without_a_length_is_refused(server: Server) -> None:
    answer = Visiting(server).send("POST", "/console/sign-in", data=iter([b"token=x"]))
    assert answer.status_code == 411


# ------------------------------------------------------------------ addresses


@pytest.mark.parametrize(
    "after",
    [
        "https://evil.example/",
        "//evil.example/console/",
        "/console//evil.example",
        "/\\evil.example",
        "/console/\\evil.example",
        "/console/../../evil",
        "/console/..//evil.example",
        "/console/%2e%2e//evil.example",
        "/console/%2E%2e/v1/status",
        "javascript:alert(1)",
        "/console/a\r\nSet-Cookie: x=y",
        "/console/\u202e",
        "console/",
        "/consolex",
        "/console/" + "x" * 5000,
    ],
)
def test_signing_in_leads_to_no_other_site(server: Server, after: str) -> None:
    nobody = Visiting(server)
    shown = nobody.get(f"sign-in?next={quote(after, safe='')}")
    assert 'name="next" value=""' in shown.text
    answer = nobody.sign_in(server.token("ann"), next=after)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/")


def test_signing_in_leads_back_to_the_page_that_was_wanted(server: Server) -> None:
    nobody = Visiting(server)
    wanted = "ask?sql=SELECT%20%27//..%27&x=1"
    asked = nobody.get(wanted)
    page = nobody.send("GET", asked.headers["Location"])
    found = re.search(r'name="next" value="([^"]*)"', page.text)
    assert found is not None
    after = found[1].replace("&amp;", "&").replace("&#39;", "'")
    answer = nobody.sign_in(server.token("ann"), next=after)
    assert answer.headers["Location"] == f"/console/{wanted}"


@pytest.mark.parametrize(
    "path",
    [
        "/console//",
        "/console/nothing",
        "/console/static/../app.py",
        "/console/static/%2e%2e/app.py",
        "/console/static/%2e%2e%2fapp.py",
        "/console/static/..%5capp.py",
        "/console/static/",
        "/console/static//etc/passwd",
        "/console/static/%00",
        "/console/static/console.css%00.js",
        "/console/%2e%2e/v1/status",
        "/console/v1/status",
        "/console/%ff",
        "/console/ask/",
        "/console/" + "x" * 9000,
    ],
)
def test_there_is_nothing_at_other_paths(ann: Visiting, path: str) -> None:
    request = requests.Request("GET", ann.server.address)
    prepared = ann.session.prepare_request(request)
    prepared.url = ann.server.address + path  # as it is: nothing is made shorter
    prepared.headers["Cookie"] = "; ".join(
        f"{each.name}={each.value}" for each in ann.session.cookies
    )
    answer = ann.session.send(prepared, timeout=WAIT, allow_redirects=False)
    assert answer.status_code in {401, 404, 307}, (answer.status_code, answer.text[:300])
    if answer.status_code == 307:  # a last slash, on this server only
        assert answer.headers["Location"].startswith(ann.server.address + "/console/")
    assert "def " not in answer.text
    assert "Traceback" not in answer.text


def test_files_of_other_names_are_not_stored(ann: Visiting) -> None:
    before = _compress.cache_info().currsize
    assert {ann.get(f"static/{number}.js").status_code for number in range(5)} == {404}
    assert _compress.cache_info().currsize == before
    files = [each for each in static_names() if not each.startswith(".")]
    assert {ann.get(f"static/{each}").status_code for each in files} == {200}


# ------------------------------------------------------------------ what pages say


@pytest.mark.parametrize("path", ["sign-in", "nothing", "ask", "static/console.css", ""])
def test_every_response_forbids_frames_and_sniffing(ann: Visiting, path: str) -> None:
    headers = ann.get(path).headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    if "html" in headers.get("Content-Type", ""):
        policy = headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_are_texts(server: Server, ann: Visiting, kind: str) -> None:
    text = HOSTILE[kind]
    given = text if kind == "surrogate" else quote(text, safe="")
    answers = [ann.get(f"{screen}?x={given}&population={given}") for screen in SCREENS]
    answers += [ann.get(f"sign-in?next=/console/{given}")]
    data = {"token": text, "next": text, text: text, "csrf": text}
    answers += [Visiting(server).send("POST", "/console/sign-in", data=data)]
    answers += [ann.send("POST", "/console/sign-out", data=data)]
    latin = text.encode("latin-1", "replace").translate(None, b"\r\n\0").strip()
    answers += [ann.get("ask", headers={"HX-Current-URL": latin, CSRF_HEADER: latin})]
    for answer in answers:
        assert answer.status_code < 500, answer.text[:500]
        assert text not in answer.text or kind in {
            "10 kB",
            "javascript",
            "surrogate",
            "template",
        }
        assert "49" not in re.findall(r'value="/console/(\d+)', answer.text)
        assert "a" not in answer.cookies
    assert ann.is_signed_in


def test_a_principal_with_a_hostile_name_is_shown_as_text(server: Server) -> None:
    name = "<b onclick=x>ann</b> & 'co'"
    odd = Visiting(server)
    odd.sign_in(server.token(name))
    page = odd.get("catalogue").text
    assert "<b onclick" not in page
    assert "&lt;b onclick=x&gt;ann" in page


def test_the_log_has_pages_and_no_values(server: Server, ann: Visiting) -> None:
    before = len(server.log)  # the line of the sign-in may still come
    ann.get("ask?sql=SELECT%20secret_of_ann")
    ann.get("nothing/secret_of_ann")
    ann.get("catalogue")
    lines = server.logged(before + 3)[before:]
    seen = {line["route"]: line.get("principal") for line in lines}
    assert seen.items() >= {("/console/ask", "ann"), ("-", None)}
    assert "secret" not in str(server.log)


# ------------------------------------------------------------------ limits


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("small")
    with clinic(folder, is_asked=False, serving=Serving(requests_per_minute=20)) as running:
        # no allowance grows while a test is slow
        running.app.state.rate = Rate(20, clock=lambda: 0.0)
        yield running


def test_a_page_counts_as_one_request(small: Server) -> None:
    ann = Visiting(small, "ann")
    statuses = [ann.get("catalogue").status_code for _ in range(19)]
    assert statuses == [200] * 19
    refused = Visiting(small).sign_in(small.token("ann"))
    assert refused.status_code == 429
    assert "You have sent too many requests." in refused.text
    assert "Wait 3 seconds." in refused.text
    assert refused.headers["Retry-After"] == "3"


def test_calls_of_the_api_count_as_before(small: Server) -> None:
    """The lie: what a page does not count, `curl` would not count either."""
    token = small.token("bob")
    statuses = [small.call("GET", "/v1/status", token).status_code for _ in range(21)]
    assert statuses == [200] * 20 + [429]


@pytest.mark.parametrize("name", ["patients/verify", "a/b", "x//", "/", "JaVa\tScRiPt:x//"])
def test_a_name_with_a_slash_reaches_no_other_route(ann: Visiting, name: str) -> None:
    """As a path it would be another one: a publication, and what is below it."""
    shown = ann.get(f"publications?name={quote(name, safe='')}")
    assert shown.status_code == 404
    assert "a name with a slash" in shown.text
