"""`tacit demo`: create a synthetic clinic with three linked tables, and ask a first question.

All rows are generated from hashes, and none is about a real person.
"""

import json
from pathlib import Path

import click

from tacit.cli import options
from tacit.cli.options import show
from tacit.engines.duckdb import make_duckdb
from tacit.extras import load
from tacit.ledger import wall_clock
from tacit.project import FILE
from tacit.server import DAY_MS, Role, TokenScope
from tacit.session import apply_project, open_project, project_and_ledger
from tacit.store import AccessToken, Tokens

# ruff: noqa: S608 - our own numbers

PATIENTS, VISITS, LABS = 20_000, 60_000, 90_000

TABLES = (
    f"""
    CREATE TABLE patients AS
    SELECT range AS id, 'person ' || range AS person,
        ['Bern', 'Ulm', 'Graz'][1 + (hash(range, 'city') % 3)::BIGINT] AS city,
        (1930 + hash(range, 'born') % 90)::BIGINT AS born
    FROM range({PATIENTS})
    """,
    f"""
    CREATE TABLE visits AS
    SELECT range AS id, (hash(range, 'patient') % {PATIENTS})::BIGINT AS patient,
        ['north', 'south', 'east', 'west'][1 + (hash(range, 'ward') % 4)::BIGINT] AS ward,
        'Dr ' || chr((65 + hash(range, 'doctor') % 12)::INTEGER) AS doctor,
        DATE '2026-01-01' + (hash(range, 'day') % 300)::INTEGER AS day,
        ((hash(range, 'cost') % 40000 + hash(range, 'more') % 40000) / 100)::DECIMAL(9, 2)
            AS cost
    FROM range({VISITS})
    """,
    f"""
    CREATE TABLE labs AS
    SELECT (hash(range, 'visit') % {VISITS})::BIGINT AS visit,
        (60 + hash(range, 'value') % 80)::BIGINT AS value
    FROM range({LABS})
    """,
)

PROJECT = """\
# A synthetic clinic. This file is public; `tacit apply` records it in the ledger.

[engines.clinic]
kind = "duckdb"
path = "clinic.duckdb"

[populations.patients]
unit = "person"
owners = [OWNER]
budget = { epsilon = 3, delta = "1e-6" }  # of all releases together

[anchors]  # what the ledger contained, to notice if it is deleted or put back
file = "tacit.anchors"  # better on another machine: a mounted folder, or a command

[server.time]  # how `tacit serve` protects the time at which an answer leaves
kind = "open"  # it does not: these people are synthetic; choose "delay" for real ones

[datasets.patients]
population = "patients"
engine = "clinic"
epoch = "2026"
unit = "person"  # the column that identifies the person
max_groups = 1
max_rows = 1
most_rows = { rows = 1, source = "a patient is registered once" }

[datasets.patients.columns]
id = "integer"
person = "text"
city = { kind = "text", keys = ["Bern", "Ulm", "Graz"], complete = true, provenance = "public" }
born = { kind = "integer", bounds = [1900, 2026], provenance = "public" }

[datasets.visits]
population = "patients"
engine = "clinic"
epoch = "2026"
link = { column = "patient", parent = "patients", parent_column = "id" }
max_groups = 3  # the most groups of an answer in which one person counts,
max_rows = 11  # and the most rows of one person in each group
# a public fact, so that an interval can hold all visits; without it intervals are open above
most_rows = { rows = 11, source = "the insurer pays for 11 visits a year" }

[datasets.visits.columns]
id = "integer"
patient = "integer"
# complete: every visit has one of these keys, so that no row is left out because of its ward
ward = { kind = "text", keys = ["north", "south", "east", "west"], complete = true, provenance = "public" }
doctor = "text"  # the keys are not declared: group by it with --delta
day = { kind = "date", bounds = [2026-01-01, 2026-12-31], provenance = "public" }
cost = { kind = "decimal", step = "0.01", bounds = [0, 1000], provenance = "public" }

[datasets.labs]
population = "patients"
engine = "clinic"
epoch = "2026"
link = { column = "visit", parent = "visits", parent_column = "id" }
max_groups = 3
max_rows = 5

[datasets.labs.columns]
visit = "integer"
value = { kind = "integer", bounds = [0, 200], provenance = "policy" }
"""  # noqa: E501 - an inline table of TOML is one line

QUESTION = (
    "SELECT patients.city, COUNT(*) AS visits, AVG(visits.cost) AS cost "
    "FROM visits JOIN patients ON visits.patient = patients.id GROUP BY patients.city"
)


ANALYST = "ann"
"""The analyst for whom `--serve` issues a token."""

EPSILON = "0.5"
NEXT = """\
  tacit ask "SELECT doctor, COUNT(*) AS n FROM visits GROUP BY doctor" --epsilon 1 --delta 1e-10
  tacit ask "SELECT COUNT(*) AS n FROM visits" --within 500
  tacit limits labs --estimate
  tacit status
  tacit ledger verify"""


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default="tacit-demo",
    help="The folder for the clinic.",
)
@click.option(
    "--serve", "is_served", is_flag=True, help="Serve the clinic, and open it in a browser."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8800,
    show_default=True,
    help="The port for --serve; 0 for any free port.",
)
@options.principal
def demo(*, folder: Path, is_served: bool, port: int, principal: str) -> None:
    """Create a synthetic clinic of three linked tables, and ask a first question.

    With --serve, the console of the clinic opens in a browser, for you as its owner and for an
    analyst.
    """
    project = folder / FILE
    if not project.exists():
        folder.mkdir(parents=True, exist_ok=True)
        make_duckdb(str(folder / "clinic.duckdb"), TABLES)
        project.write_text(PROJECT.replace("OWNER", json.dumps(principal)), encoding="utf-8")
        click.echo(f"Created {project}: synthetic patients, visits and labs.")
    apply_project(project, by=principal)
    click.echo(f"\n{QUESTION}\n")
    with open_project(project, principal=principal) as session:
        question = session.sql(QUESTION)
        preview = question.quote(epsilon=EPSILON)
        show(preview.columns, preview.notes, repr(preview))
        click.echo()
        answer = question.ask(epsilon=EPSILON)
        show(answer.columns, answer.notes, repr(answer))
    click.echo(f"\nNext, run `cd {folder}`, and for example\n{NEXT}")
    if is_served:
        _serve(project, principal, port)


def _serve(project: Path, owner: str, port: int) -> None:
    """Serve the clinic on this machine, to its owner and an analyst, until it is stopped."""
    until, offer = wall_clock() + DAY_MS, dict[str, str]()
    with project_and_ledger(project) as (declared, home):
        scope = TokenScope().fix(declared.catalog).text
        for who, role in ((ANALYST, Role.ANALYST), (owner, Role.OWNER)):
            token = Tokens(home.store).issue(AccessToken(who, role.value, scope, until))
            offer[f"{role.value} {who}"] = token
    click.echo("\nTokens for a day, each for one person:")
    for who, token in offer.items():
        click.echo(f"  {who}: {token}")
    app = load("tacit.server.app", extra="server")
    app.serve(project, "127.0.0.1", port, offer=offer)
