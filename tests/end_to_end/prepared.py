"""A project over one table whose owner prepares it, and the commands that they type."""

from pathlib import Path

import duckdb
from click.testing import CliRunner, Result

from tacit.cli.main import main
from tacit.core.unseal import unseal
from tacit.plan.bounding import bound
from tacit.session.curator import Curator
from tacit.session.engines import read_project
from tacit.session.project import open_project
from tacit.sql.parser import parse

TEXT = """\
[engines.warehouse]
ENGINE

[populations.patients]
unit = "person"
owners = ["olga"]
budget = { epsilon = 3, delta = "1e-6" }

[datasets.visits]  # all of them
population = "patients"
engine = "warehouse"
epoch = "2026-W46"  # each week
unit = "person"
max_groups = 2
max_rows = 2
max_rows_in_all = 3
row_key = "id"  # of the hospital

[datasets.visits.columns]
id = "integer"
person = "text"
ward = { kind = "text", keys = ["north", "south"], provenance = "public" }
cost = { kind = "integer", bounds = [0, 100], provenance = "policy" }

[server.time]
kind = "open"
"""
FILE = 'kind = "duckdb"\npath = "clinic.duckdb"'
ROWS = (
    "CREATE TABLE visits AS SELECT CAST(n AS BIGINT) AS id, 'p' || n % 300 AS person, "
    "CASE n % 7 % 2 WHEN 0 THEN 'north' ELSE 'south' END AS ward, "
    "CAST(n % 91 AS BIGINT) AS cost FROM generate_series(1, 3000) AS s(n)"
)
QUESTION = "SELECT ward, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY ward"


def tacit(file: Path, *words: object, **environment: str) -> Result:
    given = [*map(str, words), "--project", str(file)]
    return CliRunner().invoke(main, given, env={"TACIT_USER": "olga", **environment})


def done(file: Path, *words: object, **environment: str) -> str:
    result = tacit(file, *words, **environment)
    assert result.exit_code == 0, result.output
    return result.output


def told(file: Path, *words: object, **environment: str) -> str:
    result = tacit(file, *words, **environment)
    assert result.exit_code == 1, result.output
    return result.output


def edit(file: Path, before: str, after: str) -> None:
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after, 1))


def integers(file: Path) -> list[list[int]]:
    """What a session of the project finds before noise."""
    with open_project(file) as session:
        curator: Curator = session._curator
        plan = bound(parse(QUESTION, curator.catalog), curator.catalog).plan
        found = curator.engine_of(("visits",)).run(
            plan, curator.catalog, curator.salt("patients")
        )
        return [list(map(int, unseal(tally))) for tally in found.tallies]


def part_of(file: Path, number: int) -> str:
    """The name of one of the tables of the copy that the project file speaks of."""
    copy = read_project(file).catalog.dataset("visits").copy
    assert copy is not None
    return copy.tables[number][-1]


def emptied(file: Path) -> None:
    with duckdb.connect(str(file.parent / "clinic.duckdb")) as owner:
        owner.execute("DELETE FROM visits")


def made(tmp_path: Path) -> Path:
    """A project over one table in a DuckDB file, which the ledger holds."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as owner:
        owner.execute(ROWS)
    place = tmp_path / "tacit.toml"
    place.write_text(TEXT.replace("ENGINE", FILE))
    done(place, "apply", "--yes")
    return place
