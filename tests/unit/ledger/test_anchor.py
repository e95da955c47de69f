"""Anchors: old copies are refused, whatever the clock says, and other chains too."""

from collections.abc import Callable

import pytest
from asking import answer, ask, open_pure
from history import write_history

from tacit.errors import InvalidValue, LedgerBroken
from tacit.ledger.chain import Anchor, AnchorFile, Head, check_anchor, take_anchor
from tacit.ledger.ledger import Ledger
from tacit.store.store import Store

Opener = Callable[[str], Store]


def test_what_was_charged_after_the_anchor_is_accepted(store: Store) -> None:
    ledger = Ledger(store)
    write_history(ledger)
    anchor = take_anchor(store)
    answer(ledger, ask("one more"))
    open_pure(ledger, "1", "visitors")
    check_anchor(store, anchor)
    verdict = ledger.verify("patients", anchor)
    assert verdict.anchored
    assert not ledger.verify("visitors", anchor).anchored
    assert "match the anchor" in str(verdict)
    assert "no anchor was given" in str(ledger.verify("patients"))


def test_another_ledger_of_the_same_length_is_refused(
    new_store: Callable[[str], str], opened: Opener
) -> None:
    ours, theirs = opened(new_store("sqlite")), opened(new_store("sqlite"))
    for store in (ours, theirs):
        write_history(Ledger(store))
    with pytest.raises(LedgerBroken, match="differs from the entry that was anchored"):
        Ledger(theirs, anchor=take_anchor(ours))


def test_a_population_that_vanished_is_refused(store: Store) -> None:
    open_pure(Ledger(store))
    heads = take_anchor(store).heads
    with pytest.raises(LedgerBroken, match="ends before entry 1"):
        Ledger(store, anchor=Anchor((*heads, Head("staff", 1, bytes(32)))))


def test_an_anchor_is_its_own_line(store: Store) -> None:
    write_history(Ledger(store))
    anchor = take_anchor(store)
    assert [head.population for head in anchor.heads] == ["patients", "staff"]
    assert Anchor.of(anchor.text) == anchor
    assert "\n" not in anchor.text
    assert anchor.head("nobody") is None


class Lines:
    """A file of anchors in memory: what of a path is needed to read it."""

    def __init__(self, written: str | None) -> None:
        self.written = written

    def exists(self) -> bool:
        return self.written is not None

    def read_text(self) -> str:
        assert self.written is not None
        return self.written


def newest(written: str | None) -> Anchor | None:
    return AnchorFile(Lines(written)).newest()  # type: ignore[arg-type]


def test_the_newest_anchor_is_the_last_whole_line() -> None:
    first, second = (Anchor((Head("staff", seq, bytes(32)),)) for seq in (1, 2))
    assert newest(None) is None
    assert newest("") is None
    assert newest(f"{first.text}\n") == first
    assert newest(f"{first.text}\n{second.text}\n") == second
    for length in range(len(second.text) + 1):  # a crash cut the line short
        assert newest(second.text[:length]) is None
        assert newest(f"{first.text}\n{second.text[:length]}") == first


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "7", '{"heads":[["a",1,"zz"]]}', '{"heads":1}']
)
def test_what_is_not_an_anchor_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="text is not an anchor"):
        Anchor.of(text)
