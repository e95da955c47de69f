"""One person who spells a key in capitals moves a count by no more than noise.

In version 0.1.0 a column of DuckDB that was declared with COLLATE NOCASE was read as any text.
A group then has the spelling of whichever row comes first, and groups were looked up by the
spelling that is declared: one person with 'NORTH' turned a count of 500 into 0. Text is now
compared and grouped by its bytes.
"""

from pathlib import Path

import duckdb
import pytest
from conftest import Bar
from text_as_stored import read_text_as_stored

import tacit
from tacit.core.domain import Group
from tacit.core.unseal import unseal
from tacit.engines.engine import wrap_groups
from tacit.plan.bounding import bound
from tacit.sql.parser import parse

EPSILON, MOST_MOVED = 50, 3


def count_of_north(folder: Path, *, extra: bool) -> int:
    """The released count of a ward, with the person who spells it in capitals or without."""
    folder.mkdir()
    with duckdb.connect(str(folder / "d.duckdb")) as link:
        link.execute("CREATE TABLE t(person BIGINT, ward VARCHAR COLLATE NOCASE)")
        if extra:
            link.execute("INSERT INTO t VALUES (9999, 'NORTH')")
        link.execute(
            "INSERT INTO t SELECT i, CASE WHEN i % 2 = 0 THEN 'north' ELSE 'south' END"
            " FROM range(1000) r(i)"
        )
    with opened(folder) as session:
        answer = session.sql("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward")
        found = answer.ask(epsilon=EPSILON).to_pandas()
    return int(found.loc[found["ward"] == "north", "n"].iloc[0])


def opened(folder: Path) -> tacit.Session:
    return tacit.open(
        str(folder / "d.duckdb"),
        table="t",
        population="people",
        unit="person",
        one_row=True,
        max_groups=1,
        max_rows=1,
        keys={"ward": ["north", "south"]},
        budget=(100, "1e-6"),
        folder=folder / "ledger",
    )


def moved(folder: Path) -> int:
    counts = [count_of_north(folder / str(extra), extra=extra) for extra in (False, True)]
    return abs(counts[0] - counts[1])


def test_a_spelling_moves_a_count_by_no_more_than_noise(tmp_path: Path, bar: Bar) -> None:
    by = moved(tmp_path)
    bar("edge spelling: a count is moved by", by, f"<= {MOST_MOVED}", by <= MOST_MOVED)


def test_whoever_groups_by_a_collation_moves_a_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: read as version 0.1.0 did, one person moves a count by hundreds."""
    read_text_as_stored(monkeypatch)
    assert moved(tmp_path) > 100 * MOST_MOVED


def test_a_group_is_not_overwritten_by_another_that_decodes_alike(tmp_path: Path) -> None:
    """Two names that a driver decodes to one text: a count of 500 stays one of 501."""
    count_of_north(tmp_path / "here", extra=False)
    with opened(tmp_path / "here") as session:
        asked = parse("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", session.catalog)
        plan = bound(asked, session.catalog).plan
    tallies = len(plan.tallies)
    rows: list[tuple[Group, tuple[int, ...]]] = [
        (("north",), (500,) * tallies),
        (("north",), (1,) * tallies),
    ]
    assert [unseal(tally).tolist() for tally in wrap_groups(plan, rows).tallies] == [
        [501, 0] for _ in range(tallies)
    ]
