"""Values as text: honest digits, ranges rounded outward, nothing that a terminal obeys."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.release import ReleasedColumn
from tacit.render.charts import chart
from tacit.render.table import cell, fields, interval, safe, text

HOSTILE = "north\x1b[2J\r\n\u202ewest\x00\u2028"
NINETEEN = Fraction(19, 20)


def obeyed(shown: str) -> bool:
    """Whether a terminal or a reader's eye would take some of it for a command."""
    return any(not each.isprintable() for line in shown.split("\n") for each in line)


def holds(shown: str, low: Fraction, high: Fraction) -> bool:
    """Whether a range that is shown holds the one that is meant."""
    least, most = map(Fraction, shown.strip("[]").split(", "))
    return least <= low and high <= most


@given(st.fractions(), st.fractions(min_value=0, max_denominator=10**6))
def test_a_shown_range_holds_the_range(middle: Fraction, half: Fraction) -> None:
    low, high = middle - half, middle + half
    assert holds(interval((low, high)), low, high)


def test_a_range_rounded_to_nearest_would_be_seen() -> None:
    low, high = Fraction("3.6"), Fraction("35.4")
    assert interval((low, high)) == "[3, 36]"
    assert not holds(f"[{round(low)}, {round(high)}]", low, high)


@pytest.mark.parametrize(
    ("value", "around", "shown"),
    [
        (Fraction(7), (Fraction(3), Fraction(11)), "7"),
        (Fraction(100, 3), (Fraction(31), Fraction(36)), "33.3"),
        (Fraction(-1, 300), (Fraction(-1, 100), Fraction(1, 100)), "-0.003"),
        (Fraction(1, 3), None, "0.333333"),
        (Fraction(1, 3), (Fraction(1, 3), Fraction(1, 3)), "0.333333"),
        (None, None, ""),
        ("north", None, "north"),
        (2026, None, "2026"),
    ],
)
def test_digits_are_those_that_mean_something(
    value: Fraction | str | int | None,
    around: tuple[Fraction, Fraction] | None,
    shown: str,
) -> None:
    assert cell(value, around) == shown


def test_a_hostile_key_moves_no_cursor() -> None:
    columns = (ReleasedColumn(HOSTILE, (HOSTILE, "south")),)
    assert not obeyed(text(columns))
    assert obeyed("\n".join(str(value) for value in columns[0].values))
    assert safe("Ärztin ✓") == "Ärztin ✓"
    assert len(cell("x" * 10_000)) == 80


def test_many_rows_are_counted_and_not_shown() -> None:
    shown = text((ReleasedColumn("n", tuple(map(Fraction, range(1000)))),))
    assert len(shown.splitlines()) == 62
    assert shown.endswith("… 940 more rows")


def test_a_table_without_rows_has_its_headings() -> None:
    assert text((ReleasedColumn("n", (), (), NINETEEN),)) == "n  95%"


def test_the_ends_of_ranges_have_names_of_their_own() -> None:
    noisy = ReleasedColumn("n", (Fraction(1),), ((Fraction(1, 2), Fraction(3, 2)),), NINETEEN)
    other = ReleasedColumn("n_low", (Fraction(9, 2),))
    assert fields((noisy, other)) == {
        "n": [1],
        "n_low_": [0.5],
        "n_high": [1.5],
        "n_low": [4.5],
    }


def test_a_chart_reads_no_path_in_a_name() -> None:
    key = ReleasedColumn("a.b[0]", ("x",))
    noisy = ReleasedColumn("c.d", (Fraction(1),), ((Fraction(0), Fraction(2)),), NINETEEN)
    made = chart((key,), noisy)
    bar = {"label": "x", "value": 1.0, "low": 0.0, "high": 2.0, "open": None}
    assert made["data"]["values"] == [bar]
    drawn = [layer["encoding"]["y"]["field"] for layer in made["layer"]]
    assert [made["encoding"]["x"]["field"], *drawn] == ["label", "value", "low"]
    assert made["layer"][0]["encoding"]["y"]["title"] == "c.d"


def test_integers_beyond_64_bits_are_floats() -> None:
    large, larger = Fraction(2**63 - 1), Fraction(2**63)
    assert fields([ReleasedColumn("n", (large,))]) == {"n": [2**63 - 1]}
    [found] = fields([ReleasedColumn("n", (larger,))])["n"]
    assert isinstance(found, float)
    assert found == 2.0**63
