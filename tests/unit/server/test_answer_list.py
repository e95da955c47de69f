"""Answers are listed soon, together and in order, and no answer waits for its place."""

import threading
from dataclasses import dataclass, field
from typing import cast

import pytest

from tacit.server.answer_list import MOST_TOGETHER, AnswerList
from tacit.store import GivenAnswer, GivenAnswers


@dataclass(eq=False)
class SlowList:
    """A list whose writer waits until a test lets it go on."""

    began: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)
    written: list[tuple[GivenAnswer, ...]] = field(default_factory=list)

    def add(self, *answers: GivenAnswer) -> None:
        self.began.set()
        assert self.goes_on.wait(30)
        if not self.written:
            self.written.append(answers)
            raise RuntimeError("the first transaction fails")
        self.written.append(answers)

    @property
    def place(self) -> GivenAnswers:
        return cast("GivenAnswers", self)


def given(number: int) -> GivenAnswer:
    key = number.to_bytes(32, "big")
    return GivenAnswer("ann", key, key, "patients", (), "", "{}", "")


def test_no_answer_waits_and_those_that_wait_are_written_together() -> None:
    slow, known = SlowList(), AnswerList()
    for number in range(MOST_TOGETHER + 50):
        known.add(slow.place, given(number))
    assert not slow.written  # and yet all of them were added
    assert not known.settle(0.05)
    slow.goes_on.set()
    assert known.settle(30)
    assert len(slow.written) <= 4
    written = [each for answers in slow.written for each in answers]
    assert written == [given(number) for number in range(MOST_TOGETHER + 50)]
    known.close()


def test_a_failure_ends_nothing() -> None:
    slow, known = SlowList(), AnswerList()
    slow.goes_on.set()
    known.add(slow.place, given(1))
    assert known.settle(30)
    known.add(slow.place, given(2))
    assert known.settle(30)
    assert slow.written == [(given(1),), (given(2),)]
    known.close()


def test_too_many_are_left_out_and_the_rest_is_written_at_the_end() -> None:
    slow, known = SlowList(), AnswerList(most=10)
    known.add(slow.place, given(0))
    assert slow.began.wait(30)  # the first is on its way, and no longer waits
    for number in range(1, 100):
        known.add(slow.place, given(number))
    slow.goes_on.set()
    known.close()
    written = [each for answers in slow.written for each in answers]
    assert written == [given(number) for number in range(11)]
    known.add(slow.place, given(200))
    assert known.settle(0.05)


def test_each_ledger_has_its_own_transaction() -> None:
    one, two, known = SlowList(), SlowList(), AnswerList()
    for number in range(10):
        known.add((one, two)[number % 2].place, given(number))
    one.goes_on.set()
    two.goes_on.set()
    assert known.settle(30)
    assert {each.receipt[-1] % 2 for answers in one.written for each in answers} == {0}
    assert {each.receipt[-1] % 2 for answers in two.written for each in answers} == {1}
    known.close()


def test_a_list_that_was_never_used_has_no_thread() -> None:
    before = threading.active_count()
    known = AnswerList()
    assert known.settle(0)
    known.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_a_reader_does_not_wait_for_what_comes_later(seconds: float) -> None:
    slow, known = SlowList(), AnswerList()
    assert known.settle(seconds)
    known.add(slow.place, given(1))
    assert not known.settle(seconds)
    slow.goes_on.set()
    known.close()
