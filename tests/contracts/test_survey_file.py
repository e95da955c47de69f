"""Surveys: their files, forms, boxes, charges and estimates, without a browser."""

import json
from collections.abc import Iterator
from fractions import Fraction
from math import exp
from pathlib import Path

import numpy as np
import pytest

from tacit.cli.survey import _home
from tacit.errors import BudgetExceeded, InvalidValue, StoreFailed
from tacit.ledger.ledger import Ledger
from tacit.local.browser import script
from tacit.local.mean_oracles import OneBit, Piecewise
from tacit.numeric.entropy import SystemEntropy
from tacit.publish.survey.questions import Choice, Number
from tacit.publish.survey.survey import (
    Survey,
    answers_for,
    fingerprint_of,
    form_of,
    plan_of,
    read_survey,
)
from tacit.publish.survey.wave import Box, Found, estimate, open_wave, reports_in
from tacit.store.connect import open_sqlite

FILE = """
title = "Student life"
wave = "Autumn"
population = "students"
unit = "student"
epsilon = 5

[questions.copied]
text = "Ever copied?"
options = ["no", "yes"]
epsilon = 1
remember = true

[questions.food]
text = "What do you eat at noon?"
options = ["soup", "rice", "bread", "fruit", "fish", "cake", "nothing", "else"]
epsilon = "0.5"

[questions.hours]
text = "Hours of work a week?"
range = [10, 50]
epsilon = 1
"""


def made(tmp_path: Path, text: str = FILE) -> Survey:
    file = tmp_path / "survey.toml"
    file.write_text(text)
    return read_survey(file)


def sent(survey: Survey, people: int) -> list[dict[str, list[int]]]:
    """Reports of people who all copied, eat rice, and work 20 hours."""
    entropy, columns = SystemEntropy(b"their machines"), {}
    for question, answer in zip(survey.questions, (1, 1, 10), strict=True):
        told = question.oracle.randomise(np.full(people, answer), entropy)
        columns[question.name] = told.reshape(people, -1).tolist()
    return [{name: told[n] for name, told in columns.items()} for n in range(people)]


def test_a_file_is_read_with_its_randomisers(tmp_path: Path) -> None:
    copied, food, hours = made(tmp_path).questions
    assert isinstance(copied, Choice)
    assert (copied.oracle.size, copied.remember) == (1, True)
    assert isinstance(food, Choice)
    assert food.oracle.size == 3
    assert isinstance(hours, Number)
    assert hours.oracle == OneBit(40, hours.ratio)
    assert isinstance(Number("n", "n?", 0, 40, Fraction(2)).oracle, Piecewise)


def test_promises_are_sentences_with_the_true_odds(tmp_path: Path) -> None:
    survey = made(tmp_path)
    copied, food, hours = survey.questions
    assert "with probability 73.1%, and another one with probability 26.9%" in copied.promise
    assert (
        "sends 3 of these answers, drawn at random. Yours is one of them with probability 49.7%"
        in food.promise
    )
    assert "“high”: the probability is 73.1% at 50, and 26.9% at 10" in hours.promise
    near = Number("n", "n?", 0, 40, Fraction(2))
    assert "within 8 of yours" in near.promise
    assert "at most 92.4% (ε = 2.5)" in survey.promise
    assert "All waves together stay within ε = 5." in survey.promise
    assert "never leave this page" in survey.promise


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            'options = ["no", "yes"]',
            'options = ["no"]',
            "survey.toml:8: A question must have 2 to",
        ),
        (
            "range = [10, 50]",
            "range = [50]",
            r"survey.toml:19: A range must be \[lowest, highest\]",
        ),
        ("range = [10, 50]", "range = [50, 10]", "survey.toml:19: A range must go"),
        ('epsilon = "0.5"', "epsilon = 9", "survey.toml:14: The epsilon of a report"),
        (
            "remember = true",
            "remembers = true",
            "survey.toml:12: 'remembers' is not a known name",
        ),
        ('wave = "Autumn"', "", "'wave' is missing"),
        ("epsilon = 5", "epsilon = 2", r"One wave has a loss of ε = 2\.5, which is more"),
        ('wave = "Autumn"', f'wave = "{"x" * 99}"', "60 characters"),
    ],
)
def test_a_wrong_file_is_refused_at_its_line(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    with pytest.raises(InvalidValue, match=told):
        made(tmp_path, FILE.replace(old, new))


def test_a_survey_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="at least one question"):
        made(tmp_path, FILE[: FILE.index("[questions.copied]")] + "questions = {}")


@pytest.mark.parametrize(
    "reports",
    [
        None,
        [],
        {},
        {"copied": [1], "food": [0, 1, 2]},
        {"copied": [1], "food": [0, 1, 2], "hours": [1], "name": ["Ann"]},
        {"copied": [2], "food": [0, 1, 2], "hours": [1]},
        {"copied": ["1"], "food": [0, 1, 2], "hours": [1]},
        {"copied": [True], "food": [0, 1, 2], "hours": [1]},
        {"copied": [1], "food": [2, 1, 0], "hours": [1]},
        {"copied": [1], "food": [0, 1, 8], "hours": [1]},
        {"copied": [1], "food": [0, 1], "hours": [1]},
        {"copied": [1], "food": [], "hours": [1]},
        {"copied": [1], "food": [0, 1, 2], "hours": [2]},
        {"copied": [1], "food": [0, 1, 2], "hours": [1, 1]},
    ],
)
def test_what_no_form_sends_is_refused(tmp_path: Path, reports: object) -> None:
    with pytest.raises(InvalidValue):
        made(tmp_path).check(reports)


def test_what_forms_send_is_taken(tmp_path: Path) -> None:
    survey = made(tmp_path)
    for reports in sent(survey, 100):
        assert survey.check(reports) == reports


def test_a_form_runs_our_scripts_alone_and_takes_texts_as_texts(tmp_path: Path) -> None:
    hostile = FILE.replace("Ever copied?", "</script><script>alert(1)</script> {{form}}")
    page = form_of(made(tmp_path, hostile))
    assert page.count("<script") == 3
    assert "default-src 'none'; script-src 'sha256-" in page
    assert "connect-src 'self'" in page
    assert script("randomise.js") in page
    assert page.count(script("form.js")) == 1
    assert "http" not in page.replace("http-equiv", "")


def test_the_fingerprint_is_of_what_is_asked_and_promised(tmp_path: Path) -> None:
    survey, other = made(tmp_path), made(tmp_path, FILE.replace("Autumn", "Spring"))
    changed = made(tmp_path, FILE.replace("epsilon = 1\nrem", "epsilon = 2\nrem"))
    assert len({survey.fingerprint, other.fingerprint, changed.fingerprint}) == 3
    assert fingerprint_of(survey.questions[0]) == fingerprint_of(other.questions[0])
    assert fingerprint_of(survey.questions[0]) != fingerprint_of(changed.questions[0])


def test_a_box_keeps_each_report_once_and_survives_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "box" / "wave.jsonl"
    box = Box(path)
    box.put("1" * 32, {"copied": [1]})
    box.put("1" * 32, {"copied": [0]})
    box.put("2" * 32, {"copied": [0]})
    box.close()
    with path.open("a") as file:
        file.write('["333",{"cop')
    again = Box(path)
    again.put("2" * 32, {"copied": [1]})
    again.put("4" * 32, {"copied": [1]})
    assert reports_in(path) == [{"copied": [1]}, {"copied": [0]}, {"copied": [1]}]
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(InvalidValue, match="An id must have"):
        again.put("", {})
    with pytest.raises(StoreFailed, match="another server"):
        Box(path)
    again.close()
    assert reports_in(tmp_path / "none.jsonl") == []


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    store = open_sqlite(tmp_path / "ledger.db")
    yield Ledger(store)
    store.close()


def spent(ledger: Ledger) -> float:
    return float(ledger.status("students").spent.amount)


def test_a_wave_is_charged_once_and_what_is_remembered_in_the_first_alone(
    tmp_path: Path, ledger: Ledger
) -> None:
    first, second = made(tmp_path), made(tmp_path, FILE.replace("Autumn", "Spring"))
    open_wave(first, ledger, by="olga")
    assert spent(ledger) == pytest.approx(2.5, abs=1e-4)
    open_wave(first, ledger, by="olga")
    open_wave(first, ledger, by="ben")
    assert spent(ledger) == pytest.approx(2.5, abs=1e-4)
    open_wave(second, ledger, by="olga")
    assert spent(ledger) == pytest.approx(4, abs=1e-4)
    third = made(tmp_path, FILE.replace("Autumn", "Summer"))
    with pytest.raises(
        BudgetExceeded,
        match=r"'Summer' needs epsilon 1\.499993, but olga can spend only epsilon 1",
    ):
        open_wave(third, ledger, by="olga")
    assert spent(ledger) == pytest.approx(4, abs=1e-4)
    assert ledger.verify("students")


def test_a_form_that_is_changed_is_charged_anew_for_all_that_is_drawn_anew(
    tmp_path: Path, ledger: Ledger
) -> None:
    open_wave(made(tmp_path), ledger, by="olga")
    # another question was reworded: browsers draw the answers to this one again as well
    open_wave(made(tmp_path, FILE.replace("at noon", "at night")), ledger, by="olga")
    assert spent(ledger) == pytest.approx(4, abs=1e-4)


def test_a_form_that_promises_less_than_may_be_lost_is_not_served(
    tmp_path: Path, ledger: Ledger
) -> None:
    open_wave(made(tmp_path), ledger, by="olga")
    with pytest.raises(InvalidValue, match="promises epsilon 4 for all waves"):
        open_wave(made(tmp_path, FILE.replace("epsilon = 5", "epsilon = 4")), ledger, by="olga")


def test_the_lie_that_remembers_nothing_pays_for_every_wave(
    tmp_path: Path, ledger: Ledger
) -> None:
    forgetful = FILE.replace("remember = true", "remember = false")
    open_wave(made(tmp_path, forgetful), ledger, by="olga")
    open_wave(made(tmp_path, forgetful.replace("Autumn", "Spring")), ledger, by="olga")
    assert spent(ledger) == pytest.approx(5, abs=1e-4)


def filled(tmp_path: Path, survey: Survey, people: int) -> Found:
    box = Box(tmp_path / "reports.jsonl")
    for number, reports in enumerate(sent(survey, people)):
        box.put(f"{number:032x}", reports)
    box.close()
    return estimate(survey, reports_in(tmp_path / "reports.jsonl"))


def test_estimates_are_tables_with_intervals_a_page_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)  # not what is looked at here
    survey = made(tmp_path, FILE.replace("rice", "<b>rice</b>"))
    found = filled(tmp_path, survey, 2000)
    copied, food, hours = found.tables
    assert float(copied[1].values[1]) == pytest.approx(100, abs=30)  # type: ignore[arg-type]
    assert float(food[1].values[1]) == pytest.approx(100, abs=60)  # type: ignore[arg-type]
    assert float(hours[1].values[0]) == pytest.approx(20, abs=15)  # type: ignore[arg-type]
    assert "Autumn: 2000 answers" in str(found)
    page = found.html()
    assert page.count("<svg") == 3
    assert "<b>" not in page
    told = json.loads(json.dumps(found.to_json()))
    assert told["questions"]["copied"]["copied"] == ["no", "yes"]
    assert len(told["questions"]["hours"]["mean_low"]) == 1


def test_few_answers_are_not_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    with pytest.raises(InvalidValue, match="29 answers are too few"):
        filled(tmp_path, made(tmp_path), 29)


def test_a_plan_gives_the_answers_that_the_margin_takes() -> None:
    copied = Choice("copied", "Ever copied?", ("no", "yes"), Fraction(1))
    by_hand = (1 / 4 + exp(1) / (exp(1) - 1) ** 2) * (1.96 / 0.03) ** 2
    assert answers_for(copied, Fraction("0.03")) == 4997
    assert by_hand == pytest.approx(4997, abs=1)
    rows = plan_of(copied, Fraction("0.03"))
    assert [column.name for column in rows][1] == "answers needed"
    assert [int(value) for value in rows[1].values] == [17790, 4997, 1840]  # type: ignore[arg-type]
    hours = Number("hours", "Hours?", 0, 40, Fraction(4))
    assert len(plan_of(hours, Fraction(1))[0].values) == 3
    with pytest.raises(InvalidValue, match="above 0"):
        answers_for(hours, Fraction(0))


def test_a_survey_beside_a_project_is_charged_to_its_ledger(tmp_path: Path) -> None:
    made(tmp_path)
    with _home(tmp_path / "survey.toml") as home:
        assert home.ledger.populations() == ()
    assert (tmp_path / ".tacit" / "ledger.db").exists()
    (tmp_path / "tacit.toml").write_text("nonsense = 1")
    with (
        pytest.raises(InvalidValue, match=r"tacit\.toml:1: 'nonsense' is not a known name"),
        _home(tmp_path / "survey.toml"),
    ):
        pass
