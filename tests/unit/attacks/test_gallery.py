"""The gallery of attacks: which stories are run, and what their report says."""

import pytest

from tacit.attacks.finding import AttackVerdict, Finding, Measured
from tacit.attacks.gallery import ALLOWED, OURS, STORIES, find_stories, gallery_report
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
    assert "None of 1 attacks on answers of Tacit passed its limit." in honest
    assert "1 of 1 attacks on answers of Tacit succeeded more often" in lie
    assert "None of" not in lie


def test_a_report_on_synthetic_people_can_be_shared() -> None:
    text = report_with(7_000)
    assert "can be shared" in text
    assert WARNING not in text
    assert "asking-again: Asked twice." in text


def test_each_verdict_has_a_brief_form_of_its_own() -> None:
    brief = {verdict.brief for verdict in AttackVerdict}
    assert len(brief) == len(AttackVerdict)
    assert max(map(len, brief)) <= 16
