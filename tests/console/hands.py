"""Hands that walk a journey through the console: a mouse, or a keyboard alone.

A journey is written once against `Hand`. `Mouse` counts clicks. `Keyboard` uses Tab, Enter,
Space and arrow keys only, and fails where an element cannot be reached, where its focus cannot
be seen and where focus is trapped. `round_of` walks a whole page and returns the controls that
it missed.
"""

import re
from abc import ABC, abstractmethod
from pathlib import Path
from time import monotonic

from playwright.sync_api import Locator, Page

__all__ = ["HANDS", "Hand", "Hidden", "Keyboard", "Mouse", "NotReached", "Trapped", "round_of"]

MOST_STOPS = 400
"""The most stops of Tab on one page: a page with more is not fit for a keyboard."""

STUCK = 3
"""Focus is trapped if so many presses of Tab in a row do not move it."""

LOOKS = Path(__file__).with_name("hands.js").read_text(encoding="utf-8")
"""Puts ``window.walked`` into a page, which sees the focus and whether it shows."""


class NotReached(AssertionError):
    """The keyboard passed the whole page, and did not stop at what it looked for."""


class Hidden(AssertionError):
    """An element has the focus, and nothing on the page shows that."""


class Trapped(AssertionError):
    """The focus goes round in a part of the page, and does not come out."""


class Hand(ABC):
    """How a person uses a page; it counts what the person does."""

    what = "clicks"

    def __init__(self, page: Page) -> None:
        self.page = page
        self.acts = 0
        """Number of clicks, or of keys that do not write text."""
        self._began = monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the hand began."""
        return monotonic() - self._began

    @abstractmethod
    def press(self, target: Locator) -> None:
        """Press a button, follow a link, or open what is folded."""

    @abstractmethod
    def go_to(self, target: Locator) -> None:
        """Give a field the focus."""

    @abstractmethod
    def tick(self, target: Locator) -> None:
        """Tick a box."""

    @abstractmethod
    def pick(self, target: Locator, beginning: str) -> None:
        """Pick the option of a list that begins with a text."""

    def write(self, target: Locator, text: str) -> None:
        """Write a text into a field, in the place of what it holds."""
        self.go_to(target)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)


class Mouse(Hand):
    """A hand with a mouse; only text is typed."""

    def press(self, target: Locator) -> None:
        """Click."""
        self.acts += 1
        target.click()

    def go_to(self, target: Locator) -> None:
        """Click into a field, unless the page has put the focus there."""
        target.wait_for()
        if not target.evaluate("each => each === document.activeElement"):
            self.press(target)

    def tick(self, target: Locator) -> None:
        """Click."""
        self.press(target)

    def pick(self, target: Locator, beginning: str) -> None:
        """Open the list with a click, and click the option."""
        self.acts += 2
        found = target.locator("option", has_text=re.compile(f"^{re.escape(beginning)}"))
        target.select_option(found.first.get_attribute("value"))


class Keyboard(Hand):
    """A hand without a mouse: Tab, Enter, Space and arrow keys.

    Guarantee: each element at which it stops shows that it has the focus, or `Hidden` is
    raised.
    """

    what = "keys"

    def press(self, target: Locator) -> None:
        """Go to the element, and press Enter, or Space for what is folded."""
        self.go_to(target)
        is_folded = target.evaluate("each => each.tagName === 'SUMMARY'")
        self._key("Space" if is_folded else "Enter")

    def tick(self, target: Locator) -> None:
        """Go to the box, and press Space."""
        self.go_to(target)
        self._key("Space")

    def pick(self, target: Locator, beginning: str) -> None:
        """Go to the list, and press an arrow key until the option is chosen."""
        self.go_to(target)
        self._key("Home")
        chosen = "each => each.selectedOptions[0].text"
        for _ in range(target.locator("option").count()):
            if target.evaluate(chosen).startswith(beginning):
                return
            self._key("ArrowDown")
        raise NotReached(f"Arrow keys do not choose {beginning}.")

    def go_to(self, target: Locator) -> None:
        """Press Tab until ``target`` has the focus."""
        target.wait_for()
        self.page.evaluate(f"window.walked || {LOOKS}")
        is_there = "each => each === document.activeElement"
        is_main = target.evaluate("each => Boolean(each.closest('main'))")
        walk = _Walk(self.page)
        while not target.evaluate(is_there):
            stop = walk.next(self._key)
            if stop.get("isSkip") and is_main and not target.evaluate(is_there):
                self._key("Enter")  # as people do who come to a page: past its navigation
            if walk.rounds > 1:
                name = target.evaluate("each => window.walked.nameOf(each)")
                raise NotReached(f"Tab never stops at {name!r}. It stops at {walk.names}.")

    def _key(self, name: str) -> None:
        self.acts += 1
        self.page.keyboard.press(name)


HANDS = (Mouse, Keyboard)


class _Walk:
    """One walk by Tab over a page: where it stopped, and how often it came round."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.names: list[str] = []
        self.numbers: set[int] = set()
        self.rounds = 0
        """How often the walk left the page at its end."""
        self._last = -1
        self._same = 0
        self._since_edge: set[int] = set()

    def next(self, key: object) -> dict[str, object]:
        """Press Tab once, and return the stop; raise if it is hidden or a trap."""
        page = self._page
        page.evaluate(f"window.walked ? window.walked.remember() : {LOOKS}")  # a new page
        key("Tab")  # type: ignore[operator] - what presses a key
        stop: dict[str, object] = page.evaluate("window.walked.stop()")
        number, name = int(str(stop["number"])), str(stop["name"])
        if number == 0:
            self.rounds += 1
            self._since_edge.clear()
        else:
            self._see(number, name, stop)
        self._last = number
        return stop

    def _see(self, number: int, name: str, stop: dict[str, object]) -> None:
        self._same = self._same + 1 if number == self._last else 0
        is_again = number in self._since_edge and number != self._last
        if is_again and stop["isFirst"]:  # a browser may go from the last stop to the first
            self.rounds += 1
            self._since_edge.clear()
        elif is_again or self._same >= STUCK or len(self.names) > MOST_STOPS:
            raise Trapped(f"Tab does not leave {name!r}. It stopped at {self.names}.")
        self._since_edge.add(number)
        self.numbers.add(number)
        self.names.append(name)
        if not stop["isShown"]:
            raise Hidden(f"{name!r} has the focus, and is not to be seen.")
        if not stop["isSeen"] and not self._page.evaluate("window.walked.isSeenAgain()"):
            raise Hidden(f"{name!r} has the focus, and looks as it does without it.")


def round_of(page: Page) -> list[str]:
    """Walk by Tab over a whole page, and return the names of controls that it missed.

    Raises:
        Hidden: an element does not show that it has the focus.
        Trapped: the focus does not come out of a part of the page.
    """
    page.evaluate(LOOKS)
    page.evaluate("document.activeElement?.blur()")
    walk = _Walk(page)
    while walk.rounds < 2:
        walk.next(page.keyboard.press)
    wanted: list[tuple[int, str]] = page.evaluate("window.walked.wanted()")
    return [name for number, name in wanted if number not in walk.numbers]
