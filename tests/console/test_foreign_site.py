"""A hostile site, in the browser of somebody who has signed in: it frames, posts and reads."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from browsing import Visitors
from page_list import PAGES
from playwright.sync_api import expect
from serving import Server
from test_attacks_on_visits import Visiting

OWN = "/own"
READ = """async address => {
  try { return await (await fetch(address, {credentials: 'include'})).text(); }
  catch (error) { return 'refused'; } }"""


@pytest.fixture(scope="module")
def foreign(server: Server) -> Iterator[str]:
    """The address of a site that frames the console and a page of its own, and posts forms.

    It is on the same host, so that cookies for the same site are sent to it and from it.
    """
    console = f"{server.address}/console"
    pages = {
        "/": f"<form id='out' method='post' action='{console}/sign-out'>"
        "<input name='csrf' value='x'></form>",
        "/frames": f"<iframe id='console' src='{console}/ask'></iframe>"
        f"<iframe id='own' src='{OWN}'></iframe>",
        OWN: "<p>framed</p>",
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path, "").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep the tests' output free of requests."""

    site = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=site.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{site.server_port}/"
    site.shutdown()
    site.server_close()
    thread.join()


def test_a_page_cannot_be_framed(visitors: Visitors, foreign: str) -> None:
    visitors.expect("frame", "Framing", "X-Frame-Options")
    page = visitors.visitor("ann", "ask")
    page.goto(f"{foreign}frames")
    page.wait_for_load_state("networkidle")
    # the lie: a page that does not forbid it is framed
    expect(page.frame_locator("#own").get_by_text("framed")).to_be_visible()
    framed = page.query_selector("#console")
    assert framed is not None
    inside = framed.content_frame()
    assert inside is not None
    assert "Question" not in inside.content()
    assert not inside.url.startswith(visitors.server.address)
    page.wait_for_timeout(300)
    state = visitors.server.app.state.console.state
    assert state.policy_reports > 0  # the browser reports that it was tried
    state.policy_reports = 0


@pytest.mark.parametrize("name", PAGES)
def test_every_page_forbids_frames(server: Server, name: str) -> None:
    each = PAGES[name]
    visitor = Visiting(server, each.who) if each.who else Visiting(server)
    headers = visitor.get(each.address.format(receipt="0", asked="", population="x")).headers
    assert headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]


def test_a_form_of_the_site_changes_nothing(visitors: Visitors, foreign: str) -> None:
    visitors.expect("status of 403")
    page = visitors.visitor("ann", "ask")
    page.goto(foreign)
    page.evaluate("document.getElementById('out').submit()")
    expect(page.get_by_text("Nothing was changed")).to_be_visible()
    visitors.open(page, "catalogue")  # ann is still signed in
    page.get_by_role("button", name="Sign out").click()  # the lie: her own form does it
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_site_reads_no_page_and_no_answer(visitors: Visitors, foreign: str) -> None:
    visitors.expect("CORS", "ERR_FAILED")
    page = visitors.visitor("ann", "ask")
    address = visitors.server.address
    own = page.evaluate(READ, f"{address}/console/ask")
    assert "Question" in own  # the lie: a page of the console can read it
    page.goto(foreign)
    for path in ("/console/ask", "/console/answers", "/v1/status", "/v1/me"):
        assert page.evaluate(READ, address + path) == "refused"
