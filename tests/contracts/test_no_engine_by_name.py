"""No module outside the engines compares or names a kind of engine in quotes."""

import re
from pathlib import Path

from tacit.engines.registry import BUILT_IN

SOURCE = Path(__file__).parents[2] / "src/tacit"
KINDS = "|".join(spec.kind for spec in BUILT_IN)
NAMED = re.compile(rf"""(["'])({KINDS})\1""")
EXTRA = re.compile(r"""(extra=|install(ed)?\()["']\w+["']""")
"""The name of something to install, which is not a kind of engine."""

ALLOWED = {
    "engines": "the engines themselves",
    "extras.py": "a table of extras",
    "cli/demo.py": "the text of the demonstration's project file",
    "sql/parser.py": "the grammar in which analysts' SQL is read",
    "sql/printer.py": "the grammar in which a plan is shown",
    "server/console/views/ask.py": "the kinds of files in which people keep an answer",
    "project/engines.py": "the scheme of the ledger's own PostgreSQL",
}


def named_in(text: str) -> list[str]:
    """Return the lines that name a kind of engine."""
    return [line for line in text.splitlines() if NAMED.search(EXTRA.sub("", line))]


def test_no_engine_is_known_by_name() -> None:
    found = {}
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(tuple(ALLOWED)) and named_in(path.read_text()):
            found[place] = named_in(path.read_text())
    assert found == {}


def test_a_comparison_is_found() -> None:
    """The lie: what sessions did before."""
    assert named_in('if address.kind == "spark":')
    assert named_in("WHERE = {'duckdb': 1}")
    assert not named_in('load("tacit.publish.postgres", extra="postgres")')


def test_what_is_allowed_is_there() -> None:
    for place in ALLOWED:
        assert (SOURCE / place).exists()
