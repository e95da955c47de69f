"""Signed statements and pages: what is unchanged is read, and one changed byte is refused."""

import json

import pytest

from tacit.certify.signed_files import AUDIT, BEGIN, CERTIFICATE, SignedPage, Statement
from tacit.errors import InvalidValue
from tacit.store import SigningKey

KEY, OTHER = SigningKey(bytes(32)), SigningKey(bytes([1]) * 32)
CONTENT = {"made": "today", "city": "Zürich", "numbers": [1, 2.5, None], "deep": {"a": "b"}}


def test_a_statement_is_read_as_it_was_signed() -> None:
    text = Statement.sign(CERTIFICATE, CONTENT, KEY)
    found = Statement.of(text)
    assert (found.kind, found.content) == (CERTIFICATE, CONTENT)
    assert found.key == KEY.public.hex()


def test_one_changed_byte_of_a_statement_is_refused() -> None:
    text = Statement.sign(CERTIFICATE, CONTENT, KEY).encode()
    for at in range(len(text)):
        changed = bytearray(text)
        changed[at] ^= 1
        with pytest.raises((InvalidValue, UnicodeDecodeError)):
            Statement.of(bytes(changed).decode())


@pytest.mark.parametrize("text", ["", "{}", "[]", "1", '{"tacit audit": 1}', "[" * 100_000])
def test_what_is_no_statement_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="This is not a signed file of Tacit"):
        Statement.of(text)


def test_a_statement_of_one_kind_is_of_no_other() -> None:
    text = Statement.sign(AUDIT, CONTENT, KEY)
    stored = json.loads(text)
    moved = {CERTIFICATE: 1, "certificate": stored["report"]}
    moved |= {each: stored[each] for each in ("key", "signature")}
    with pytest.raises(InvalidValue, match="The signature does not match"):
        Statement.of(json.dumps(moved, ensure_ascii=False, indent=2) + "\n")


def test_a_page_is_read_as_it_was_signed() -> None:
    html = f'{BEGIN}\n<meta name="tacit" content="report"><p>Zürich</p>\n'
    found = SignedPage.of(SignedPage.sign(html, KEY))
    assert (found.html, found.kind, found.key) == (html, "report", KEY.public.hex())
    assert SignedPage.of(SignedPage.sign(f"{BEGIN}<p>x</p>", KEY)).kind == ""


def test_one_changed_byte_of_a_page_is_refused() -> None:
    page = SignedPage.sign(f"{BEGIN}<p>A page</p>\n", KEY)
    for at in range(len(page)):
        with pytest.raises(InvalidValue):
            SignedPage.of(page[:at] + chr(ord(page[at]) ^ 1) + page[at + 1 :])
    for longer in (page + "\n", page + page, "x" + page, page[1:], page[:-1], ""):
        with pytest.raises(InvalidValue):
            SignedPage.of(longer)


def test_the_signature_of_another_key_is_refused() -> None:
    page, other = (SignedPage.sign(f"{BEGIN}<p>x</p>", key) for key in (KEY, OTHER))
    swapped = page.replace(KEY.public.hex(), OTHER.public.hex())
    with pytest.raises(InvalidValue, match="The signature does not match"):
        SignedPage.of(swapped)
    assert SignedPage.of(other).key == OTHER.public.hex()
