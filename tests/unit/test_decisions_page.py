"""The page of decisions lists every record, and so does the site's menu."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem[:4])
def test_every_record_is_listed(record: Path) -> None:
    number = int(record.name[:4])
    listed = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
    assert f"| [{number}]({record.name}) |" in listed
    assert f"adr/{record.name}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_the_changelog_counts_them() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"(\d+) decision records", changes) == [str(len(RECORDS))]
