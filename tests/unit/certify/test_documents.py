"""The parts of pages: every text is escaped, and pictures say what they show."""

from datetime import date, timedelta

from tacit.certify import documents as doc
from tacit.certify.drawings import (
    MOST_STEPS,
    Bar,
    Group,
    SpentStep,
    bars,
    spent_over_time,
    thin,
)

BAD = '<script>alert("x")</script>'


def test_every_part_escapes_its_text() -> None:
    parts = (
        doc.heading(BAD, BAD),
        doc.section(BAD),
        doc.part(BAD),
        doc.text(BAD),
        doc.points([BAD]),
        doc.facts({BAD: BAD}),
        doc.figures([(BAD, BAD)]),
        doc.table((BAD,), [(BAD,), (doc.Mark("open", BAD),)], numbers=[0], widths=("1rem",)),
        doc.footer(BAD),
        bars([Group(BAD, (Bar(BAD, 0.5, "#000", BAD),), 0.5)], BAD),
    )
    whole = doc.page("report", BAD, doc.box(*parts, warn=True))
    assert "<script" not in whole
    assert whole.count("&lt;script&gt;") >= 15


def test_what_is_empty_is_left_out() -> None:
    assert doc.points([]) == doc.text("") == ""
    assert doc.facts({"a": None}) == "<dl></dl>"
    assert 'class="page"' in doc.section("x", new_page=True)
    assert "kept" in doc.table(("a",), [(doc.Mark("kept"),)])


def test_a_line_reaches_the_last_day_and_stays_below_the_cap() -> None:
    first = date(2026, 1, 1)
    steps = [SpentStep(first + timedelta(days=day), day / 1000, 3.0) for day in range(900)]
    assert len(thin(steps)) <= MOST_STEPS
    assert thin(steps)[-1] == steps[-1]
    drawn = spent_over_time(thin(steps), steps[-1].day)
    assert "cap 3" in drawn
    assert "spent 0.899" in drawn
    full = spent_over_time([SpentStep(first, 3.0, 3.0)], first)
    assert "spent 3" in full
    assert "NaN" not in drawn + full


def test_a_long_name_is_cut() -> None:
    drawn = bars([Group("", (Bar("n" * 300, 2.0, "#000", "200%"),))], "who")
    assert "n…" in drawn
