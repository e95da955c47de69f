"""F-P16: the fork server is executed with the server's environment, for everybody to read."""

from collections.abc import Callable
from multiprocessing import forkserver

PLACE = "tacit.query.worker_sandbox:start_fork_server"
CAUGHT_BY = "tests/end_to_end/test_confine.py::test_the_fork_server_is_started_without_secrets"
SHOWN = "TACIT_STATE_KEY"

Start = Callable[[], None]


def bug(_: Start) -> Start:
    return forkserver.ensure_running
