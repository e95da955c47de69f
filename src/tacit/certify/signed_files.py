"""Signed files that anybody can verify offline: statements as JSON, and pages as HTML.

A *statement* is JSON in one canonical form, with the public key and the signature in it. A
*page* is HTML that needs no other file, with key and signature in a comment at its end. Both
are signed with Ed25519 by the key of the installation that made them.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from tacit.errors import InvalidValue
from tacit.store import SigningKey, is_signed

VERSION = 1

AUDIT, CERTIFICATE, REPORT = "tacit audit", "tacit certificate", "tacit report"
"""The kinds of statements, by which their files begin. A message of one kind is of no other."""

BODIES = {AUDIT: "report", CERTIFICATE: "certificate", REPORT: "report"}
"""The name of the content of each kind."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The content of a signed statement, and the public key that signed it.

    Guarantee: a text with one byte changed, added or left out is refused.

    Example:
        >>> text = Statement.sign(CERTIFICATE, {"made": "today"}, SigningKey(bytes(32)))
        >>> Statement.of(text).content
        {'made': 'today'}
    """

    kind: str
    content: dict[str, Any]
    key: str

    @staticmethod
    def sign(kind: str, content: dict[str, Any], key: SigningKey) -> str:
        """Return the text of the signed file."""
        signature = key.sign(_message(kind, content))
        return _text(kind, content, key.public.hex(), signature.hex())

    @classmethod
    def of(cls, text: str) -> "Statement":
        """Return the statement in ``text``, and raise if it was changed."""
        try:
            stored = json.loads(text)
            kind = next(iter(stored))
            content, key, signature = (stored[each] for each in (BODIES[kind], *ENDS))
            parts = bytes.fromhex(signature), bytes.fromhex(key)
            # the text has one canonical form, so that a change of any byte is found
            unchanged = _text(kind, content, parts[1].hex(), parts[0].hex()) == text
            signed = unchanged and is_signed(_message(kind, content), *parts)
        except (
            AttributeError,
            KeyError,
            StopIteration,
            TypeError,
            ValueError,
            RecursionError,
        ) as error:
            raise InvalidValue(
                "This is not a signed file of Tacit. Name a certificate, a report or an audit "
                "that Tacit wrote."
            ) from error
        if not signed:
            raise _changed_error()
        return cls(kind, content, key)


ENDS = ("key", "signature")


def _message(kind: str, content: dict[str, Any]) -> bytes:
    """Return the signed bytes, whose prefix no other kind of signed message has."""
    return f"{kind} {VERSION}\n{json.dumps(content, ensure_ascii=False)}".encode()


def _text(kind: str, content: dict[str, Any], key: str, signature: str) -> str:
    held = {kind: VERSION, BODIES[kind]: content, "key": key, "signature": signature}
    return json.dumps(held, ensure_ascii=False, indent=2) + "\n"


def _changed_error() -> InvalidValue:
    return InvalidValue(
        "The signature does not match this file: the file was changed, or it was not signed "
        "with the key that it names. Ask for the original file."
    )


# ------------------------------------------------------------------ pages

BEGIN = "<!doctype html>"
_END = re.compile(r"<!-- tacit page 1 ([0-9a-f]{64}) ([0-9a-f]{128}) -->\n")
_END_CHARACTERS = len("<!-- tacit page 1   -->\n") + 64 + 128
_MADE = re.compile(r'<meta name="tacit" content="([a-z ]{1,40})">')


@dataclass(frozen=True, slots=True)
class SignedPage:
    """The HTML of a signed page without its signature, its kind, and the key that signed it.

    Guarantee: a page with one byte changed, added or left out is refused.

    Example:
        >>> page = SignedPage.sign(f"{BEGIN}<p>Hello</p>", SigningKey(bytes(32)))
        >>> SignedPage.of(page).html
        '<!doctype html><p>Hello</p>'
    """

    html: str
    key: str

    @property
    def kind(self) -> str:
        """The kind of the page, such as a certificate; it is empty if the page names none."""
        found = _MADE.search(self.html)
        return found[1] if found else ""

    @staticmethod
    def sign(html: str, key: SigningKey) -> str:
        """Return the page with its signature at the end."""
        signature = key.sign(_page_message(html)).hex()
        return f"{html}<!-- tacit page 1 {key.public.hex()} {signature} -->\n"

    @classmethod
    def of(cls, text: str) -> "SignedPage":
        """Return the page in ``text``, and raise if it was changed."""
        html, end = text[:-_END_CHARACTERS], _END.fullmatch(text[-_END_CHARACTERS:])
        if end is None or not text.startswith(BEGIN):
            raise InvalidValue(
                "This page has no signature at its end, so that it was changed, or Tacit did "
                "not write it. Ask for the original file."
            )
        if not is_signed(_page_message(html), bytes.fromhex(end[2]), bytes.fromhex(end[1])):
            raise _changed_error()
        return cls(html, end[1])


def _page_message(html: str) -> bytes:
    return f"tacit page {VERSION}\n{html}".encode()
