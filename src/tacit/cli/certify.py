"""`tacit certificate`, `report`, `registry`, `verify`: documents and their offline check."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tacit.cli import options
from tacit.cli.report_files import check_targets, write_report
from tacit.errors import InvalidValue
from tacit.extras import later
from tacit.ledger import find_receipt
from tacit.render import safe, spell
from tacit.session import (
    Session,
    audit_in,
    audits_in,
    certificate_for,
    certify,
    installation_key,
    newest_anchor_of,
    open_project,
    project_and_ledger,
)

PAGES = {".html", ".htm"}
LONGEST_FILE = 2**25
"""Largest number of bytes of a signed file that is read."""


@click.command()
@options.project
@options.principal
@click.argument("receipt", required=False)
@click.option("--publication", help="The name of a publication, instead of a receipt.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The file: a page if its name ends in .html, else JSON. Default: print JSON.",
)
def certificate(
    *,
    project: Path,
    principal: str,
    receipt: str | None,
    publication: str | None,
    out: Path | None,
) -> None:
    """Write the signed certificate of the release with RECEIPT, from `tacit ask --json`.

    It says what was released, its loss, and how to verify it offline. It holds no value of the
    answer, and does not name the analyst. This is free. The first 8 digits of RECEIPT are
    enough, if no other receipt begins with them.
    """
    if (receipt is None) == (publication is None):
        raise InvalidValue("Give the receipt of an answer, or --publication NAME.")
    check_targets([out], kept=[project])
    if receipt is None:
        with open_project(project, principal=principal) as session:
            made = _of_publication(session, str(publication))
    else:
        with project_and_ledger(project) as (_, home):  # no engine is opened
            made = certify(home, find_receipt(home.store, receipt))
    if out is None:
        click.echo(made.text, nl=False)
        return
    write_report(out, made.page if out.suffix.lower() in PAGES else made.text)
    statement = later("tacit.certify").Statement.of(made.text)
    loss = statement.content["loss"]["this"]["text"]
    click.echo(f"Wrote {out}: {loss}, signed by {statement.key}.")


def _of_publication(session: Session, name: str) -> Any:
    """Return the certificate of a publication's charge, which paid for all of its periods."""
    publications = later("tacit.publish.publication").Publications(session.states)
    receipt = publications.open(name, session).start()
    return certificate_for(session._curator, receipt)  # noqa: SLF001 - of our own session


# ------------------------------------------------------------------ report


@click.command()
@options.project
@click.argument("population")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The file of the page. Default: privacy-report-POPULATION.html.",
)
@click.option(
    "--audit",
    "audits",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A signed audit. Default: the audits in the project's folder.",
)
@click.option(
    "--attack",
    "attacks",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A report of `tacit attack --json`; only attacks through Tacit are shown.",
)
def report(
    *,
    project: Path,
    population: str,
    out: Path | None,
    audits: tuple[Path, ...],
    attacks: tuple[Path, ...],
) -> None:
    """Write a signed page about POPULATION, for a board or a data-protection officer.

    It has the guarantee in odds, what was spent and by whom, decisions, failures, audits,
    attacks and hazards, with an annex for an impact assessment. It names principals and owners.
    """
    written = later("tacit.certify")
    told = tuple(_attack_report(each) for each in attacks)
    with project_and_ledger(project) as (_, home):
        facts = written.read_population(home.ledger, population)
        key = installation_key(home)
        found = [_audit(each) for each in audits] or audits_in(home.private_folder, key)
        given = written.Given(
            made=home.ledger.now(),
            assumptions=written.newest_assumptions(facts, home.ledger),
            audits=tuple(found),
            attacks=told,
            publications=_publications(home.states),
            anchored=newest_anchor_of(home, population),
        )
        page = written.SignedPage.sign(written.report_page(facts, given, key.public.hex()), key)
    place = out or Path(f"privacy-report-{_file_name(population)}.html")
    check_targets([place], kept=[project, *audits, *attacks])
    write_report(place, page)
    click.echo(f"Wrote {place}, signed by {key.public.hex()}.")


def _file_name(population: str) -> str:
    return "".join(each if each.isalnum() else "-" for each in population)


def _audit(file: Path) -> dict[str, Any]:
    """Return the summary of an audit that was named; refuse one that was changed."""
    try:
        found = audit_in(file)
    except OSError as error:
        raise InvalidValue(f"{file} cannot be read. Check its name.") from error
    if found is None:
        raise InvalidValue(f"{file} is not a signed audit, or it was changed after signing.")
    return found


def _attack_report(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidValue(
            f"{file} is not a report of `tacit attack --json`. Check its name."
        ) from error
    if not isinstance(found, dict) or not isinstance(found.get("parts"), list):
        raise InvalidValue(f"{file} is not a report of `tacit attack --json`.")
    return found


def _publications(states: Any) -> tuple[str, ...]:
    """Return a line for each publication, with its periods and its question."""
    listed = later("tacit.publish.publication").Publications(states).listing()
    return tuple(
        f"{each.publication.name}: {spell(each.publication.periods.horizon, 'period')} from "
        f"{each.publication.periods.first.isoformat()}"
        + (", withdrawn" if each.withdrawn else "")
        for each in listed
    )


# ------------------------------------------------------------------ registry


@click.command()
@options.project
@click.argument("population")
@click.option("--name", help="The name of the deployment.")
@click.option("--curator", "curators", multiple=True, help="An organisation that publishes.")
@click.option("--use", "intended_use", help="The purpose of the results.")
@click.option("--region", help="The region that the data describes, or whose law applies.")
@click.option(
    "--sector",
    type=click.Choice(
        ["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"]
    ),
    help="The sector.",
)
@click.option("--author", "authors", multiple=True, help="A person who fills in the record.")
@click.option("--sources", help="Where the deployment is described.")
@click.option("--out", type=click.Path(path_type=Path), help="The file. Default: print it.")
def registry(  # noqa: PLR0913 - one for each option
    *,
    project: Path,
    population: str,
    name: str | None,
    curators: tuple[str, ...],
    intended_use: str | None,
    region: str | None,
    sector: str | None,
    authors: tuple[str, ...],
    sources: str | None,
    out: Path | None,
) -> None:
    """Write the record of POPULATION for a public registry of deployments, as YAML.

    All tiers are filled from the ledger. The options state facts that a ledger cannot
    know, and the record says where nothing was stated. It names no principal.
    """
    written = later("tacit.certify")
    check_targets([out], kept=[project])
    stated = written.Stated(name, curators, intended_use, region, sector, authors, sources)
    with project_and_ledger(project) as (_, home):
        facts = written.read_population(home.ledger, population)
        record = written.record_of(facts, stated, len(_publications(home.states)))
    written.check_record(record)
    text = written.yaml_of(record)
    if out is None:
        click.echo(text, nl=False)
        return
    write_report(out, text)
    click.echo(f"Wrote {out}. Read it, and complete what is not stated.")


# ------------------------------------------------------------------ verify


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", help="The public key of the signer, which you got from the owner.")
def verify(*, file: Path, key: str | None) -> None:
    """Check the signature of FILE offline, and show who signed it.

    FILE is a certificate, a report or an audit, as JSON or as a page. A file in which one byte
    was changed is refused.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(LONGEST_FILE + 1)
        text = content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{file} cannot be read as a text file. Check its name.") from error
    if len(content) > LONGEST_FILE:
        raise InvalidValue(f"{file} is too large to be a signed file of Tacit.")
    lines, signer = _read_signed(file, text)
    if key is not None and key.strip().lower() != signer:
        raise InvalidValue(
            f"{file} is signed by {signer}, and not by the key that you gave. "
            "Do not trust it, or verify it with the right key."
        )
    for line in lines:
        click.echo(line)
    whose = "the key that you gave" if key else "ask the owner for the key, and pass --key"
    click.echo(f"Signed by {signer} ({whose}).")


def _read_signed(file: Path, text: str) -> tuple[list[str], str]:
    """Return what a signed file says in a few lines, and the key that signed it."""
    written = later("tacit.certify")
    if text.startswith("<"):
        page = written.SignedPage.of(text)
        return [f"{file}: this {page.kind or 'page'} is unchanged."], page.key
    statement = written.Statement.of(text)
    if statement.kind == written.CERTIFICATE:
        written.verify_certificate(text)
        told = statement.content
        lines = [
            f"{file}: unchanged since {told['made']}, by Tacit {told['software']['tacit']}.",
            (
                f"Certificate of entry {told['chain']['entry']} about "
                f"{told['population']['name']}: {told['loss']['this']['text']}. The hash of "
                "the charge follows from its text."
            ),
        ]
        return [safe(line) for line in lines], statement.key
    found = {
        name: safe(str(statement.content.get(name, "")))
        for name in ("made", "tacit", "verdict")
    }
    lines = [f"{file}: unchanged since {found['made']}, by Tacit {found['tacit']}."]
    return [*lines, found["verdict"]], statement.key
