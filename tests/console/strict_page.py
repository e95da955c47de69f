"""A page under the console's policy, served on loopback, and what the browser reports of it."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "tacit" / "server" / "console" / "static"
VENDOR = ROOT / "tests" / "console" / "vendor"

NONCE = "0a1b2c3d4e5f"
POLICY = (
    "default-src 'none'; script-src 'self'; "
    f"style-src 'self' 'nonce-{NONCE}'; "
    "img-src 'self' data:; connect-src 'self'; report-uri /report"
)
HTMX = {
    "includeIndicatorStyles": False,
    "allowEval": False,
    "selfRequestsOnly": True,
    "historyCacheSize": 0,
    "refreshOnHistoryMiss": True,
    "attributesToSettle": ["class", "width", "height"],
}
"""How htmx is set up to need neither unsafe-eval nor unsafe-inline, and to keep no page."""

WAIT_SECONDS = 90
TYPES = {".js": "text/javascript", ".css": "text/css"}


@dataclass
class Site:
    """Pages and files by their address; and what was posted to each address."""

    pages: dict[str, str]
    posted: dict[str, list[str]] = field(default_factory=dict)
    address: str = ""

    def reports(self) -> list[dict[str, Any]]:
        """What browsers reported as violations of the policy."""
        sent = self.posted.get("/report", [])
        return [json.loads(each)["csp-report"] for each in sent]

    def wait_for_reports(self, count: int) -> list[dict[str, Any]]:
        """The reports, as soon as there are so many; browsers send them in the background."""
        until = time.monotonic() + WAIT_SECONDS
        while len(self.reports()) < count and time.monotonic() < until:
            time.sleep(0.05)
        return self.reports()

    def find(self, path: str) -> tuple[bytes, str] | None:
        """The bytes and the type of what is at an address."""
        if path in self.pages:
            return self.pages[path].encode(), TYPES.get(Path(path).suffix, "text/html")
        for folder in (STATIC, VENDOR):
            file = folder / Path(path).name
            if path == f"/static/{file.name}" and file.is_file():
                return file.read_bytes(), TYPES.get(file.suffix, "text/plain")
        return None


@contextmanager
def serve(pages: dict[str, str]) -> Iterator[Site]:
    """A site of these pages on loopback, each under the policy."""
    site = Site(pages)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(site.find(self.path))

        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"] or 0)
            body = self.rfile.read(size).decode()
            site.posted.setdefault(self.path, []).append(body)
            self._reply(site.find(self.path) or (b"", "text/plain"))

        def _reply(self, found: tuple[bytes, str] | None) -> None:
            body, kind = found or (b"", "text/plain")
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep the tests' output free of requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def page_of(body: str) -> str:
    """A page with the console's scripts and settings around a body."""
    settings = json.dumps(HTMX).replace('"', "&quot;")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Tacit</title>
<meta name="htmx-config" content="{settings}">
<meta name="csp-nonce" content="{NONCE}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/style-of-test.css">
<script src="/static/htmx.min.js" defer></script>
<script src="/static/charts.min.js" defer></script>
<script src="/static/editor.min.js" defer></script>
</head><body><main><h1>Ask</h1>{body}</main></body></html>"""


def script_of(value: object, place: str = "") -> str:
    """A script element that holds data as JSON, which no text in it can close."""
    safe = re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value))
    return f'<script type="application/json" id="{place}">{safe}</script>'
