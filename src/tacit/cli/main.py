"""The `tacit` command."""

import click

from tacit.cli.apply import apply
from tacit.cli.ask import ask
from tacit.cli.attack import attack
from tacit.cli.audit import audit, verify
from tacit.cli.demo import demo
from tacit.cli.domain import domain
from tacit.cli.edit import budget, protect
from tacit.cli.freeze import freeze, thaw
from tacit.cli.init import init
from tacit.cli.ledger import ledger
from tacit.cli.prepare import prepare
from tacit.cli.publish import publish
from tacit.cli.reader import reader
from tacit.cli.serve import serve
from tacit.cli.status import status
from tacit.cli.survey import survey
from tacit.cli.token import token
from tacit.errors import TacitError


class Refusing(click.Group):
    """Commands whose refusals are one text and the exit code 1, without a traceback.

    A traceback may hold a value of a row.
    """

    def invoke(self, context: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(context)
        except TacitError as error:
            told = str(error)
        raise click.ClickException(told)


@click.group(cls=Refusing, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tacit")
def main() -> None:
    """Ask about people without telling on any of them.

    `tacit demo` makes a clinic to try it on.
    """


COMMANDS = (
    demo,
    reader,
    init,
    protect,
    domain,
    budget,
    apply,
    prepare,
    ask,
    publish,
    attack,
    audit,
    verify,
    status,
    freeze,
    thaw,
    ledger,
    serve,
    token,
    survey,
)

for command in COMMANDS:
    main.add_command(command)
