"""Each bug of the list is seeded, and caught by a test that exists, or has its reason.

The list is TD-10 of the threat model: 42 bugs that broke real systems.
"""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUGS = sorted((ROOT / "tests/bugs").glob("bug_*.py"))
PAGE = (ROOT / "docs/privacy/audit.md").read_text()
NUMBERS = range(1, 43)

NUMBERED = re.compile(r"bug_(\d\d)_")
LISTED = re.compile(r"^\| (\d+) \| [^|]+ \| [^|]{40,} \|$", flags=re.MULTILINE)
CAUGHT = re.compile(r'CAUGHT_BY = \(?\s*"([^"]+)"(?:\s*"([^"]+)")?')


def amiss(files: list[str], page: str) -> list[int]:
    """Numbers that are neither seeded nor listed with a reason, or both, or listed twice."""
    seeded = {int(found[1]) for name in files if (found := NUMBERED.match(name))}
    listed = Counter(int(number) for number in LISTED.findall(page))
    return [number for number in NUMBERS if (number in seeded) + listed[number] != 1]


def test_every_bug_is_seeded_or_listed_with_its_reason() -> None:
    assert amiss([bug.name for bug in BUGS], PAGE) == []


def test_a_bug_that_is_forgotten_or_listed_in_vain_is_found() -> None:
    names = [bug.name for bug in BUGS]
    assert amiss([name for name in names if "_30_" not in name], PAGE) == [30]
    assert amiss(names, PAGE.replace("| 34 |", "| thirty-four |")) == [34]
    assert amiss([*names, "bug_36_by_batch.py"], PAGE) == [36]


def test_every_bug_names_a_test_that_exists() -> None:
    for bug in BUGS:
        found = CAUGHT.search(bug.read_text())
        assert found, bug.name
        place, _, test = f"{found[1]}{found[2] or ''}".partition("::")
        assert f"def {test.partition('[')[0]}(" in (ROOT / place).read_text(), bug.name


def test_the_lie_that_needs_jax_is_told_elsewhere() -> None:
    """The reason of 36."""
    assert "def test_bug_36_" in (ROOT / "tests/deep/test_deep.py").read_text()
