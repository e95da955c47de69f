"""Ids of visits: how long they are valid, how they are replaced, and how many there are."""

import pytest

from tacit.server.console import sign_ins as module
from tacit.server.console.sign_ins import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    MOST_OF_ACCOUNT,
    OVERLAP_SECONDS,
    ROTATION_SECONDS,
    SignIn,
    SignIns,
)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sign_ins(clock: Clock) -> SignIns:
    return SignIns(clock)


def found(sign_ins: SignIns, id_: str) -> SignIn:
    visit = sign_ins.find(id_)
    assert visit is not None
    return visit


def test_a_visit_ends_when_it_is_idle(sign_ins: SignIns, clock: Clock) -> None:
    id_ = sign_ins.begin("t", "ann", "analyst")
    clock.now += IDLE_SECONDS
    found(sign_ins, id_)
    clock.now += IDLE_SECONDS + 1
    assert sign_ins.find(id_) is None
    assert len(sign_ins) == 0


def test_a_visit_ends_after_the_longest_time_also_if_it_is_not_idle(
    sign_ins: SignIns, clock: Clock
) -> None:
    id_ = sign_ins.begin("t", "ann", "analyst")
    while clock.now + IDLE_SECONDS <= LONGEST_SECONDS:
        clock.now += IDLE_SECONDS
        visit = found(sign_ins, id_)
        id_ = sign_ins.rotate(visit) or id_
    clock.now = LONGEST_SECONDS + 1
    assert sign_ins.find(id_) is None


def test_an_old_id_ends_a_minute_after_the_new_one_was_sent(
    sign_ins: SignIns, clock: Clock
) -> None:
    old = sign_ins.begin("t", "ann", "analyst")
    visit = found(sign_ins, old)
    assert sign_ins.rotate(visit) is None
    clock.now += ROTATION_SECONDS
    new = sign_ins.rotate(visit)
    assert new is not None
    assert new != old
    found(sign_ins, new)
    clock.now += OVERLAP_SECONDS
    found(sign_ins, old)
    clock.now += 1
    assert sign_ins.find(old) is None
    found(sign_ins, new)


def test_a_browser_that_lost_a_new_id_gets_another_one(sign_ins: SignIns, clock: Clock) -> None:
    old = sign_ins.begin("t", "ann", "analyst")
    visit = found(sign_ins, old)
    clock.now += ROTATION_SECONDS
    lost = sign_ins.rotate(visit)
    clock.now += OVERLAP_SECONDS + 1
    found(sign_ins, old)  # the response with the new one never arrived
    newest = sign_ins.rotate(visit)
    assert lost is not None
    assert newest is not None
    assert sign_ins.find(lost) is None
    found(sign_ins, newest)
    clock.now += OVERLAP_SECONDS + 1
    assert sign_ins.find(old) is None


def test_the_end_of_a_visit_ends_all_of_its_ids(sign_ins: SignIns, clock: Clock) -> None:
    ids = [sign_ins.begin("t", "ann", "analyst")]
    visit = found(sign_ins, ids[0])
    clock.now += ROTATION_SECONDS
    ids.append(sign_ins.rotate(visit) or "")
    sign_ins.end(visit)
    sign_ins.end(visit)
    assert [sign_ins.find(each) for each in ids] == [None, None]
    assert sign_ins.rotate(visit) is None
    assert len(sign_ins) == 0


def test_one_account_cannot_end_visits_of_another(
    sign_ins: SignIns, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_VISITS", 3 * MOST_OF_ACCOUNT)
    ann = sign_ins.begin("t", "ann", "analyst", "ann of patients")
    others = []
    for number in range(20 * MOST_OF_ACCOUNT):
        clock.now += 0.001
        account = f"ann of staff {number % 10}"
        others.append(sign_ins.begin("u", "ann", "analyst", account))
    found(sign_ins, ann)
    found(sign_ins, others[-1])
    assert sign_ins.find(others[0]) is None
    assert len(sign_ins) == 3 * MOST_OF_ACCOUNT
    assert len(sign_ins._found) == len(sign_ins)


def test_visits_of_one_name_would_end_each_other(sign_ins: SignIns, clock: Clock) -> None:
    """The lie: all tokens in one name are one account."""
    ann = sign_ins.begin("t", "ann", "analyst")
    for _ in range(MOST_OF_ACCOUNT):
        clock.now += 0.001
        sign_ins.begin("u", "ann", "analyst")
    assert sign_ins.find(ann) is None


def test_a_visit_never_prints_its_secrets(sign_ins: SignIns) -> None:
    visit = found(sign_ins, sign_ins.begin("tacit_secret", "ann", "analyst"))
    assert "tacit_secret" not in repr(visit)
    assert visit.csrf not in repr(visit)
