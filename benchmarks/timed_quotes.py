"""Times from a text to its quote, with public names that version 0.1.0 has too.

The one argument is a JSON list of questions about the clinic of `tests/edges/questions.py`. It
prints a JSON object with the milliseconds of each question that is understood.
"""

import json
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import mkdtemp

import duckdb

try:
    from tacit import apply_project, open_project
except ImportError:  # as in version 0.1.0
    from tacit.session.project import (  # type: ignore[import-not-found, no-redef]
        apply_project,
        open_project,
    )

REPEATS = 7
TABLES = (
    "people (id INTEGER PRIMARY KEY, person VARCHAR, sex VARCHAR, born DATE)",
    (
        "visits (patient INTEGER, vid INTEGER PRIMARY KEY, ward VARCHAR, doctor VARCHAR, "
        "cost DECIMAL(10, 2), day DATE)"
    ),
    "labs (visit INTEGER, test VARCHAR, val DOUBLE)",
    "bills (who VARCHAR, amount INTEGER)",
    "regions (ward VARCHAR PRIMARY KEY, region VARCHAR)",
)
SETTINGS = """
[engines.w]
kind = "duckdb"
path = "d.duckdb"
[populations.patients]
unit = "person"
owners = ["olga"]
budget = {epsilon = 500, delta = "1e-4"}
[datasets.people]
population = "patients"
engine = "w"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 1
[datasets.people.columns]
id = "integer"
person = "text"
sex = {kind = "text", keys = ["f", "m"], provenance = "public"}
born = {kind = "date", bounds = [1900-01-01, 2025-12-31], provenance = "public"}
[datasets.visits]
population = "patients"
engine = "w"
epoch = "1"
link = {column = "patient", parent = "people", parent_column = "id"}
max_groups = 2
max_rows = 3
[datasets.visits.columns]
patient = "integer"
vid = "integer"
ward = {kind = "text", keys = ["n", "s", "e"], provenance = "public"}
doctor = "text"
cost = {kind = "decimal", step = "0.01", bounds = [0, 100], provenance = "public"}
day = {kind = "date", bounds = [2020-01-01, 2020-12-31], provenance = "public"}
[datasets.labs]
population = "patients"
engine = "w"
epoch = "1"
link = {column = "visit", parent = "visits", parent_column = "vid"}
max_groups = 2
max_rows = 2
[datasets.labs.columns]
visit = "integer"
test = "text"
val = {kind = "float", bounds = [-5, 10], provenance = "public"}
[datasets.bills]
population = "patients"
engine = "w"
epoch = "1"
unit = "who"
max_groups = 2
max_rows = 2
[datasets.bills.columns]
who = "text"
amount = {kind = "integer", bounds = [0, 1000], provenance = "public"}
[public.regions]
engine = "w"
epoch = "1"
[public.regions.columns]
ward = "text"
region = {kind = "text", keys = ["x", "y"], provenance = "public"}
"""


def main() -> None:
    """Print the times of the questions that are understood."""
    folder = Path(mkdtemp())
    with duckdb.connect(str(folder / "d.duckdb")) as link:
        for table in TABLES:
            link.execute(f"CREATE TABLE {table}")
    project = folder / "tacit.toml"
    project.write_text(SETTINGS.replace("d.duckdb", str(folder / "d.duckdb")))
    apply_project(project, by="olga")
    session = open_project(project, principal="ann")
    found = {}
    for text in json.loads(Path(sys.argv[1]).read_text()):
        times = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            try:
                session.sql(text).quote(epsilon=1, delta="1e-6")
            except Exception:  # noqa: BLE001 - it is not understood, for whichever reason
                break
            times.append(1000 * (time.perf_counter() - began))
        else:
            found[text] = median(times)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
