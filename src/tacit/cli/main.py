"""The `tacit` command, to which all other commands are added."""

import click

from tacit.cli.ask import ask
from tacit.cli.audit import attack, audit
from tacit.cli.calibrate import calibrate
from tacit.cli.certify import certificate, registry, report, verify
from tacit.cli.declare import budget, domain, epoch, limits, protect
from tacit.cli.demo import demo
from tacit.cli.keys import key
from tacit.cli.ledger import freeze, ledger, status, thaw
from tacit.cli.publish import publish
from tacit.cli.quotas import quota, team
from tacit.cli.serve import serve, token
from tacit.cli.setup import apply, init, prepare, reader
from tacit.cli.survey import survey
from tacit.errors import TacitError


class Refusing(click.Group):
    """A group of commands that print our errors without a traceback, and exit with code 1.

    A traceback may contain a value of a row.
    """

    def invoke(self, context: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(context)
        except TacitError as error:
            message = str(error)
        raise click.ClickException(message)


@click.group(cls=Refusing, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tacit")
def main() -> None:
    """Query personal data with differential privacy.

    Run `tacit demo` to try it on a synthetic clinic.
    """


COMMANDS = (
    demo,
    reader,
    init,
    protect,
    domain,
    limits,
    budget,
    apply,
    epoch,
    prepare,
    calibrate,
    ask,
    publish,
    attack,
    audit,
    certificate,
    report,
    registry,
    verify,
    status,
    freeze,
    thaw,
    ledger,
    key,
    team,
    quota,
    serve,
    token,
    survey,
)

for command in COMMANDS:
    main.add_command(command)
