"""A survey from end to end: Chromium randomises, the server never learns, estimates hold."""

import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import Bar
from playwright.sync_api import Browser, Page
from respondents import SITE, Mailbox, Serving, answer_in, bodies, chromium, post
from scipy.stats import chisquare

from tacit.cli.main import main
from tacit.local.browser import script
from tacit.publish.survey.questions import Choice, Number
from tacit.publish.survey.survey import Question, Survey, read_survey
from tacit.publish.survey.wave import Found, estimate, reports_in
from tacit.session.curator import LedgerFolder

DRAWS = 10**5
ODD = 1e-6
PEOPLE, IN_BROWSERS = 10_000, 5
SURE = 1 - Fraction(1, 10**7)
FILE = """
title = "Student life"
wave = "Autumn"
population = "students"
unit = "student"
epsilon = 6

[questions.copied]
text = "Have you ever copied in an exam?"
options = ["canary-no", "canary-yes"]
epsilon = 1
remember = true

[questions.food]
text = "What do you eat at noon?"
options = ["canary-1", "canary-2", "canary-3", "canary-4", "canary-5", "canary-6"]
epsilon = 1

[questions.hours]
text = "How many hours a week do you work for money?"
range = [10, 50]
epsilon = 2
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A browser that nobody has used before."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def made(folder: Path, text: str = FILE) -> Survey:
    (folder / "survey.toml").write_text(text)
    return read_survey(folder / "survey.toml")


# ---------------------------------------------------------------- the law in the browser

DRAW = """([recipe, answer, draws]) => {
  const found = {};
  for (let drawn = 0; drawn < draws; drawn++) {
    const report = JSON.stringify(randomise(recipe, answer));
    found[report] = (found[report] ?? 0) + 1;
  }
  return found;
}"""
EIGHT = tuple("abcdefgh")
LAWS: list[tuple[Question, int, str]] = [
    (Choice("one", "?", ("no", "yes"), Fraction(1)), 1, "kept"),
    (Choice("some", "?", EIGHT, Fraction("0.5")), 5, "kept"),
    (Number("bit", "?", 0, 10, Fraction("0.6")), 8, "truth"),
    (Number("near", "?", 0, 10, Fraction(2)), 3, "near"),
]


def law_of(question: Question, answer: int) -> dict[str, float]:
    """The probability of each report, from what the estimator assumes."""
    ratio = float(question.ratio)
    if isinstance(question, Choice):
        size = question.oracle.size
        sets = list(combinations(range(len(question.options)), size))
        weights = [ratio if answer in each else 1.0 for each in sets]
        names = [json.dumps(list(each), separators=(",", ":")) for each in sets]
    elif question.recipe["kind"] == "oneBit":
        high = answer / question.oracle.steps
        weights = [ratio * (1 - high) + high, ratio * high + 1 - high]
        names = ["[0]", "[1]"]
    else:
        reach, steps = question.recipe["reach"], question.recipe["steps"]
        told = range(steps + 2 * reach + 1)
        weights = [ratio if abs(t - reach - answer) <= reach else 1.0 for t in told]
        names = [f"[{t}]" for t in told]
    return {n: w / sum(weights) for n, w in zip(names, weights, strict=True)}


def fit(found: dict[str, int], law: dict[str, float]) -> float:
    assert set(found) <= set(law)
    seen = [found.get(name, 0) for name in law]
    return float(chisquare(seen, [DRAWS * chance for chance in law.values()]).pvalue)


@pytest.mark.claim
@pytest.mark.parametrize(("question", "answer", "coin"), LAWS, ids=lambda each: str(each)[:12])
def test_the_browser_draws_by_the_law_that_the_estimator_assumes(
    page: Page, bar: Bar, question: Question, answer: int, coin: str
) -> None:
    page.add_script_tag(content=script("randomise.js"))
    law, recipe = law_of(question, answer), question.recipe
    honest = fit(page.evaluate(DRAW, [recipe, answer, DRAWS]), law)
    top, bottom = recipe[coin]
    lie = recipe | {coin: [top * 105, bottom * 100]}
    if bottom * 100 > 2**32:
        lie = recipe | {coin: [round(top * 1.05), bottom]}
    lied = fit(page.evaluate(DRAW, [lie, answer, DRAWS]), law)
    bar(f"10^5 draws in Chromium, {question.name}, p", honest, "> 1e-6", honest > ODD)
    bar(f"10^5 draws, {question.name}, coin 5% off, p", lied, "< 1e-6", lied < ODD)


# ---------------------------------------------------------------- 10,000 respondents


def answered() -> dict[str, np.ndarray]:
    """Made up: 18% copied, four of six eat what many eat, hours around 20."""
    made_up = np.random.default_rng(10)
    return {
        "copied": (made_up.random(PEOPLE) < 0.18).astype(np.int64),
        "food": made_up.choice(6, PEOPLE, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01]),
        "hours": np.clip(made_up.normal(10, 6, PEOPLE).round(), 0, 40).astype(np.int64),
    }


def truths(answers: dict[str, np.ndarray]) -> list[list[float]]:
    """What the estimates should be near: percents of all, and the mean of all."""
    shares = [
        (100 * np.bincount(answers[name], minlength=size) / PEOPLE).tolist()
        for name, size in (("copied", 2), ("food", 6))
    ]
    return [*shares, [float(answers["hours"].mean()) + 10]]


def held(found: Found, true: list[list[float]]) -> int:
    """How many of the nine intervals hold what is true."""
    return sum(
        float(low) <= value <= float(high)
        for table, values in zip(found.tables, true, strict=True)
        for (low, high), value in zip(table[1].intervals, values, strict=True)  # type: ignore[misc]
    )


@pytest.mark.claim
def test_ten_thousand_people_are_estimated_and_none_is_known(
    browser: Browser, tmp_path: Path, bar: Bar
) -> None:
    survey, answers, log = made(tmp_path), answered(), tmp_path / "server.log"
    file = str(tmp_path / "survey.toml")
    with Serving(tmp_path / "survey.toml", log) as server:
        for person in range(IN_BROWSERS):
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{server.port}/")
            answer_in(page, survey, {name: int(each[person]) for name, each in answers.items()})
            page.get_by_text("This, and nothing else, left your browser").wait_for()
            context.close()
        rest = {name: each[IN_BROWSERS:] for name, each in answers.items()}
        assert post(server.port, bodies(survey, rest)) == {204}
        # sent again, by somebody whose connection broke
        assert post(server.port, bodies(survey, {n: e[:50] for n, e in rest.items()})) == {204}
    (box,) = (tmp_path / ".tacit" / "surveys").iterdir()
    kept = reports_in(box)
    bar("people whose reports are kept", len(kept), "10000", len(kept) == PEOPLE)
    true = truths(answers)
    sure, usual = (
        held(estimate(survey, kept, each), true) for each in (SURE, Fraction("0.95"))
    )
    bar("of 9 intervals, hold the truth at 95%", usual, ">= 3", usual >= 3)
    bar("of 9 intervals, hold the truth at 1 - 1e-7", sure, "9", sure == 9)
    # the lie: what was told, taken for the truth
    told = Counter(reports["copied"][0] for reports in kept)[1] / PEOPLE
    low, high = estimate(survey, kept, SURE).tables[0][1].intervals[1] or (0, 0)
    assert not low <= 100 * told <= high
    # a wave is charged once, and what was estimated is free
    assert CliRunner().invoke(main, ["survey", "estimate", file]).exit_code == 0
    home = LedgerFolder.at(tmp_path / ".tacit")
    spent = home.ledger.status("students").spent
    assert [float(spent.amount)] == pytest.approx([4], abs=1e-3)
    home.store.close()
    # the disk and the log hold integers that were drawn, and no text of an answer
    written = [log.read_bytes(), *(f.read_bytes() for f in _files(tmp_path / ".tacit"))]
    assert sum(map(len, written)) > 300_000
    found = sum(text.count(b"canary") for text in written)
    bar("texts of answers on the server's disk and in its log", found, "0", found == 0)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


# ---------------------------------------------------------------- canaries

NEVER_TRUE = """() => {
  let next = 2 ** 32;
  crypto.getRandomValues = (words) => {
    for (let place = 0; place < words.length; place++) words[place] = --next;
    return words;
  };
}"""
"""Every coin of such a browser falls on the side of a lie, so that no report is true."""

LEAK = 'const sent = reports(); sent.said = new FormData(form).get("food");'


def of_sixty(tmp_path: Path) -> Survey:
    """One question with sixty answers, of which a report tells a few."""
    survey = made(tmp_path)
    options = tuple(f"canary-{place}" for place in range(60))
    food = Choice("food", "What do you eat?", options, Fraction(2))
    return Survey(survey.title, survey.wave, survey.population, survey.epsilon, (food,))


def leaked(mailbox: Mailbox, answer: int) -> bool:
    """Whether the true answer stands in what was sent, as a number or as a text."""
    (body,) = mailbox.sent
    sent = json.loads(body)
    del sent["id"], sent["survey"]
    return answer in _numbers(sent) or "canary" in body


def _numbers(sent: Any) -> set[int]:
    if isinstance(sent, dict | list):
        inner = sent.values() if isinstance(sent, dict) else sent
        return set().union(*map(_numbers, inner))
    return {int(sent)} if str(sent).isdigit() else set()


@pytest.mark.parametrize("answer", [0, 41])
def test_a_browser_that_always_lies_sends_nothing_true(
    page: Page, tmp_path: Path, answer: int
) -> None:
    survey = of_sixty(tmp_path)
    page.add_init_script(f"({NEVER_TRUE})()")
    mailbox = Mailbox(page, survey)
    page.goto(SITE)
    answer_in(page, survey, {"food": answer})
    page.get_by_text("This, and nothing else").wait_for()
    assert not leaked(mailbox, answer)
    kept = page.evaluate("Object.values(localStorage)")
    assert kept == [json.dumps(json.loads(mailbox.sent[0]), separators=(",", ":"))]


def test_a_form_that_tells_the_answer_is_caught(page: Page, tmp_path: Path) -> None:
    survey = of_sixty(tmp_path)
    page.add_init_script(f"({NEVER_TRUE})()")
    mailbox = Mailbox(page, survey)
    honest = mailbox.form
    mailbox.form = honest.replace("const sent = reports();", LEAK, 1)
    page.goto(SITE)
    # the page's own policy refuses a script that is not ours
    assert page.locator("fieldset").count() == 0
    mailbox.form = mailbox.form.replace("Content-Security-Policy", "x-none")
    page.goto(SITE)
    answer_in(page, survey, {"food": 41})
    page.get_by_text("This, and nothing else").wait_for()
    assert leaked(mailbox, 41)


# ---------------------------------------------------------------- waves, and sending again


def test_a_report_is_drawn_once_however_often_it_is_sent(page: Page, tmp_path: Path) -> None:
    survey = made(tmp_path)
    mailbox = Mailbox(page, survey)
    mailbox.fails = 2
    page.goto(SITE)
    answer_in(page, survey, {"copied": 1, "food": 3, "hours": 20})
    page.get_by_text("the same reply will be sent").wait_for()
    answer_in(page, survey, {"copied": 0, "food": 1, "hours": 2})
    page.get_by_role("button", disabled=False).wait_for()
    page.goto(SITE)  # opened anew, it sends what was drawn, and asks nothing
    page.get_by_text("This, and nothing else").wait_for()
    assert len(mailbox.sent) == 3
    assert len(set(mailbox.sent)) == 1


def test_what_is_remembered_is_told_again_and_not_asked_again(
    page: Page, tmp_path: Path
) -> None:
    told = []
    for wave in ("Autumn", "Spring", "Summer"):
        survey = made(tmp_path, FILE.replace("Autumn", wave))
        mailbox = Mailbox(page, survey)
        page.goto(SITE)
        if told:
            assert page.get_by_text("in an earlier wave").count() == 1
            assert page.locator('input[name="copied"]').count() == 0
            later = Survey(wave, wave, survey.population, Fraction(6), survey.questions[1:])
            answer_in(page, later, {"food": 3, "hours": 20})
        else:
            answer_in(page, survey, {"copied": 1, "food": 3, "hours": 20})
        page.get_by_text("This, and nothing else").wait_for()
        told.append(json.loads(mailbox.sent[0]))
    assert len({str(each["reports"]["copied"]) for each in told}) == 1
    assert len({each["id"] for each in told}) == 3


def test_an_empty_question_or_a_number_out_of_range_is_not_sent(
    page: Page, tmp_path: Path
) -> None:
    survey = made(tmp_path)
    mailbox = Mailbox(page, survey)
    page.goto(SITE)
    page.get_by_role("button").click()
    answer_in(page, survey, {"copied": 1, "food": 3, "hours": 41})
    assert mailbox.sent == []
    assert page.evaluate("localStorage.length") == 0
