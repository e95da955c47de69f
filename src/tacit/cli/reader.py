"""`tacit reader`: the role of PostgreSQL that Tacit reads by."""

import click

from tacit.engines.postgres_role import reader_of


@click.command()
@click.argument("role")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
def reader(*, role: str, tables: tuple[str, ...]) -> None:
    """Print the SQL by which a superuser makes ROLE, which reads TABLEs and is not logged.

    Such as: tacit reader tacit patients clinic.visits | psql clinic
    """
    for statement in reader_of(role, [tuple(table.split(".")) for table in tables]):
        click.echo(f"{statement};")
