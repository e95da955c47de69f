"""`tacit serve`: the same door over HTTP."""

from pathlib import Path

import click

from tacit.cli import options
from tacit.extras import load


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8800, show_default=True)
@options.project
def serve(*, host: str, port: int, project: Path) -> None:
    """Serve the project's tables to whoever has a token.

    Put a proxy that speaks TLS in front of it.
    """
    load("tacit.server.serve", extra="server").serve(project, host, port)
