"""What pages compute for themselves: pictures, files and words, without a server."""

import csv
import io
from typing import Any

import pytest

from tacit.server.console.answers_shown import show_answer
from tacit.server.console.downloads import harmless, to_csv
from tacit.server.console.pictures import BOTTOM, LEFT, RIGHT, TOP, draw_bars, draw_curve
from tacit.server.console.quotes_shown import Wanted, loss_on

FORMULAS = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    " =1+1",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "\x00=1+1",
    "\ufeff=1+1",
    "\u00a0=1+1",
    "\uff1d1+1",
)


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_begins_as_a_formula(text: str) -> None:
    [[head], [cell]] = csv.reader(io.StringIO(to_csv({text: [text]}), newline=""))
    assert head == cell
    # the lie: without the mark, a spreadsheet would read a formula or skip to one
    assert cell.lstrip(" \ufeff\u00a0")[0] == "'"
    assert cell[1:].replace("\N{SYMBOL FOR NULL}", "\0") == text


@pytest.mark.parametrize(
    "text", ["north", "a=b", "1-2", "", "e@mail", "'quoted'", 'a"b', "x\ny"]
)
def test_other_texts_and_numbers_stay_as_they_are(text: str) -> None:
    assert harmless(text) == text
    assert harmless(-5) == -5
    rows = list(csv.reader(io.StringIO(to_csv({"k": [text], "n": [-5]}), newline="")))
    assert rows[1] == [text, "-5"]


def numbers(path: str) -> list[tuple[float, float]]:
    """The points of a path."""
    pairs = [each.split() for each in path[1:].split(" L")]
    return [(float(x), float(y)) for x, y in pairs]


def test_a_curve_stays_inside_its_picture() -> None:
    points = [(each / 10, 40 / each) for each in range(1, 100)]
    marks = [(0.5, 8.0), (1.0, 4.0)]
    drawn = draw_curve(points, marks, (1.0, 4.0), {(0.5, 8.0): "free"}, (0.8, "too much"))
    assert drawn is not None
    for x, y in numbers(drawn["path"]):
        assert LEFT <= x <= RIGHT
        assert TOP <= y <= BOTTOM
    assert numbers(drawn["path"])[0][1] == TOP  # it comes in at the upper edge
    assert numbers(drawn["path"])[-1][0] == RIGHT
    assert float(drawn["beyond"]["x"]) < float(drawn["asked"]["x"])
    assert len(drawn["free"]) == 1


@pytest.mark.parametrize("points", [[], [(1.0, 1.0)]])
def test_too_little_is_not_drawn(points: list[tuple[float, float]]) -> None:
    assert draw_curve(points, [(1.0, 1.0)], None, {}, None) is None
    assert draw_bars([("only", 1.0, 0.0, 2.0)]) is None


def test_bars_have_intervals_also_below_zero_and_open_ones() -> None:
    drawn = draw_bars([("a", -3, -10, 4), ("b", 12, 5, None)])
    assert drawn is not None
    assert drawn["is_upright"]
    first, second = drawn["bars"]
    assert float(first["y"]) == float(drawn["zero"])  # it hangs below the axis
    assert first["whisker"].count("h14") == 2
    assert second["whisker"].count("h14") == 1


def test_many_or_long_keys_are_drawn_lying_and_cut() -> None:
    hostile = "<script>alert(1)</script>" * 400
    drawn = draw_bars([(hostile, 3, 2, 4), ("\u202eb", 12, 5, 19)])
    assert drawn is not None
    assert not drawn["is_upright"]
    assert all(len(each["key"]) <= 18 for each in drawn["bars"])
    assert "\u202e" not in drawn["bars"][1]["key"]
    assert draw_bars([(str(each), 1, 0, 2) for each in range(25)]) is None


def answer(**columns: list[Any]) -> dict[str, Any]:
    """An answer of the API."""
    return {"columns": columns, "confidence": {"n": 0.95}, "coverage": [], "dates": None}


def test_an_interval_stands_next_to_each_number() -> None:
    shown = show_answer(answer(k=["a", None], n=[10, 20], n_low=[5, None], n_high=[15, None]))
    assert [each["text"] for each in shown["heads"]] == ["k", "n", "95% interval"]
    assert [[cell["text"] for cell in row] for row in shown["rows"]] == [
        ["a", "10", "5 to 15"],
        ["NULL", "20", "none"],
    ]
    assert shown["title"] == "Answer, ± 5"
    # the lie: with two different margins, no title states one
    other = show_answer(answer(k=["a", "b"], n=[10, 20], n_low=[5, 19], n_high=[15, 21]))
    assert other["title"] == "Answer"


def test_long_answers_say_what_they_left_out() -> None:
    count = [*range(1000)]
    shown = show_answer(answer(k=count, n=count, n_low=count, n_high=count))
    assert len(shown["rows"]) == 200
    assert shown["left_out"] == 800


# ------------------------------------------------------------------ the error of the noise


def curve(stored: tuple[str, ...] = ()) -> dict[str, Any]:
    """A curve whose margin is 10 / sqrt(rho)."""

    def point(rho: str) -> dict[str, Any]:
        margin = str(round(10 / float(rho) ** 0.5, 9))
        return {"rho": rho, "epsilon": rho, "delta": "0", "margin": margin}

    return {
        "asked": point("0.01"),
        "points": [point(each) for each in ("0.001", "0.01", "0.1", "1")],
        "stored": [point(each) for each in stored],
    }


@pytest.mark.parametrize("error", [10.5, 25.0, 100.0, 300.0])
def test_the_loss_for_an_error_is_read_off_the_curve(error: float) -> None:
    found = loss_on(curve(), error)
    assert found is not None
    reached = 10 / float(found["rho"]) ** 0.5
    assert 0.98 * error <= reached <= error


def test_a_stored_answer_comes_first_and_an_impossible_error_last() -> None:
    assert loss_on(curve(("0.5", "0.2")), 25.0) == {"rho": "0.2"}
    assert loss_on(curve(("0.05",)), 25.0) != {"rho": "0.05"}  # it is not exact enough
    assert loss_on(curve(), 9.0) is None
    assert loss_on(curve(), 0.0) is None


def test_a_form_wants_what_was_chosen_last() -> None:
    fields = {"sql": "SELECT 1\r\n", "error": "25", "chosen": "within:25"}
    kept = Wanted.of_form(fields | {"choice": "within:25", "amount": "rho:0.1"})
    assert (kept.sql, kept.error, kept.amounts) == ("SELECT 1\n", "25", ())
    quoted = fields | {"quoted": kept.digest, "amount": "rho:0.1"}
    assert Wanted.of_form(quoted | {"choice": "within:25"}).amounts == (("rho", "0.1"),)
    assert Wanted.of_form(quoted | {"choice": "within:50"}).error == "50"
    assert Wanted.of_form(quoted | {"choice": "rho:0.7"}).amounts == (("rho", "0.7"),)
    assert Wanted.of_form(quoted | {"error": "30"}).amounts == ()
    assert Wanted.of_form(quoted | {"choice": "delta:1"}).amounts == ()
