"""`tacit demo`: a clinic to try it on, and a first private answer."""

import json
from pathlib import Path

import click

from tacit.cli import options
from tacit.cli.clinic import PROJECT, QUESTION, TABLES
from tacit.cli.show import show
from tacit.engines.duckdb import make_duckdb
from tacit.project.project import FILE
from tacit.session.project import apply_project, open_project

EPSILON = "0.5"
NEXT = """\
  tacit ask "SELECT doctor, COUNT(*) AS n FROM visits GROUP BY doctor" --epsilon 1 --delta 1e-8
  tacit status
  tacit ledger verify"""


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default="tacit-demo")
@options.principal
def demo(*, folder: Path, principal: str) -> None:
    """Make a clinic of three linked tables, and ask a first question."""
    project = folder / FILE
    if not project.exists():
        folder.mkdir(parents=True, exist_ok=True)
        make_duckdb(str(folder / "clinic.duckdb"), TABLES)
        project.write_text(PROJECT.replace("OWNER", json.dumps(principal)), encoding="utf-8")
        click.echo(f"Made {project}: patients, their visits and labs, and no real person.")
    apply_project(project, by=principal)
    click.echo(f"\n{QUESTION}\n")
    with open_project(project, principal=principal) as session:
        question = session.sql(QUESTION)
        preview = question.quote(epsilon=EPSILON)
        show(preview.columns, preview.notes, repr(preview))
        click.echo()
        answer = question.ask(epsilon=EPSILON)
        show(answer.columns, answer.notes, repr(answer))
    click.echo(f"\nNext: cd {folder}, and\n{NEXT}")
