"""A signed report is read as it was written, and not at all where a byte was changed."""

import json

import pytest

from tacit.audit.report import SignedReport
from tacit.errors import InvalidValue
from tacit.store.key_files import SigningKey

KEY = SigningKey(bytes(range(32)))
REPORT = {"kept": True, "parts": [{"subject": "SELECT 'ä', 1", "shown": 0.9780000000000001}]}
TEXT = SignedReport.sign(REPORT, KEY)


def refused(text: str) -> bool:
    try:
        SignedReport.of(text)
    except InvalidValue:
        return True
    return False


def test_what_was_signed_is_read_back() -> None:
    signed = SignedReport.of(TEXT)
    assert signed.report == REPORT
    assert signed.key == KEY.public.hex()


def test_every_changed_byte_is_refused() -> None:
    whole = TEXT.encode()
    for place in range(len(whole)):
        for other in {whole[place] ^ 1, whole[place] ^ 32, ord(" "), ord("0")} - {whole[place]}:
            changed = whole[:place] + bytes([other]) + whole[place + 1 :]
            # what is no UTF-8 is refused before it is looked at
            assert refused(changed.decode(errors="replace")), (place, other)


def test_every_byte_that_is_left_out_or_added_is_refused() -> None:
    for place in range(len(TEXT)):
        assert refused(TEXT[:place] + TEXT[place + 1 :])
        assert refused(TEXT[:place] + " " + TEXT[place:])
    assert refused(TEXT + "\n")


def test_the_same_values_in_other_words_are_refused() -> None:
    told = json.loads(TEXT)
    assert refused(json.dumps(told))
    assert refused(TEXT.replace('"kept": true', '"kept": false, "kept": true'))
    assert refused(TEXT.replace("ä", "\\u00e4"))
    assert refused(TEXT.replace("0.9780000000000001", "0.97800000000000010"))
    assert not refused(TEXT)


def test_a_report_that_another_key_signed_is_told_by_its_key() -> None:
    forged = SignedReport.sign({**REPORT, "kept": False}, SigningKey(bytes(32)))
    assert SignedReport.of(forged).key != KEY.public.hex()
    assert refused(forged.replace(SignedReport.of(forged).key, KEY.public.hex()))


@pytest.mark.parametrize("text", ["", "{}", "[]", "1", '{"tacit audit": 1}', "[" * 10**5])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="not a signed report"):
        SignedReport.of(text)
