"""Pages from templates, with what every page has: navigation, headers and a policy.

Whatever comes from data, from people or from an error is text to a template. Jinja escapes it,
and this module makes characters visible that would change how the text around them is read.
"""

import json
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

from fastapi import Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tacit.server.console.sign_ins import random_text
from tacit.server.token_policy import Role

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; report-uri /console/policy-reports"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}

SCREENS = (
    ("ask", "Ask", (Role.ANALYST, Role.OWNER)),
    ("answers", "Answers", (Role.ANALYST, Role.OWNER)),
    ("catalogue", "Catalogue", (Role.ANALYST, Role.OWNER, Role.AUDITOR)),
    ("budget", "Budget", (Role.ANALYST, Role.OWNER, Role.AUDITOR)),
    ("decide", "Decide", (Role.OWNER,)),
    ("publications", "Publications", (Role.ANALYST, Role.OWNER)),
    ("assure", "Assure", (Role.OWNER, Role.AUDITOR)),
)
"""The screens in the order of the navigation, and the roles that they are for."""

CONNECT = ("connect", "Connect")
"""The screen of those who may connect a database."""

LONGEST_TEXT = 10_000
BIDIRECTIONAL = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Marks that change the order of the text around them."""

INVISIBLE = (
    *(*range(9), 11, 12, *range(14, 32), *range(127, 160), 0xAD, 0x034F, 0x115F, 0x1160),
    *(0x17B4, 0x17B5, *range(0x180B, 0x180F), *range(0x200B, 0x200E), 0x2028, 0x2029),
    *(*range(0x2060, 0x2066), *range(0x206A, 0x2070), 0x2800, 0x3164, 0xFEFF, 0xFFA0),
    *(*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFFC), *range(0x1BCA0, 0x1BCA4)),
    *(*range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)),
)
"""Characters that are not seen, so that two texts which differ by one would look the same."""

SHOWN = {code: f"⟨U+{code:04X}⟩" for code in (*BIDIRECTIONAL, *INVISIBLE)}

MOST_MARKS = 4
"""The most marks on one letter that are drawn; more would cover the lines around it."""

_MARK = (
    "[\u0300-\u036f\u0483-\u0489\u0610-\u061a\u064b-\u065f\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_TOWER = re.compile(f"(?<={_MARK}{{{MOST_MARKS}}}){_MARK}")
"""A mark above or below a letter that has `MOST_MARKS` others already."""


def visible(text: object) -> str:
    r"""Return a text in which no character is invisible or moves others, of bounded length.

    Of many marks on one letter, which would cover other lines, four are drawn.

    Example:
        >>> print(visible("a\u202eb\0"))
        a⟨U+202E⟩b⟨U+0000⟩
    """
    shown = str(text)
    is_long = len(shown) > LONGEST_TEXT
    shown = shown[:LONGEST_TEXT]
    if not (shown.isascii() and shown.isprintable()):  # most texts are
        shown = _TOWER.sub(lambda mark: f"⟨U+{ord(mark[0]):04X}⟩", shown.translate(SHOWN))
        shown = shown.encode("utf-8", "backslashreplace").decode()  # a lone surrogate
    return f"{shown}…" if is_long else shown


def as_typed(text: object) -> Markup:
    """Return a text for a field in which a person changes it: escaped, and else as it is.

    `visible` would change what the form sends. A first line that is empty stays.
    """
    kept = str(text).replace("\0", "\N{REPLACEMENT CHARACTER}")
    return escape(kept.encode("utf-8", "replace").decode())


def percent(share: float | Fraction) -> str:
    """Return a share for people, never rounded to all or nothing.

    Example:
        >>> percent(0.0533), percent(0.00001), percent(1)
        ('5.3%', 'below 0.1%', '100%')
    """
    if 0 < share < 0.001:  # noqa: PLR2004 - it would be shown as 0.0%
        return "below 0.1%"
    return f"{100 * float(share):.1f}".removesuffix(".0") + "%"


def number(value: object) -> str:
    """Return a number for people: thousands are separated, and no digits are made up.

    Example:
        >>> number(1234567), number(0.62), number("text")
        ('1,234,567', '0.62', 'text')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return visible(value)
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return f"{value:,.10g}"


class Templates:
    """The templates of the console, and the responses that they make."""

    def __init__(self) -> None:
        self._pages = Environment(
            loader=PackageLoader("tacit.server.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_finalize,
        )
        self._pages.filters |= {
            "percent": percent,
            "number": number,
            "visible": visible,
            "typed": as_typed,
            "json_data": json_data,
        }
        self._pages.globals["ui"] = self._pages.get_template("parts/macros.html").module

    def respond(self, template: str, status: int = 200, **context: Any) -> Response:
        """Return the page from ``template`` and the ``context``."""
        nonce = random_text()
        sign_in = context.pop("sign_in", None)
        role = "" if sign_in is None else sign_in.role
        screens = [(at, name) for at, name, roles in SCREENS if role in roles]
        if sign_in is not None and sign_in.may_set_up:
            screens.append(CONNECT)
        text = self._pages.get_template(template).render(
            nonce=nonce,
            sign_in=sign_in,
            screens=screens,
            **{"screen": "", "budgets": [], **context},
        )
        headers = HEADERS | {"Content-Security-Policy": POLICY.format(nonce=nonce)}
        return Response(text, status, headers, media_type="text/html")


def _finalize(value: object) -> object:
    """Make each text visible before it is escaped; markup of our own stays as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def json_data(value: Mapping[str, Any] | Sequence[Any]) -> Markup:
    r"""Return a value as JSON for a script element of data, which no text in it can end.

    Example:
        >>> print(json_data(["</script>"]))
        ["\u003c/script\u003e"]
    """
    text = json.dumps(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - it has no character of markup


@cache
def static_names() -> frozenset[str]:
    """Return the names of the files in the folder ``static``."""
    folder = resources.files("tacit.server.console") / "static"
    return frozenset(each.name for each in folder.iterdir() if each.is_file())


def static_file(name: str) -> bytes:
    """Return the content of a file of `static_names`."""
    return (resources.files("tacit.server.console") / "static" / name).read_bytes()
