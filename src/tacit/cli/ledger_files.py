"""`tacit ledger show`, `export` and `restore`: read the ledger, and move it as a whole."""

import json
from dataclasses import replace
from pathlib import Path

import click

from tacit.cli import options
from tacit.errors import InvalidValue
from tacit.ledger import USUAL_LIMIT, HistoryFilter, find_receipt, read_backup
from tacit.render import spell
from tacit.session import export_ledger, project_and_ledger, restore_ledger

DAY = "YYYY-MM-DD"


@click.command(short_help="Show who did what, when, and at what cost.")
@click.argument("population")
@click.option("--analyst", help="Entries by a person, or about a person or @team.")
@click.option(
    "--kind", "kinds", multiple=True, help="Entries of a kind, such as charge. Several: repeat."
)
@click.option("--receipt", help="The charge with this receipt, or its first 8 or more digits.")
@click.option("--since", metavar=DAY, help="The first day, in UTC.")
@click.option("--until", metavar=DAY, help="The last day, in UTC.")
@click.option(
    "--limit", type=int, default=USUAL_LIMIT, show_default=True, help="The most entries."
)
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
@options.project
def show(  # noqa: PLR0913 - one for each option
    *,
    population: str,
    analyst: str | None,
    kinds: tuple[str, ...],
    receipt: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    json_: bool,
    project: Path,
) -> None:
    """Show the ledger of POPULATION: who, when, what, its cost, and what became of it.

    The newest entries that fit are shown, in their order. Entries of the kinds answer,
    checkpoint, signature and state are shown only if they are asked for. To verify the chain,
    run `tacit ledger verify`.
    """
    wanted = HistoryFilter.of(
        analyst=analyst, kind=kinds, since=since, until=until, limit=limit
    )
    with project_and_ledger(project) as (_, home):
        if receipt is not None:
            paid = find_receipt(home.store, receipt, population)
            wanted = replace(wanted, receipt=paid.hex())
        found = home.ledger.history(population, wanted)
    if json_:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
    else:
        click.echo(str(found))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@options.project
def export(*, folder: Path, project: Path) -> None:
    """Write a backup of the ledger into the new FOLDER, and verify it.

    It has everything that is needed to verify the ledger and to restore it, apart from the
    sealing key. Keep the key in another place.
    """
    backup = export_ledger(folder, project)
    for name, chain in sorted(backup.exported.chains.items()):
        click.echo(f"{name}: {spell(len(chain), 'entry', 'entries')}, verified")
    click.echo(
        f"Exported to {folder}, with {spell(len(backup.exported.answers), 'answer')} and "
        f"{spell(len(backup.states or ()), 'sealed state')}. Only the sealing key opens the "
        "states: the file .tacit/key, or TACIT_STATE_KEY. Access tokens are not exported."
    )


@click.command(short_help="Restore an export into a new place, verified.")
@click.argument("source", metavar="EXPORT", type=click.Path(path_type=Path))
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    help="A new folder for the ledger. Default: the ledger of the project.",
)
@click.option(
    "--sealing-key",
    type=click.Path(path_type=Path),
    help="The file of the sealing key. Without it, sealed states are left out.",
)
@click.option("--key", "key", type=click.Path(path_type=Path), hidden=True)
@click.option("--check", is_flag=True, help="Verify the export only; write nothing.")
@options.project
def restore(  # noqa: PLR0913 - one for each option
    *,
    source: Path,
    into: Path | None,
    sealing_key: Path | None,
    key: Path | None,
    check: bool,
    project: Path,
) -> None:
    """Restore an EXPORT into a new folder, or into the empty ledger of the project.

    Everything is verified before it counts. A target that is not empty is refused. Stop using
    the ledger that was exported: neither of two ledgers knows what the other has charged.
    """
    if key is not None:
        if sealing_key is not None:
            raise InvalidValue("--key is the earlier name of --sealing-key: give one of them.")
        click.echo(
            "--key of this command is called --sealing-key now, because --key is the key of an "
            "owner elsewhere.",
            err=True,
        )
        sealing_key = key
    if check:
        backup = read_backup(source)
        for book in backup.verify():
            click.echo(f"{book.population}: {spell(book.seq, 'entry', 'entries')}, verified")
        return
    restored = restore_ledger(source, project, into=into, key=sealing_key)
    for book in restored.books:
        click.echo(
            f"{book.population}: {spell(book.seq, 'entry', 'entries')} restored and verified"
        )
    where = into if into is not None else f"the ledger of {project}"
    click.echo(f"Restored into {where}. Do not use the ledger that was exported any more.")
    if restored.states_left_out:
        left_out = spell(restored.states_left_out, "sealed state was", "sealed states were")
        click.echo(
            f"Without the sealing key, {left_out} left out: "
            "streams, publications and holdouts cannot continue, and prepared copies must be "
            "made again. To restore them too, restore into a new folder with --sealing-key."
        )
