"""Serve a project over HTTP until it is told to stop."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import uvicorn

from tacit.server.app import make_app, watched_app
from tacit.session.project import served

GRACE_SECONDS = 60
"""How long questions that are being answered may take when the server is told to stop."""


def serve(
    project: Path, host: str, port: int, environment: Mapping[str, str] = os.environ
) -> None:
    """Serve ``project``; refused where the ledger does not hold what its file says."""
    app = make_app(*served(project, environment))

    def write(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()

    uvicorn.run(
        watched_app(app, write),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
