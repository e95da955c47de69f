"""A bound for luck: it holds for blind attackers, and tells those who know something."""

from itertools import permutations
from math import comb

import numpy as np
import pytest

from tacit.attacks.chance import Guesses, judge, luck, or_blind
from tacit.attacks.finding import ERROR, AttackVerdict, Finding, Measured, Tone
from tacit.errors import InvalidValue


def exact_luck(guesses: tuple[int, ...], truth: tuple[int, ...], right: int) -> float:
    """The share of all orders of the secrets with so many right guesses."""
    orders = list(permutations(truth))
    hits = [sum(a == b for a, b in zip(guesses, each, strict=True)) for each in orders]
    return sum(each >= right for each in hits) / len(orders)


@pytest.mark.parametrize(
    ("guesses", "truth"),
    [
        ((0, 0, 0, 1, 1, 1, 1), (0, 0, 0, 0, 1, 1, 1)),
        ((0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4, 5, 6)),
        ((0, 0, 1, 1, 2, 2, 2), (0, 0, 0, 1, 1, 2, 2)),
        ((0, 0, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 0, 1)),
    ],
)
def test_the_bound_is_above_the_share_of_all_orders_and_near_it(
    guesses: tuple[int, ...], truth: tuple[int, ...]
) -> None:
    guessed, have = (np.bincount(each, minlength=7).tolist() for each in (guesses, truth))
    for right in range(len(truth) + 1):
        shown, exactly = luck(guessed, have, right), exact_luck(guesses, truth, right)
        assert shown >= exactly * (1 - 1e-9)
        if exactly > 0:
            assert shown <= 8 * exactly
    # the last number of right guesses has one moment, which is exact
    whole = sum(map(min, guessed, have))
    assert luck(guessed, have, whole) == pytest.approx(exact_luck(guesses, truth, whole))


def test_a_rare_value_that_is_named_is_counted_as_drawn_without_replacement() -> None:
    assert luck([5], [5], 5) == pytest.approx(1)  # all people have it
    assert luck([5, 0], [5, 995], 5) == pytest.approx(1 / comb(1000, 5))
    assert luck([1000, 0], [5, 995], 5) == pytest.approx(1)  # to name everybody finds them all
    assert luck([1, 0], [1, 999], 1) == pytest.approx(1 / 1000)


@pytest.mark.parametrize("have", [(500, 500), (5, 995), (390, 300, 200, 100, 10)])
def test_a_blind_attacker_is_believed_as_rarely_as_it_says(have: tuple[int, ...]) -> None:
    random = np.random.default_rng(78)
    truth = np.repeat(np.arange(len(have)), have)
    shares = random.dirichlet(np.ones(len(have)))
    guesses = random.choice(len(have), truth.size, p=shares)
    guessed = np.bincount(guesses, minlength=len(have)).tolist()
    hits = np.array(
        [np.count_nonzero(random.permutation(truth) == guesses) for _ in range(4000)]
    )
    bounds = {right: luck(guessed, list(have), right) for right in set(hits.tolist())}
    found = np.array([bounds[right] for right in hits.tolist()])
    for level in (0.5, 0.1, 0.01, 0.001):
        # 4 standard errors above the stated probability
        assert np.mean(found <= level) <= level + 4 * np.sqrt(level / 4000)
    # the lie: a fifth of the bound would not be one
    assert np.mean(found / 50 <= 0.01) > 0.01


def test_more_guesses_are_told_from_luck_than_by_the_first_moment() -> None:
    have = [25_000, 25_000]
    assert luck(have, have, 25_000) == 1
    assert luck(have, have, 25_300) > ERROR  # 2.7 standard deviations
    assert luck(have, have, 25_700) < ERROR  # 6.3
    alone = [1] * 50_000
    assert luck(alone, alone, 3) > 0.1
    assert luck(alone, alone, 12) < ERROR


def test_what_is_no_count_of_guesses_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at most 3 right guesses, but 4"):
        luck([3], [3], 4)
    with pytest.raises(InvalidValue, match="each of the 2 values"):
        luck([3], [1, 2], 1)
    with pytest.raises(InvalidValue, match="one guess for each person"):
        Guesses(np.zeros(2, dtype=np.int64), np.zeros(3, dtype=np.int64))


# ------------------------------------------------------------------ guesses


RARE = np.array([1] * 5 + [0] * 995)
NOBODY = np.zeros(1000, dtype=np.int64)


def old_verdict(guesses: np.ndarray, truth: np.ndarray) -> AttackVerdict:
    """The lie of earlier versions: the share of right guesses beside the commonest value."""
    success = Measured.share(int(np.count_nonzero(guesses == truth)), truth.size)
    chance = float(np.bincount(truth).max() / truth.size)
    return AttackVerdict.LEAKS if success.low > chance else AttackVerdict.GUESS


def test_a_rare_secret_that_is_reconstructed_is_never_green() -> None:
    found = judge("a", "b", "c", Guesses(RARE, RARE))
    assert found.verdict is AttackVerdict.TOLD
    assert found.success.value == 1
    assert str(found.naming) == (
        "names 5 of the 5 who have it, and 0 others (a blind guess of as many: 0.025)"
    )
    assert "names 5 of the 5" in str(found)
    assert old_verdict(RARE, RARE) is AttackVerdict.GUESS  # the lie: green


def test_naming_nobody_is_worth_a_coin_and_not_995_of_a_thousand() -> None:
    found = judge("a", "b", "c", Guesses(NOBODY, RARE))
    assert found.success.value == found.chance == 0.5
    assert found.verdict is AttackVerdict.GUESS
    assert found.verdict.tone is Tone.GREEN


def test_three_of_five_who_are_named_are_a_leak_that_accuracy_hides() -> None:
    named = NOBODY.copy()
    named[[0, 1, 2, 700]] = 1
    assert np.mean(named == RARE) < 0.9975
    assert judge("a", "b", "c", Guesses(named, RARE)).verdict is AttackVerdict.LEAKS


def test_claims_may_be_other_people_than_those_guessed() -> None:
    found = Guesses(NOBODY, RARE, claims=RARE)
    assert found.balanced_accuracy().value == 0.5
    assert found.luck < ERROR


def test_too_few_people_are_never_green() -> None:
    few = np.array([0, 1, 0, 1])
    found = judge("a", "b", "c", Guesses(few, few))
    assert found.verdict is AttackVerdict.UNCLEAR
    assert found.verdict.tone is Tone.GREY
    one = NOBODY.copy()
    one[0] = 1
    assert judge("a", "b", "c", Guesses(one, one)).verdict is AttackVerdict.UNCLEAR
    # what is certain needs no luck
    assert judge("a", "b", "c", Guesses(one, one), proved=1).verdict is AttackVerdict.TOLD


def test_one_value_for_everybody_is_a_fact() -> None:
    assert judge("a", "b", "c", Guesses(NOBODY, NOBODY)).verdict is AttackVerdict.FACT


def test_what_is_learned_without_the_person_is_a_fact_and_not_green() -> None:
    truth = np.arange(1000) % 2
    guesses = np.where(np.arange(1000) < 900, truth, 1 - truth)
    known = judge("a", "b", "c", Guesses(guesses, truth), allowed=0.95, without=0.9)
    assert known.verdict is AttackVerdict.FACT
    assert known.verdict.tone is Tone.AMBER
    own = judge("a", "b", "c", Guesses(guesses, truth), allowed=0.95, without=0.5)
    assert own.verdict is AttackVerdict.HELD
    assert own.verdict.tone is Tone.AMBER
    # few people: the interval holds a guess, which explains nothing of what was learned
    wide = Finding("a", "b", "c", Measured.share(12, 20), 0.5, 0.8, luck=1e-9, without=0.5)
    assert wide.success.low < 0.5
    assert wide.verdict is AttackVerdict.HELD
    broken = judge("a", "b", "c", Guesses(guesses, truth), allowed=0.73, without=0.5)
    assert broken.verdict is AttackVerdict.BROKEN
    assert broken.verdict.tone is Tone.RED


def test_an_attacker_who_may_guess_blindly_is_never_worse_than_a_guess() -> None:
    worse = Finding("a", "b", "c", Measured.share(40, 100), 0.5, 0.7, luck=0.9)
    found = or_blind(worse).success
    assert found.value == 0.5
    assert found.low <= worse.success.low <= found.value <= found.high
    better = Finding("a", "b", "c", Measured.share(60, 100), 0.5, 0.7, luck=0.9)
    assert or_blind(better) is better


def test_a_share_that_could_not_be_told_from_a_guess_is_not_green() -> None:
    """Also where the interval decides: 1,000 of 1,000 beside a guess of 99.5%."""
    found = Finding("a", "b", "c", Measured.share(1000, 1000), 0.995)
    assert found.verdict is AttackVerdict.UNCLEAR
    assert Finding("a", "b", "c", Measured.share(995, 1000), 0.9).verdict is AttackVerdict.TOLD
