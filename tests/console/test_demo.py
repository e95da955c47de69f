"""One command from an install to the first screen: the real `tacit demo --serve`."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import monotonic

import requests
from conftest import Bar
from playwright.sync_api import Browser, expect

from tacit.server.console.entry_links import MOST_LINKS, VALID_SECONDS, EntryLinks

WAIT = 180
LINK = re.compile(r"Open within a minute: (http://127\.0\.0\.1:\d+)(/console/entry\?code=\S+)")
TOKEN = re.compile(r"^  (\w+) (\w+): (tacit_\S+)$", re.MULTILINE)


@dataclass
class Demo:
    """A demo that is served, and what it has printed."""

    process: subprocess.Popen[str]
    address: str
    link: str
    printed: Path
    seconds: float

    @property
    def tokens(self) -> dict[str, str]:
        return {role: token for role, _, token in TOKEN.findall(self.printed.read_text())}


@contextmanager
def demo(folder: Path) -> Iterator[Demo]:
    """The command, in a folder of its own, until its link was printed."""
    printed, said = folder / "stdout", folder / "stderr"
    began = monotonic()
    with printed.open("w") as out, said.open("w") as err:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tacit.cli",
                "demo",
                "--serve",
                "--port",
                "0",
                "--as",
                "olga",
            ],
            cwd=folder,
            stdout=out,
            stderr=err,
            text=True,
        )
        try:
            while (found := LINK.search(said.read_text())) is None:
                assert process.poll() is None, said.read_text()
                assert monotonic() - began < WAIT, said.read_text()
            yield Demo(process, found[1], found[1] + found[2], printed, monotonic() - began)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(WAIT) == 0


def test_the_demo_opens_in_a_browser_with_one_command(
    tmp_path: Path, browser: Browser, bar: Bar
) -> None:
    before = getrusage(RUSAGE_CHILDREN)
    with demo(tmp_path) as found:
        name = "seconds from the command to the link, with all that this machine did meanwhile"
        bar(name, found.seconds, f"at most {WAIT}", ok=True)
        assert not any(token in found.link for token in found.tokens.values())
        page = browser.new_page()
        began = monotonic()
        page.goto(found.link)
        page.get_by_role("button", name="Go on as analyst ann").click()
        expect(page.get_by_role("heading", name="Ask", exact=True)).to_be_visible()
        bar("seconds from the link to Ask", monotonic() - began, "60", monotonic() - began < 60)

        other = browser.new_context().new_page()  # the other person of the same link
        other.goto(found.link)
        expect(other.get_by_role("button")).to_have_text(["Go on as owner olga"])
        other.get_by_role("button").click()
        expect(other.get_by_role("link", name="Decide")).to_be_visible()

        late = browser.new_context().new_page()
        late.goto(found.link)
        expect(late.get_by_role("alert")).to_contain_text("This link has been used")
        late.get_by_role("link", name="Sign in with a token").click()
        late.get_by_label("Token").fill(found.tokens["owner"])
        late.get_by_role("main").get_by_role("button", name="Sign in").click()
        expect(late.get_by_role("link", name="Decide")).to_be_visible()

        forged = {"code": found.link.partition("=")[2], "who": "analyst ann"}
        for headers in ({"Sec-Fetch-Site": "same-origin"}, {"Origin": "https://evil.example"}):
            answer = requests.post(
                f"{found.address}/console/entry", data=forged, headers=headers, timeout=WAIT
            )
            assert answer.status_code == 403
        assert found.link.partition("=")[2] not in found.printed.read_text()
    after = getrusage(RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    bar("seconds of a core, from the command to its end", used, "20", used < 20)


def test_a_link_is_valid_once_and_for_a_minute() -> None:
    now = [0.0]
    links = EntryLinks(lambda: now[0])
    code = links.issue({"ann": "a", "olga": "b"})
    assert links.take(code, "eve") is None
    assert links.take("another", "ann") is None
    assert [links.take(code, "ann"), links.take(code, "ann")] == ["a", None]
    now[0] = VALID_SECONDS
    assert links.offers(code) == ("olga",)
    now[0] += 0.1
    assert links.take(code, "olga") is None
    assert links._left == {}


def test_links_take_bounded_memory() -> None:
    links = EntryLinks()
    codes = [links.issue({"ann": "a"}) for _ in range(MOST_LINKS + 1)]
    assert [links.offers(codes[0]), links.offers(codes[1])] == [(), ("ann",)]
