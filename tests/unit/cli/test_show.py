"""What a terminal and a spreadsheet are shown is text, whatever stands in a key."""

import csv
import io
import sys
from fractions import Fraction

import pytest
from rich.console import Console
from rich.table import Table

from tacit.cli.options import as_csv, show, table_of
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.release import Guarantee, Release, ReleasedColumn

MARKUP = "[red]north[/red] [link=https://evil.example]x[/link]"
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "plain")
GUARANTEE = Guarantee(Population("patients", PrivacyUnit("person")), Loss.pure(1))


def printed(table: Table) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_markup_in_a_key_is_written_as_it_is() -> None:
    shown = printed(table_of((ReleasedColumn("ward", (MARKUP,)),)))
    assert MARKUP in shown
    assert "\x1b]8;" not in shown


def test_a_table_of_plain_strings_is_caught() -> None:
    lying = Table("ward")
    lying.add_row(MARKUP)
    assert MARKUP not in printed(lying)
    assert "\x1b]8;" in printed(lying)


def runs(text: str) -> bool:
    """Whether a spreadsheet takes a cell for a formula."""
    return text[:1] in {"=", "+", "-", "@", "\t", "\r"}


def test_no_key_is_a_formula_to_a_spreadsheet() -> None:
    values = ReleasedColumn("n", tuple(map(Fraction, range(-3, 3))))
    written = as_csv(Release((ReleasedColumn("=key", FORMULAS), values), GUARANTEE, b""))
    heading, *rows = csv.reader(io.StringIO(written))
    assert heading == ["'=key", "n"]
    assert [key for key, _ in rows if runs(key)] == []
    assert rows[-1][0] == "plain"
    assert [number for _, number in rows] == ["-3", "-2", "-1", "0", "1", "2"]
    assert [key for key in FORMULAS if runs(key)] == list(FORMULAS[:5])


@pytest.mark.parametrize("key", ['say "no"', "a,b", "two\nlines"])
def test_keys_come_back_from_csv_as_they_were(key: str) -> None:
    written = as_csv(Release((ReleasedColumn("ward", (key,)),), GUARANTEE, b""))
    assert list(csv.reader(io.StringIO(written))) == [["ward"], [key]]


class Terminal(io.StringIO):
    """Where a person looks."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_table_and_the_lines_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    release = Release((ReleasedColumn("ward", (MARKUP,)),), GUARANTEE, b"")
    seen = Terminal()
    monkeypatch.setattr(sys, "stdout", seen)
    monkeypatch.setenv("COLUMNS", "200")
    show(release.columns, release.notes, repr(release))
    assert "┏━" in seen.getvalue()
    assert MARKUP in seen.getvalue()
    assert "By itself, this release about patients" in seen.getvalue()
