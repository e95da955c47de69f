import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "seeds.md"
GROUPS = {"D": 11, "P": 12, "N": 7, "M": 23, "R": 7, "A": 15, "B": 8, "C": 8}
EXPECTED = [f"{group}{n:02}" for group, last in GROUPS.items() for n in range(1, last + 1)]


def wrong_ids(text: str) -> list[str]:
    """Ids that are missing, listed more than once, or not in the inventory."""
    listed = Counter(re.findall(r"^\| ([A-Z]\d+) \|", text, flags=re.MULTILINE))
    known = set(EXPECTED)
    return sorted(name for name in known | set(listed) if listed[name] != (name in known))


def missing_paths(text: str) -> list[str]:
    """Paths in backticks that do not exist below the root of the repository."""
    return [path for path in re.findall(r"`([^`\n]+)`", text) if not (ROOT / path).exists()]


def empty_cells(text: str) -> list[str]:
    """Ids whose place or proof is neither a path in backticks nor "not yet"."""
    rows = re.findall(r"^\| ([A-Z]\d+) \|[^|]+\|([^|]*)\|([^|]*)\|$", text, flags=re.MULTILINE)
    return [
        name
        for name, *cells in rows
        if any("`" not in cell and cell.strip() != "not yet" for cell in cells)
    ]


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_id_is_listed_once(page: str) -> None:
    assert wrong_ids(page) == []


def test_every_path_exists(page: str) -> None:
    assert missing_paths(page) == []


def test_every_row_names_a_path_or_says_not_yet(page: str) -> None:
    assert empty_cells(page) == []


def test_a_missing_a_repeated_and_an_unknown_id_are_found(page: str) -> None:
    assert wrong_ids(page.replace("| M07 |", "| Z99 |")) == ["M07", "Z99"]
    assert wrong_ids(page.replace("| M07 |", "| M08 |")) == ["M07", "M08"]


def test_a_missing_path_is_found(page: str) -> None:
    doctored = page.replace("src/tacit/core/privacy_unit.py", "src/tacit/nowhere.py", 1)
    assert "src/tacit/nowhere.py" in missing_paths(doctored)


def test_an_empty_cell_is_found(page: str) -> None:
    row = next(line for line in page.splitlines() if line.startswith("| C08 |"))
    *start, shown, end = row.split("|")
    assert shown.strip()
    assert empty_cells(page.replace(row, "|".join([*start, " ", end]))) == ["C08"]
