import json

import numpy as np
import pytest

from tacit.attacks.finding import AttackVerdict, Finding, Measured
from tacit.attacks.report import WARNING, AttackedItem, AttackReport, side_by_side
from tacit.errors import InvalidValue


def finding(hits: int, allowed: float | None = None, *, fact: bool = False) -> Finding:
    success = Measured.share(hits, 10_000)
    return Finding("averaging", "<b>ours</b>", "is Bob in?", success, 0.5, allowed, fact)


@pytest.mark.parametrize(
    ("hits", "allowed", "verdict"),
    [
        (9_990, None, AttackVerdict.TOLD),
        (6_000, None, AttackVerdict.LEAKS),
        (5_100, None, AttackVerdict.GUESS),
        (7_000, 0.731, AttackVerdict.HELD),
        (5_100, 0.731, AttackVerdict.GUESS),
        (7_350, 0.731, AttackVerdict.HELD),  # above the limit, by chance
        (7_600, 0.731, AttackVerdict.BROKEN),
    ],
)
def test_a_verdict_follows_from_chance_and_what_is_allowed(
    hits: int, allowed: float | None, verdict: AttackVerdict
) -> None:
    assert finding(hits, allowed).verdict is verdict


def test_the_words_of_a_verdict_do_not_contradict_its_numbers() -> None:
    by_chance = "73.5% (71.7% to 75.2%), a guess 50%, allowed 73.1%: "
    held = "tells more than a guess, and is not measurably above its limit"
    assert str(finding(7_350, 0.731)).endswith(by_chance + held)
    assert str(finding(5_100)).endswith("a guess 50%: not measurably better than a guess")
    lie = str(finding(7_600, 0.731))
    assert "allowed 73.1%: measurably above its limit" in lie
    for verdict in (AttackVerdict.HELD, AttackVerdict.GUESS):
        for words in (verdict.value, verdict.brief):
            assert "not measurably " in words


def test_a_limit_is_rarely_called_broken_by_an_attack_that_just_reaches_it() -> None:
    hits = np.random.default_rng(7).binomial(20_000, 0.731, 2000)
    tried = [Measured.share(int(each), 20_000) for each in hits]
    found = [Finding("a", "b", "c", each, 0.5, 0.731) for each in tried]
    assert 0.4 < np.mean([each.value > 0.731 for each in tried]) < 0.6  # by chance
    assert sum(each.verdict is AttackVerdict.BROKEN for each in found) <= 3


def test_a_fact_is_nobodys_leak_and_nothing_to_be_proud_of() -> None:
    assert finding(10_000, fact=True).verdict is AttackVerdict.FACT
    assert not AttackVerdict.FACT.good


def test_an_interval_holds_the_share_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    for share in (0.02, 0.5, 0.9):
        hits = random.binomial(200, share, 2000)
        held = [
            found.low <= share <= found.high
            for found in (Measured.share(int(each), 200, 0.95) for each in hits)
        ]
        assert 0.92 <= np.mean(held) <= 0.98


def test_the_area_of_a_coin_is_a_half_within_its_interval() -> None:
    random = np.random.default_rng(2)
    found = Measured.area(random.normal(size=3000), random.normal(size=2000))
    assert found.low < 0.5 < found.high
    assert found.high - found.low < 0.08
    better = Measured.area(random.normal(1, 1, 3000), random.normal(size=2000))
    assert better.low < 0.7602 < better.high


def test_no_share_of_nothing() -> None:
    with pytest.raises(InvalidValue, match="at least 1 attempt"):
        Measured.share(0, 0)
    with pytest.raises(InvalidValue, match="probability"):
        Finding("a", "b", "c", Measured.share(1, 1), 2.0)


def test_a_report_is_one_page_and_whatever_stands_in_it_is_text() -> None:
    report = AttackReport(
        "<script>", "ε = 1", (AttackedItem("SELECT '<i>'", (finding(7_000, 0.731),)),)
    )
    page = report.html()
    assert "<script" not in page
    assert "&lt;b&gt;ours&lt;/b&gt;" in page
    assert "SELECT &#x27;&lt;i&gt;&#x27;" in page
    assert "<svg" in page
    assert "http" not in page
    assert "is not private" in page
    told = json.loads(report.to_json())
    assert told["warning"] == WARNING
    assert told["parts"][0]["findings"][0]["verdict"] == AttackVerdict.HELD.value
    assert "is Bob in? 70%" in str(report)


def test_findings_of_one_attack_stand_side_by_side() -> None:
    names = ["linkage", "uniqueness", "linkage"]
    found = [Finding(name, "", "", Measured.share(1, 2), 0.5) for name in names]
    assert [each.attack for each in side_by_side(found)] == ["linkage", "linkage", "uniqueness"]
