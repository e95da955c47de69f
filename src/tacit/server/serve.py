"""Serve a project over HTTP until it is told to stop."""

import gc
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import uvicorn

from tacit.query.confine import make_undumpable
from tacit.server.app import make_app, watched_app
from tacit.session.project import served
from tacit.session.reload import Reloading

GRACE_SECONDS = 60
"""How long questions that are being answered may take when the server is told to stop."""


class Listening(uvicorn.Server):
    """A server that says where it listens, in the first line of its log."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        _write(
            json.dumps({"at": time.time_ns() // 1_000_000, "host": host, "port": port}) + "\n"
        )


def serve(
    project: Path, host: str, port: int, environment: Mapping[str, str] = os.environ
) -> None:
    """Serve ``project``; refused where the ledger does not hold what its file says.

    Port 0 stands for any that is free.
    """
    make_undumpable()  # so that no worker can read this process, which holds the keys
    curator, serving = served(project, environment, _tell)
    app = make_app(curator, serving, reload=Reloading(project, environment))
    config = uvicorn.Config(
        watched_app(app, _write),
        host=host,
        port=port,
        http="h11",  # others refuse a request that they cannot read in words of their own
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    gc.freeze()  # what was loaded stays: walking it again would hold up some answers
    with suppress(KeyboardInterrupt):
        Listening(config).run()
    gc.unfreeze()  # for what is let go of at the end


def _tell(line: str) -> None:
    """Say to whoever starts the server what it does before it listens; the log begins then."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _write(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()
