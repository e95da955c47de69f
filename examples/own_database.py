"""An owner puts Tacit in front of a PostgreSQL database: three linked tables, one budget.

`python own_database.py postgresql://owner@host/database` creates the tables in that database,
and a role `tacit` that can read them. The database should be empty.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import psycopg

from tacit.engines.postgres_role import reader
from tacit.errors import TacitError
from tacit.session import apply_project, open_project, read_project

SYNTHETIC = """
CREATE TABLE patients AS
SELECT n AS id, 'person ' || n AS person, (ARRAY['Bern', 'Ulm', 'Graz'])[1 + n % 3] AS city
FROM generate_series(1, 6000) AS made(n);
CREATE TABLE visits AS
SELECT n AS id, 1 + (n * 7919) % 6000 AS patient, (100 + n * 31 % 400)::numeric(9, 2) AS cost
FROM generate_series(1, 20000) AS made(n);
CREATE TABLE labs AS
SELECT 1 + (n * 7919) % 20000 AS visit, 60 + n % 80 AS value
FROM generate_series(1, 30000) AS made(n);
"""

PROJECT = """
[engines.live]
kind = "postgres"
address = "ADDRESS"           # of a role that can read these tables, and nothing else
# password = "env:PASSWORD"   # the name of a variable; a password in this file is refused

[populations.patients]
unit = "person"
owners = ["olga"]
budget = { epsilon = 3, delta = "1e-6" }
quotas.ann = { epsilon = 1 }

[datasets.patients]
population = "patients"
engine = "live"
epoch = "2026"
unit = "person"
max_groups = 1
max_rows = 1
columns = { id = "integer", person = "text", city = "text" }

[datasets.visits]
population = "patients"
engine = "live"
epoch = "2026"
link = { column = "patient", parent = "patients", parent_column = "id" }
max_groups = 3
max_rows = 5

[datasets.visits.columns]
id = "integer"
patient = "integer"
cost = { kind = "decimal", step = "0.01", bounds = [0, 1000], provenance = "policy" }

[datasets.labs]
population = "patients"
engine = "live"
epoch = "2026"
link = { column = "visit", parent = "visits", parent_column = "id" }
max_groups = 3
max_rows = 5

[datasets.labs.columns]
visit = "integer"
value = { kind = "integer", bounds = [0, 200], provenance = "public" }
"""

BY_CITY = """
SELECT patients.city, COUNT(*) AS n, AVG(visits.cost) AS cost
FROM visits JOIN patients ON visits.patient = patients.id GROUP BY patients.city
"""


def main(address: str, project: Path) -> None:
    """Create the tables, declare what is public about them, and ask as an analyst."""
    where = urlsplit(address)
    host = where.netloc.rpartition("@")[2]
    project.write_text(PROJECT.replace("ADDRESS", f"postgresql://tacit@{host}{where.path}"))
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(SYNTHETIC)
        for statement in reader("tacit", read_project(project).catalog):
            owner.execute(statement.encode())

    for change in apply_project(project, by="olga"):
        print(f"olga: {change}")

    with open_project(project, principal="ann") as session:
        question = session.sql(BY_CITY)
        print("\n", question.quote(epsilon="0.5", delta="1e-10"), "\n", sep="")
        print(question.ask(epsilon="0.5", delta="1e-10"), "\n")
        try:
            session.sql("SELECT AVG(value) AS value FROM labs").ask(epsilon=2)
        except TacitError as refused:
            print(f"ann is refused: {refused}\n")
        print(session.verify())


if len(sys.argv) != 2:
    sys.exit(__doc__)
with TemporaryDirectory(prefix="tacit-example-") as place:
    main(sys.argv[1], Path(place) / "tacit.toml")
