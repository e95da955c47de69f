"""The gallery of attacks: which stories are run, and what their report says."""

from textwrap import wrap

import numpy as np
import pytest

from tacit.attacks.finding import AttackVerdict, Finding, Measured
from tacit.attacks.gallery import (
    ALLOWED,
    EXCHANGED,
    OURS,
    STORIES,
    GalleryNoise,
    find_stories,
    gallery_report,
)
from tacit.attacks.membership import presence, presence_of_two
from tacit.attacks.report import WARNING, AttackedItem
from tacit.errors import InvalidValue


def report_with(hits: int) -> str:
    found = Finding("averaging", OURS, "is Bob in?", Measured.share(hits, 9999), 0.5, ALLOWED)
    return str(gallery_report([AttackedItem("asking-again", (found,), "Asked twice.")]))


def test_all_stories_are_run_unless_some_are_named() -> None:
    assert [story.name for story in find_stories(())] == list(STORIES)
    named = find_stories(["a-model", "equal-grades", "a-model"])
    assert [story.name for story in named] == ["a-model", "equal-grades"]


def test_an_unknown_story_is_refused_with_the_names() -> None:
    with pytest.raises(InvalidValue, match="no story 'a-modle'") as refused:
        find_stories(["a-model", "a-modle"])
    assert all(name in str(refused.value) for name in STORIES)


def test_each_story_is_explained_in_one_sentence() -> None:
    for name, story in STORIES.items():
        assert story.name == name
        assert story.about[0].isupper()
        assert story.about.count(".") == 1
        assert story.about.endswith(".")


def test_a_report_says_whether_a_limit_was_passed() -> None:
    honest, lie = report_with(7_000), report_with(9_000)
    assert "Of 1 attack on answers of Tacit, none is measurably above its limit." in honest
    assert "Of 1 attack on answers of Tacit, 1 is measurably above its limit. Run the" in lie
    assert "none is" not in lie
    by_chance = report_with(7_350)
    assert "Of 1 attack on answers of Tacit, none is measurably above its limit." in by_chance
    assert "if its whole 99.99% confidence interval is above it." in by_chance


def exchanged() -> tuple[np.ndarray, np.ndarray]:
    """Scores for and against Alice, who took part in the first answers, and Bob in the others.

    The answer is 1 for Alice and -1 for Bob, and one person changes it by 1.
    """
    noise, ones = GalleryNoise.live(), np.ones(20_000)
    return noise.laplace(ones, 1), noise.laplace(-ones, 1)


def test_two_people_are_told_apart_more_often_than_one_is_found() -> None:
    alice, bob = exchanged()
    found = presence_of_two("best", OURS, alice, bob, EXCHANGED)
    assert found.verdict is AttackVerdict.HELD
    right = Measured.share(np.sum(alice > 0) + np.sum(alice == 0) / 2, alice.size)
    assert right.low > ALLOWED
    assert right.high < EXCHANGED
    # the lie: the limit for one person who is in or not
    assert presence("best", OURS, alice, bob, ALLOWED).verdict is AttackVerdict.BROKEN


@pytest.mark.parametrize(
    ("story", "limit"),
    [("many-means", EXCHANGED), ("noise-that-fits", EXCHANGED), ("one-rich-patient", ALLOWED)],
)
def test_a_story_has_the_limit_of_its_game(story: str, limit: float) -> None:
    (ours,) = (
        each
        for each in STORIES[story].attack(GalleryNoise.live()).findings
        if each.system == OURS
    )
    assert ours.allowed == limit
    assert (ours.learns == "which of two answers has the person in it") == (limit == ALLOWED)


def test_a_report_on_synthetic_people_can_be_shared() -> None:
    text = report_with(7_000)
    assert "can be shared" in text
    assert WARNING not in text
    assert "asking-again: Asked twice." in text


def test_each_verdict_has_a_brief_form_of_its_own() -> None:
    brief = {verdict.brief for verdict in AttackVerdict}
    assert len(brief) == len(AttackVerdict)
    assert max(len(line) for words in brief for line in wrap(words, 16)) <= 16
    assert max(len(wrap(words, 16)) for words in brief) <= 2
