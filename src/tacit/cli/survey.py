"""`tacit survey`: surveys whose answers are randomised on the respondent's device."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from tacit.accounting import show_loss
from tacit.cli import options
from tacit.cli.report_files import check_targets, write_report
from tacit.extras import later, load
from tacit.numeric import exact, plain
from tacit.project import FILE
from tacit.render import text
from tacit.session import FOLDER, LedgerFolder, project_and_ledger

MARGIN = "0.03"

file = click.argument("file", type=click.Path(path_type=Path), default="survey.toml")


@click.group()
def survey() -> None:
    """Plan, build, serve and evaluate a survey whose answers are randomised in the browser."""


@survey.command()
@file
@click.option(
    "--margin",
    default=MARGIN,
    show_default=True,
    help="Margin of error of a share, or as a part of the range of a number.",
)
def plan(*, file: Path, margin: str) -> None:
    """Show how many answers are needed for a 95% margin of error."""
    planned, found = later("tacit.publish.survey.survey"), _read(file)
    for question in found.questions:
        own = planned.margin_in(question, exact(margin))
        click.echo(f"{question.text} (± {plain(own)})")
        click.echo(f"{text(planned.plan_of(question, own))}\n")
    click.echo(found.promise)


@survey.command()
@file
@click.option(
    "--out", type=click.Path(path_type=Path), help="The file to write. Default: next to FILE."
)
def build(*, file: Path, out: Path | None) -> None:
    """Write the form as one HTML file, to review it before it is served."""
    target = out or file.with_suffix(".html")
    check_targets([target], kept=[file])
    page = later("tacit.publish.survey.survey").form_of(_read(file))
    write_report(target, page)
    click.echo(f"Wrote {target}. The form sends reports to the server that it is opened from.")


@survey.command()
@file
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen on."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8810,
    show_default=True,
    help="The port to listen on.",
)
@options.principal
def serve(*, file: Path, host: str, port: int, principal: str) -> None:
    """Charge the wave to the ledger, serve its form, and store the reports.

    Put a reverse proxy with TLS in front of it: without TLS, others on the network could change
    the script that randomises the answers.
    """
    server, found = load("tacit.server.survey", extra="server"), _read(file)
    with _home(file) as home:
        later("tacit.publish.survey.wave").open_wave(found, home.ledger, by=principal)
        status = home.ledger.status(found.population.name)
        left = show_loss(status.left, status.conversion_delta, down=True)

    def announce() -> None:
        click.echo(f"{found.title}, {found.wave}: http://{host}:{port}/")
        click.echo(f"Charged to {found.population.name}; {left} is left for other waves.")

    box = later("tacit.publish.survey.wave").Box(_report_file(file, found))
    server.serve_survey(found, box, host, port, announce)


@survey.command()
@file
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write a page with charts to this file."
)
@click.option("--json", "json_", is_flag=True, help="Print the estimates as JSON.")
def estimate(*, file: Path, out: Path | None, json_: bool) -> None:
    """Estimate the answers, with intervals, from the reports of the wave. Free."""
    check_targets([out], kept=[file])
    found = _read(file)
    reports = later("tacit.publish.survey.wave").reports_in(_report_file(file, found))
    estimated = later("tacit.publish.survey.wave").estimate(found, reports)
    click.echo(json.dumps(estimated.to_json(), indent=2) if json_ else str(estimated))
    if out is not None:
        write_report(out, estimated.html())
        click.echo(f"Wrote {out}.")


def _read(file: Path) -> Any:
    """Read the survey in a file."""
    return later("tacit.publish.survey.survey").read_survey(file)


@contextmanager
def _home(file: Path) -> Iterator[LedgerFolder]:
    """Open the ledger of the project next to the survey, or a ledger of the survey's own."""
    if (file.parent / FILE).exists():
        with project_and_ledger(file.parent / FILE) as (_, home):
            yield home
        return
    home = LedgerFolder.at(file.parent / FOLDER)
    try:
        yield home
    finally:
        home.store.close()


def _report_file(file: Path, found: Any) -> Path:
    """Return the file for the reports of a wave, next to the ledger."""
    return file.parent / FOLDER / "surveys" / f"{found.fingerprint[:16]}.jsonl"
