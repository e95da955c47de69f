"""Every bug that once broke a real system is caught by a named test when it is seeded here.

Numbers are those of the list TD-10 of the threat model.
"""

import os
from pathlib import Path

import pytest
from conftest import Bar
from loaded_file import load_file
from seeding import ROOT, run

HERE = Path(__file__).parent
PASSED, FAILED = 0, 1


BUGS = {path.stem: load_file(path) for path in sorted(HERE.glob("bug_*.py"))}


# one interpreter a file: what bugs share is run once without them
NAMED = {
    place: sorted({bug.CAUGHT_BY for bug in BUGS.values() if bug.CAUGHT_BY.startswith(place)})
    for place in {bug.CAUGHT_BY.partition("::")[0] for bug in BUGS.values()}
}


EVERY = os.environ.get("TACIT_WITHOUT_BUGS") == "every"
"""Whether all named tests are run here without a bug: `just campaign-bugs` does so.

Otherwise those alone are run whose examples are generated, and which are given other examples
here than elsewhere. The rest are run in the same way by their own stage of the same CI.
"""


@pytest.mark.parametrize(
    "place",
    sorted(place for place in NAMED if EVERY or "hypothesis" in (ROOT / place).read_text()),
)
def test_without_a_bug_the_tests_that_catch_them_pass(place: str) -> None:
    ended, said = run(*NAMED[place])
    assert ended == PASSED, said
    assert f"{len(NAMED[place])} passed" in said


def test_every_named_test_is_in_a_stage_of_ci() -> None:
    recipes = (ROOT / "justfile").read_text()
    folders = {"/".join(place.split("/")[:2]) for place in NAMED}
    assert [folder for folder in sorted(folders) if f" {folder} " not in recipes] == []


@pytest.mark.parametrize("name", BUGS)
def test_a_seeded_bug_is_caught_by_its_test(name: str, bar: Bar) -> None:
    bug = BUGS[name]
    ended, said = run(bug.CAUGHT_BY, bug=name)
    assert ended == FAILED, said
    # the `bar` fixture tells what falls short after its test, which pytest calls an error
    assert any(f"{word} {bug.CAUGHT_BY}" in said for word in ("FAILED", "ERROR"))
    assert bug.SHOWN in said, said
    test = bug.CAUGHT_BY.split("::")[-1]
    bar(f"{name.replace('_', ' ')}, seeded and", "caught", f"caught by {test}", True)


def test_a_bug_whose_place_is_gone_is_told() -> None:
    _, said = run(BUGS["bug_27_float_accumulator"].CAUGHT_BY, bug="gone")
    assert "gone replaces tacit.core.loss:Loss.no_such_method, which is gone" in said
    assert "passed" not in said
