"""Two text columns of other collations: comparing them does not fail by who is there.

In version 0.1.0 PostgreSQL compared columns as they were declared. It raises an error where two
collations disagree, but only when a row reaches the comparison. So a question failed if and
only if a condition on one person held. Every text is now compared by its bytes.
"""

import random
from functools import partial
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from conftest import Bar
from postgres_cluster import PostgresCluster
from searching import read_exactly
from text_as_stored import read_text_as_stored

import tacit
from tacit.engines.postgres_role import reader_of
from tacit.errors import TacitError

PEOPLE, TARGETS = 2_000, 5
LEAST, MOST = 20_000, 90_000
MADE = """\
CREATE TABLE staff (person int8, pay int8, home text COLLATE "C", work text COLLATE "en-x-icu")
"""


@pytest.fixture
def staff(cluster: PostgresCluster) -> tuple[str, list[int]]:
    """The address of a reader of the table, and what each person earns."""
    choose = random.Random(4)  # noqa: S311 - a table, and no noise
    rows = [
        (person, choose.randint(LEAST, MOST), choose.choice("abc"), choose.choice("abc"))
        for person in range(PEOPLE)
    ]
    owner, role = cluster.database(f"staff_{uuid4().hex}"), f"reader_{uuid4().hex}"
    with psycopg.connect(owner, autocommit=True) as link:
        link.execute(MADE.encode())
        with link.cursor().copy("COPY staff FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        for statement in reader_of(role, [("public", "staff")]):
            link.execute(statement.encode())
    return owner.replace("postgres@", f"{role}@"), [pay for _, pay, *_ in rows]


def opened(address: str, folder: Path) -> tacit.Session:
    return tacit.open(
        address,
        table="staff",
        population="people",
        unit="person",
        max_groups=1,
        max_rows=1,
        bounds={"pay": (0, 1_000_000)},
        budget=(1, "1e-6"),
        folder=folder,
    )


def fails(session: tacit.Session, condition: str) -> bool:
    """Whether a question fails: what an analyst sees."""
    text = f"SELECT COUNT(*) AS n FROM staff WHERE {condition} AND home = work"  # noqa: S608
    try:
        session.sql(text).ask(epsilon="0.001")
    except TacitError:
        return True
    return False


def test_two_collations_tell_nothing(
    staff: tuple[str, list[int]], tmp_path: Path, bar: Bar
) -> None:
    address, pay = staff
    with opened(address, tmp_path) as session:
        exact, failures = read_exactly(partial(fails, session), pay, PEOPLE, TARGETS)
    bar("edge two_collations: questions that failed", failures, "0", failures == 0)
    bar(
        "edge two_collations: people's pay read exactly",
        f"{exact} of {TARGETS}",
        "0",
        not exact,
    )


def test_whoever_compares_by_collations_tells_who_is_there(
    staff: tuple[str, list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lie: read as version 0.1.0 did, whether one question fails depends on one person."""
    read_text_as_stored(monkeypatch)
    address, pay = staff
    with opened(address, tmp_path) as session:
        assert not fails(session, f"person = 7 AND pay > {pay[7]}")
        assert fails(session, f"person = 7 AND pay >= {pay[7]}")
