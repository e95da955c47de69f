"""The keys of a question: what makes two questions one, and what does not."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from asking import PERSON, TENTH, ask, population

from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population
from tacit.errors import InvalidValue
from tacit.ledger.charge import ChargeRequest, Target

ASKED = ask("count")
STAFF = Target(Population("staff", PERSON), TENTH)

Change = Callable[[ChargeRequest], ChargeRequest]

PUBLIC_PARTS: dict[str, Change] = {
    "another population": lambda q: replace(q, targets=(STAFF,)),
    "one population more": lambda q: replace(q, targets=(*q.targets, STAFF)),
    "another plan": lambda q: replace(q, plan=bytes(32)),
    "another loss": lambda q: replace(q, loss=Loss.pure("0.2")),
    "another measure": lambda q: replace(q, loss=Loss.zcdp("0.1")),
    "another delta": lambda q: replace(q, loss=Loss.approximate("0.1", "1e-9")),
    "another policy": lambda q: replace(q, policy="2"),
    "another epoch": lambda q: replace(q, epochs=("visits 2026-W47",)),
    "one dataset more": lambda q: replace(q, epochs=(*q.epochs, "wards 1")),
    "epochs run together": lambda q: replace(q, epochs=("visits", "2026-W46")),
}


@pytest.mark.parametrize("part", PUBLIC_PARTS)
def test_each_public_part_is_in_the_key_of_a_release(part: str) -> None:
    other = PUBLIC_PARTS[part](ASKED)
    assert other.release_key != ASKED.release_key
    assert other.binding != ASKED.binding


def test_no_two_of_them_share_a_key() -> None:
    keys = {change(ASKED).release_key for change in PUBLIC_PARTS.values()}
    # the measure is another, and so is the delta: no part stands for another one
    assert len(keys | {ASKED.release_key}) == len(PUBLIC_PARTS) + 1


@pytest.mark.parametrize(
    "same",
    [
        ask("count"),
        ask("count", principal="bob"),
        ask("count", request="another try"),
        replace(ASKED, loss=Loss.pure(Fraction(1, 10))),
    ],
)
def test_whoever_asks_an_equal_question_it_has_the_same_key(same: ChargeRequest) -> None:
    assert same.release_key == ASKED.release_key


def test_a_binding_names_who_asks_what() -> None:
    assert ask("count").binding == ASKED.binding
    assert ask("count", principal="bob").binding != ASKED.binding
    assert ask("sum", request="count").binding != ASKED.binding
    # the request's own name is its key, next to its principal
    assert ask("count", request="other").binding == ASKED.binding
    assert ask("count", request="other").request_key != ASKED.request_key


def test_keys_are_of_one_length_and_say_nothing() -> None:
    long = ask("count", request="r" * 200, principal="p" * 200)
    for question in (ASKED, long):
        keys = (question.request_key, question.release_key, question.binding)
        assert [len(key) for key in keys] == [32, 32, 32]


def test_keys_never_change() -> None:
    # stored releases are found under them for ever
    assert ASKED.release_key.hex() == (
        "0ee6386d4400e58aa0dbaae62ff496718023839b311ceb8778a78a93a54a9f75"
    )


@pytest.mark.parametrize("bad", ["", "x" * 201, "a\x00b", "a\nb", "\ud800"])
def test_names_have_a_length_and_can_be_printed(bad: str) -> None:
    with pytest.raises(InvalidValue, match="principal must have 1 to 200 printable characters"):
        ask("count", principal=bad)
    with pytest.raises(InvalidValue, match="request must have 1 to 200 printable characters"):
        ask("count", request=bad)
    assert ask("count", principal="Ångström, Jr", request="x" * 200)


def test_nobody_asks_in_the_name_of_a_group() -> None:
    with pytest.raises(InvalidValue, match="must not begin with @, which marks a group"):
        ask("count", principal="@all")
    assert ask("count", principal="ann@example.org")


def test_populations_come_once_each_and_in_order() -> None:
    patients = Target(population(), TENTH)
    assert replace(ASKED, targets=(patients, STAFF)).populations == ("patients", "staff")
    for wrong in ((), (STAFF, patients), (patients, patients)):
        with pytest.raises(InvalidValue, match="each population once, in sorted order"):
            replace(ASKED, targets=wrong)
