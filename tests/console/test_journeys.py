"""Journeys of people through the console, without a page of documentation.

Each is written once and walked by two hands: a mouse, whose clicks are counted, and a keyboard
alone, whose focus must be seen at every stop. A server runs for each hand.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import ASKED, Visitors, clinic_project
from conftest import Bar
from hands import HANDS, Hand, Hidden, Keyboard, Mouse, NotReached, Trapped, round_of
from playwright.sync_api import Download, Locator, Page, expect
from serving import Server, serving

from tacit.server.token_policy import Role
from tacit.session.project import apply_project

CAP = 'budget = { epsilon = 3, delta = "1e-6" }'
EXAMPLE = "Ask: How many rows of visits there are for each ward."
WIDE, CLOSE = "400", "150"
"""An error that the quota of ann holds, and one that only the whole budget holds."""

CLIPBOARD = ["clipboard-read", "clipboard-write"]
SECONDS = {Mouse: 180, Keyboard: 600}
"""Seconds within which a journey must end, also on a busy machine."""


@pytest.fixture(scope="module", params=HANDS, ids=("mouse", "keyboard"))
def way(request: pytest.FixtureRequest) -> type[Hand]:
    """The kind of hand that walks."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def server(way: type[Hand], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic for one kind of hand, where olga has proposed to raise the cap."""
    file = clinic_project(tmp_path_factory.mktemp(way.__name__))
    text = file.read_text()
    assert CAP in text
    file.write_text(text.replace(CAP, CAP.replace("3", "4")))
    apply_project(file, by="olga", reason="a second year")
    file.write_text(text)
    with serving(file) as running:
        for who, sql, epsilon in ASKED:
            assert running.ask(running.token(who), sql, epsilon=epsilon).status_code == 200
        yield running


class Journey:
    """The hands of one journey, its screenshots, and what it prints at its end."""

    def __init__(self, name: str, way: type[Hand], visitors: Visitors) -> None:
        self.name = name
        self.way = way
        self.visitors = visitors
        self.hands: list[Hand] = []

    def begin(self, who: str, role: Role, address: str = "", token: str = "") -> Hand:
        """Open an address as a stranger who has a token, and sign in there."""
        page = self.visitors.stranger(permissions=CLIPBOARD)
        page.goto(address or self.visitors.address())
        hand = self.way(page)
        self.hands.append(hand)
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        hand.write(page.get_by_label("Token"), token or self.visitors.server.token(who, role))
        hand.press(page.get_by_role("main").get_by_role("button", name="Sign in"))
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        return hand

    def shoot(self, page: Page, step: str) -> None:
        """Save a screenshot of a step."""
        self.visitors.shoot(page, f"{self.name}-{self.way.__name__.lower()}-{step}")

    def end(self, bar: Bar, most: int) -> None:
        """Print the clicks or keys, of which the mouse needs at most so many, and seconds."""
        acts = sum(each.acts for each in self.hands)
        seconds = max(each.seconds for each in self.hands)
        what, limit = self.way.what, SECONDS[self.way]
        with_hand = self.name if self.way is Mouse else f"{self.name} by keyboard"
        wanted, ok = (
            ("any", True) if self.way is Keyboard else (f"at most {most}", acts <= most)
        )
        bar(f"journey {with_hand}: {what}", acts, wanted, ok)
        bar(f"journey {with_hand}: seconds", seconds, f"at most {limit}", seconds <= limit)


def menu(page: Page, screen: str) -> Locator:
    """The link of the navigation to a screen."""
    links = page.get_by_role("navigation", name="Main")
    return links.get_by_role("link", name=re.compile(rf"^{screen}\b"))


def told(page: Page, text: str) -> None:
    """Expect that the page says a text as the result of an act."""
    expect(page.get_by_role("status").filter(has_text=text)).to_be_visible()


def settle(page: Page) -> None:
    """Wait until the price that is shown is that of what was typed."""
    expect(page.locator("#quote.is-old")).to_have_count(0)
    expect(page.locator(".htmx-request")).to_have_count(0)


def charges(server: Server, who: str) -> int:
    """The number of charges of an analyst in the patients' ledger."""
    path = "/v1/ledger/patients/history?kind=charge&limit=1000"
    lines = server.call("GET", path, server.token("ada", Role.AUDITOR)).json()["lines"]
    return sum(each["who"] == who for each in lines)


def download(page: Page, act: Callable[[], None]) -> Download:
    """Do what downloads a file, and return the file."""
    with page.expect_download() as found:
        act()
    return found.value


# ------------------------------------------------------------------ the analyst


def choose_question(hand: Hand, error: str) -> None:
    """Go by the catalogue to a question about a table, and say how close it must be."""
    page = hand.page
    hand.press(menu(page, "Catalogue"))
    hand.press(page.get_by_role("navigation", name="Tables").get_by_text("visits"))
    hand.press(page.get_by_role("link", name=EXAMPLE))
    say_error(hand, error)


def say_error(hand: Hand, error: str) -> None:
    """Say how close the answer must be, and wait for the price."""
    page = hand.page
    hand.write(page.get_by_label(re.compile("^Wanted error in")), error)
    settle(page)


def test_an_analyst_asks_shares_repeats_and_wants_more(
    way: type[Hand], visitors: Visitors, bar: Bar
) -> None:
    server = visitors.server
    journey = Journey("analyst", way, visitors)
    hand = journey.begin("ann", Role.ANALYST)
    page = hand.page
    paid = charges(server, "ann")

    choose_question(hand, WIDE)
    quote = page.locator("#quote-part")
    for shown in ("Price", "Odds", "A coin flip is 50", "Left for everyone"):
        expect(quote).to_contain_text(shown)
    journey.shoot(page, "1-price")
    assert charges(server, "ann") == paid
    hand.press(page.get_by_role("button", name=re.compile("^Ask and spend ε")))
    answer = page.locator("#answer")
    expect(answer.get_by_role("columnheader", name="95% interval")).to_be_visible()
    expect(answer.get_by_role("img", name=re.compile("by ward"))).to_be_visible()
    journey.shoot(page, "2-answer")
    assert charges(server, "ann") == paid + 1
    numbers = answer.get_by_role("table").inner_text()

    hand.press(answer.get_by_role("button", name="Share link"))
    expect(answer.get_by_role("button", name="Copied")).to_be_visible()
    address = page.evaluate("navigator.clipboard.readText()")
    other = journey.begin("bob", Role.ANALYST, address)
    expect(other.page.locator("#answer").get_by_role("table")).to_be_visible()
    assert other.page.locator("#answer").get_by_role("table").inner_text() == numbers
    expect(other.page.get_by_text("Opening it costs nothing.")).to_be_visible()
    journey.shoot(other.page, "3-shared")

    choose_question(hand, WIDE)
    expect(quote).to_contain_text("Free")
    expect(quote).to_contain_text("You paid for these numbers.")
    hand.press(quote.get_by_role("link", name="Open the answer, free"))
    assert answer.get_by_role("table").inner_text() == numbers
    expect(answer.get_by_text("free: asked before")).to_be_visible()
    assert charges(server, "ann") == paid + 1
    assert charges(server, "bob") == sum(who == "bob" for who, _, _ in ASKED)

    say_error(hand, CLOSE)
    expect(page.get_by_role("button", name="Needs more than your quota")).to_be_disabled()
    expect(page.get_by_text("The closest error that fits is")).to_be_visible()
    journey.shoot(page, "4-beyond-the-quota")
    hand.press(page.locator("summary", has_text="Ask an owner for more"))
    hand.write(page.get_by_label("What is it for?"), "beds of each ward")
    hand.press(page.get_by_role("button", name="Send the request"))
    expect(page.get_by_text("Your request waits for an owner")).to_be_visible()
    journey.shoot(page, "5-asked-for-more")
    journey.end(bar, 20)

    assert charges(server, "ann") == paid + 1
    owner = visitors.visitor("olga", "decide")
    waits = owner.get_by_role("group", name=re.compile("^ann asks for"))
    expect(waits.get_by_text("Reason given: beds of each ward.")).to_be_visible()


# ------------------------------------------------------------------ the owner


def test_an_owner_decides_freezes_and_lets_somebody_in(
    way: type[Hand], visitors: Visitors, bar: Bar
) -> None:
    server = visitors.server
    wish = {"epsilon": "0.6", "delta": "1e-9", "reason": "beds of each ward"}
    path = "/v1/ledger/patients/requests"
    assert server.call("POST", path, server.token("bob"), json=wish).status_code < 300
    journey = Journey("owner", way, visitors)
    hand = journey.begin("omar", Role.OWNER)
    page = hand.page

    hand.press(menu(page, "Decide"))
    asked = page.get_by_role("group", name=re.compile("^bob asks for"))
    expect(asked.get_by_text("Reason given: beds of each ward.")).to_be_visible()
    journey.shoot(page, "1-decide")
    hand.press(asked.get_by_role("button", name="Grant", exact=True))
    told(page, "Granted.")
    proposed = page.get_by_role("group", name="Raise the cap of patients from ε 3 to ε 4")
    hand.press(proposed.get_by_role("button", name="Approve"))
    told(page, "Approved.")
    assert server.curator.home.ledger.status("patients").total.amount == 4

    hand.press(menu(page, "Budget"))
    hand.press(page.get_by_role("link", name="Freeze…", exact=True))
    hand.press(page.get_by_role("button", name="Freeze now"))
    told(page, "New charges are frozen.")
    journey.shoot(page, "2-frozen")
    new = "SELECT COUNT(*) AS n FROM visits WHERE cost > 12"
    assert server.ask(server.token("ann"), new, epsilon="0.01").status_code == 423
    hand.press(page.get_by_role("link", name="Lift the freeze…", exact=True))
    hand.press(page.get_by_role("button", name="Lift the freeze"))
    told(page, "The freeze is lifted.")
    assert server.ask(server.token("ann"), new, epsilon="0.01").status_code == 200

    hand.press(menu(page, "Decide"))
    hand.press(page.get_by_role("link", name="Issue a token"))
    hand.write(page.get_by_label("For whom"), "zoe")
    hand.pick(page.get_by_label("Role"), "auditor")
    hand.tick(page.get_by_label("labs"))
    hand.press(page.get_by_role("button", name="Issue the token"))
    token = page.get_by_label("Token", exact=True).input_value()
    journey.shoot(page, "3-token")
    hand.press(page.get_by_role("link", name="I have copied it"))
    expect(page.get_by_role("button", name="Revoke the token of zoe")).to_be_visible()
    assert token not in page.content()
    newcomer = journey.begin("zoe", Role.AUDITOR, token=token)
    expect(menu(newcomer.page, "Assure")).to_be_visible()
    journey.end(bar, 20)


# ------------------------------------------------------------------ the officer


def check_file(hand: Hand, file: Path) -> None:
    """Choose a file on Assure in the dialog of the browser, and check it."""
    page = hand.page
    with page.expect_file_chooser() as chooser:
        hand.press(page.get_by_label("File"))
    chooser.value.set_files(file)
    expect(page.get_by_label("Or its text")).not_to_have_value("")
    hand.press(page.get_by_role("button", name="Check it"))


def test_an_officer_reads_the_odds_and_verifies_a_certificate(
    way: type[Hand], visitors: Visitors, bar: Bar, tmp_path: Path
) -> None:
    journey = Journey("officer", way, visitors)
    hand = journey.begin("olga", Role.OWNER)
    page = hand.page

    hand.press(menu(page, "Assure"))
    odds = page.locator("dl", has_text="Odds now")
    expect(odds).to_have_text(re.compile(r"\d\d in 100.*a coin flip is 50.*At the cap: \d\d"))
    report = page.get_by_role("link", name="Report for the board, as a page")
    found = download(page, lambda: hand.press(report))
    found.save_as(tmp_path / "report.html")
    opened = visitors.stranger()
    opened.goto((tmp_path / "report.html").as_uri())
    expect(opened.get_by_role("heading", level=1)).to_be_visible()
    expect(opened.get_by_text("now and at the cap (a guess: 50%)")).to_be_visible()
    journey.shoot(opened, "1-report")

    hand.press(page.get_by_role("main").get_by_role("link", name="Answers"))
    link = page.get_by_role("link", name=re.compile("^Certificate of")).first
    found = download(page, lambda: hand.press(link))
    certificate, changed = tmp_path / found.suggested_filename, tmp_path / "changed.html"
    found.save_as(certificate)
    hand.press(menu(page, "Assure"))
    check_file(hand, certificate)
    verified = page.locator("#checked")
    expect(verified).to_contain_text("Verified. The document is unchanged.")
    expect(verified).to_contain_text("It is signed by this installation.")
    journey.shoot(page, "2-verified")

    text = certificate.read_bytes()
    place = text.index(b"patients")
    changed.write_bytes(text[:place] + b"q" + text[place + 1 :])
    check_file(hand, changed)
    expect(verified.get_by_role("alert")).to_contain_text("Not verified.")
    journey.shoot(page, "3-refused")
    journey.end(bar, 12)


# ------------------------------------------------------------------ the auditor


def test_an_auditor_verifies_and_exports_and_cannot_ask(
    way: type[Hand], visitors: Visitors, bar: Bar
) -> None:
    journey = Journey("auditor", way, visitors)
    hand = journey.begin("ada", Role.AUDITOR)
    page = hand.page

    hand.press(menu(page, "Assure"))
    hand.press(page.get_by_role("link", name="Verify again"))
    verdict = page.locator(".verdict")
    expect(verdict.get_by_role("heading", name="The chain is whole")).to_be_visible()
    expect(verdict).to_contain_text("The chain of patients agrees with its newest anchor")
    journey.shoot(page, "1-verified")
    hand.press(menu(page, "Budget"))
    link = page.get_by_role("link", name="Download CSV")
    found = download(page, lambda: hand.press(link))
    journey.end(bar, 5)
    rows = list(csv.DictReader(io.StringIO(found.path().read_text(encoding="utf-8"))))
    chain = visitors.server.curator.home.ledger.entries("patients", 0)
    charged = {str(each.seq) for each in chain if '"kind":"charged"' in each.body}
    assert {each["entry"] for each in rows if each["kind"] == "charge"} == charged
    assert len(charged) >= len(ASKED)

    screens = page.get_by_role("navigation", name="Main").get_by_role("link")
    for name in screens.all_inner_texts():
        page.goto(visitors.address(name.strip().lower()))
        assert page.get_by_role("link", name=re.compile(r"^Ask\b")).count() == 0
        assert page.get_by_role("button", name=re.compile(r"^Ask\b")).count() == 0
        assert page.locator("form[action*='/ask'], [formaction*='/ask']").count() == 0
    visitors.open(page, "ask", 403)


# ------------------------------------------------------------------ every control, and lies

SCREENS = {
    "ann": ("ask", "answers", "catalogue", "budget", "publications"),
    "olga": (
        "decide",
        "decide/token",
        "budget?change=ann",
        "budget/freeze?population=patients",
        "assure",
    ),
}


only_keyboard = pytest.mark.parametrize("way", [Keyboard], indirect=True, ids=["keyboard"])


@only_keyboard
@pytest.mark.parametrize("who", SCREENS)
def test_a_keyboard_reaches_every_control(who: str, visitors: Visitors) -> None:
    page = visitors.visitor(who)
    for path in SCREENS[who]:
        visitors.open(page, path)
        page.wait_for_load_state("networkidle")
        assert round_of(page) == [], path


TRAP = '<input aria-label=x onkeydown="event.key === `Tab` && event.preventDefault()">'
LINK, BUTTON = '<a href="#x">first</a>', "<button>Freeze</button>"
LIES: dict[str, tuple[str, type[AssertionError]]] = {
    "left out": (f"{LINK}{LINK}<button tabindex=-1>Freeze</button>", NotReached),
    "not seen": (f"<style>button {{ outline: none }}</style>{LINK}{BUTTON}", Hidden),
    "out of sight": (
        f"<style>button {{ position: fixed; left: -999px }}</style>{LINK}{BUTTON}",
        Hidden,
    ),
    "a trap": (f"{TRAP}{BUTTON}", Trapped),
    "a circle": (
        f'{LINK}<input id=a aria-label=a><input aria-label=b onblur="a.focus()">{BUTTON}',
        Trapped,
    ),
}


@only_keyboard
@pytest.mark.parametrize("lie", LIES)
def test_a_page_that_a_keyboard_cannot_use_is_noticed(lie: str, visitors: Visitors) -> None:
    page = visitors.stranger()
    markup, wanted = LIES[lie]
    page.set_content(f"{LINK}{BUTTON}")
    Keyboard(page).press(page.get_by_role("button"))
    assert round_of(page) == []
    page.set_content(markup)
    with pytest.raises(wanted):
        Keyboard(page).press(page.get_by_role("button"))


@only_keyboard
def test_a_button_of_the_console_without_a_stop_is_noticed(visitors: Visitors) -> None:
    page = visitors.visitor("olga", "decide/token")
    button = page.get_by_role("button", name="Issue the token")
    button.evaluate("each => { each.tabIndex = -1; }")
    assert round_of(page) == ["button Issue the token"]
    with pytest.raises(NotReached, match="never stops at 'button Issue the token'"):
        Keyboard(page).press(button)
