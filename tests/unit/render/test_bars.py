"""Bars are drawn where their values are, and texts stay texts."""

import re
from fractions import Fraction
from xml.etree import ElementTree as ET

from tacit.core.release import ReleasedColumn
from tacit.render.charts import LEFT, RIGHT, WIDTH, bars

HUNDRED = Fraction(100)


def drawn(*values: Fraction | None) -> str:
    names = ReleasedColumn("city", tuple(f"<{place}>" for place in range(len(values))))
    around = tuple(None if v is None else (v - 10, v + 10) for v in values)
    measure = ReleasedColumn("percent", values, around, Fraction(95, 100))
    return bars([names], measure, Fraction(0), HUNDRED)


def test_a_bar_is_as_long_as_its_value_and_cut_at_the_ends() -> None:
    text = drawn(Fraction(50), Fraction(-5), Fraction(120), None)
    widths = [float(each) for each in re.findall(r'<rect[^>]*width="([0-9.]+)"', text)]
    room = WIDTH - LEFT - RIGHT
    assert widths == [room / 2, 0, room]


def test_it_is_well_formed_and_labels_are_text() -> None:
    text = drawn(Fraction(50))
    assert ET.fromstring(text).tag == "svg"  # noqa: S314 - our own
    assert "&lt;0&gt;" in text
    assert "<0>" not in text
