"""Asked by the error wanted: the least loss that reaches it, from public facts alone."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit as api
from tacit.core import Loss, Measure, RowsProfile
from tacit.errors import InvalidValue
from tacit.query import worst_error
from tacit.session.ask import price_question
from tacit.session.question import WantedError
from tacit.session.session import Session

COUNT = "SELECT ward, COUNT(*) AS n FROM data GROUP BY ward"
MEAN = "SELECT AVG(pay) AS pay FROM data"
LAW = (3, "a law")


def opened(folder: Path, rows: int = 300, **more: Any) -> Session:
    people = [number // 3 for number in range(rows)]
    frame = pd.DataFrame({"person": people, "ward": ["a", "b"] * (rows // 2), "pay": 1})
    declared = {"max_rows": 3, "most_rows": LAW} | more
    return api.open(
        frame,
        population="people",
        unit="person",
        max_groups=2,
        bounds={"pay": (0, 10)},
        keys={"ward": ["a", "b"]},
        budget=(50, 1e-6),
        folder=folder,
        **declared,
    )


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with opened(tmp_path) as found:
        yield found


def error_at(session: Session, text: str, loss: Loss, size: int = 1000) -> Fraction:
    question = session.sql(text)
    quote = price_question(question.curator, question.plan, loss)
    found = worst_error(quote, 0, size)
    assert found is not None
    return found


@pytest.mark.parametrize("within", [5, 8, 25, "12.5", Fraction(77, 3)])
def test_the_loss_is_the_least_that_reaches_the_error(session: Session, within: Any) -> None:
    question = session.sql(COUNT)
    loss = question.loss(within=within)
    assert loss.measure is Measure.ZCDP
    assert error_at(session, COUNT, loss) <= Fraction(within)
    less = Loss(loss.measure, loss.amount * Fraction(97, 100))
    assert error_at(session, COUNT, less) > Fraction(within)
    answer = question.ask(within=within)
    [low, _], [high, _] = zip(*answer["n"].intervals, strict=True)  # type: ignore[misc]
    assert high - low <= 2 * Fraction(within)
    assert answer.standing.cost.amount <= loss.amount


def test_a_share_is_of_the_size_that_is_assumed(session: Session) -> None:
    question = session.sql(COUNT)
    same = question.loss(within="2%", assume_size=[1000, 5000])
    assert same == question.loss(within=20)
    assert "within 2% of 1000 rows" in repr(question.quote(within="2%", assume_size=[1000]))
    with pytest.raises(InvalidValue, match="for which number of rows"):
        question.loss(within="2%")
    with pytest.raises(InvalidValue, match="for counts only"):
        session.sql(MEAN).loss(within="2%", assume_size=[1000])


def test_the_error_of_a_mean_is_for_a_number_of_rows(session: Session) -> None:
    question = session.sql(MEAN)
    with pytest.raises(InvalidValue, match="for which number of rows"):
        question.loss(within=1)
    loss = question.loss(within=1, assume_size=[400])
    assert error_at(session, MEAN, loss, 400) <= 1
    assert error_at(session, MEAN, Loss(loss.measure, loss.amount * Fraction(9, 10)), 400) > 1


def test_an_error_that_the_budget_does_not_reach_is_refused(session: Session) -> None:
    with pytest.raises(InvalidValue, match="even with the whole budget"):
        session.sql(COUNT).ask(within="0.01")
    assert not session.status().spent.amount


@pytest.mark.parametrize("within", [0, -3, "x", "0%", "-2%", float("nan")])
def test_an_error_that_is_none_is_refused(session: Session, within: Any) -> None:
    with pytest.raises(InvalidValue):
        session.sql(COUNT).ask(within=within, assume_size=[10])


def test_an_error_and_an_amount_exclude_each_other(session: Session) -> None:
    with pytest.raises(InvalidValue, match="Give one of"):
        session.sql(COUNT).ask(within=5, epsilon=1)


def test_where_the_cut_forbids_it_that_is_the_answer(tmp_path: Path) -> None:
    with (
        opened(tmp_path, most_rows=None) as session,
        pytest.raises(InvalidValue, match="No privacy loss gives a known error"),
    ):
        session.sql(COUNT).ask(within=25)
    profile = RowsProfile(2, 30, "1")
    with opened(tmp_path, most_rows=LAW, max_rows=2, profile=profile) as session:
        # 30 people can lack one row each
        with pytest.raises(InvalidValue, match="even with the whole budget"):
            session.sql(COUNT).ask(within=29)
        assert error_at(session, COUNT, session.sql(COUNT).loss(within=35)) <= 35
    with opened(tmp_path, most_rows=None, max_rows=2, profile=profile) as session:
        # the interval is for all but 30 people
        assert error_at(session, COUNT, session.sql(COUNT).loss(within=10)) <= 10


def test_the_quote_shows_the_curve_of_error_against_loss(session: Session) -> None:
    preview = session.sql(COUNT).quote(epsilon=1)
    errors = [error for _, error in preview.curve]
    assert len(errors) == 3
    assert errors == sorted(errors, reverse=True)
    # four times the loss is half of the error
    assert abs(errors[0] / errors[1] - 2) < Fraction(1, 10)
    assert "Other margins of error" in repr(preview)
    assert not session.sql(MEAN).quote(epsilon=1).curve


def test_the_loss_does_not_depend_on_the_rows(tmp_path: Path) -> None:
    losses = []
    for number, rows in enumerate((300, 30)):
        with opened(tmp_path / str(number), rows) as session:
            losses.append(session.sql(COUNT).loss(within=7))
    assert losses[0] == losses[1]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1000 * COUNT(*) AS n FROM data",
        "SELECT COUNT(*) / 2 AS n FROM data",
        "SELECT VAR_SAMP(pay) AS x FROM data",
        "SELECT MEDIAN(pay) AS x FROM data",
        "SELECT MAX(pay) AS x FROM data",
    ],
)
def test_errors_that_depend_on_the_data_cannot_be_wanted(session: Session, text: str) -> None:
    with pytest.raises(InvalidValue, match="only plain columns of COUNT, SUM and AVG"):
        session.sql(text).ask(within=5, assume_size=[1000])


def test_a_mean_at_its_bound_is_within_the_error(tmp_path: Path) -> None:
    with opened(tmp_path, 3000) as session:
        asked = session.sql("SELECT AVG(pay) AS pay FROM data WHERE pay > 0")
        # each is more exact than the one before, so that none is a free repeat
        wanted = [Fraction(30 - n, 100) for n in range(9)]
        answers = [asked.ask(within=each, assume_size=[3000]) for each in wanted]
    assert len({answer.receipt for answer in answers}) == 9
    held = 0
    for answer, within in zip(answers, wanted, strict=True):
        [mean], [(low, high)] = answer["pay"].values, answer["pay"].intervals  # type: ignore[misc]
        assert abs(mean - 1) <= 3 * within  # in 1 of 10^8 it is larger
        held += low <= 1 <= high
    assert held >= 6  # at 95%, fewer hold in 1 of 1,000 runs; these intervals hold more often


def test_rows_that_are_missing_of_a_mean_are_in_its_error(tmp_path: Path) -> None:
    profile = RowsProfile(2, 30, "1")
    with opened(tmp_path, most_rows=LAW, max_rows=2, profile=profile) as session:
        # 30 rows of 10 can be missing beside 300
        with pytest.raises(InvalidValue, match="even with the whole budget"):
            session.sql(MEAN).ask(within="0.5", assume_size=[300])
        assert session.sql(MEAN).loss(within=2, assume_size=[300]).amount > 0


def test_a_wanted_error_of_thousands_of_digits_is_refused(session: Session) -> None:
    with pytest.raises(InvalidValue, match="at most"):
        session.sql(COUNT).ask(within=10**5000)


def test_shares_are_read() -> None:
    assert WantedError.of(" 2.5% ") == WantedError(Fraction(1, 40), True)
    assert WantedError.of(25) == WantedError(Fraction(25))
