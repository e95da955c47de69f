"""A private PostgreSQL on loopback, for tests: made in a folder, gone with it."""

import os
import pwd
import shutil
import socket
import subprocess
from pathlib import Path

from tacit.errors import MissingExtra

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
"""Where Debian keeps the server's programs, the newest first."""

SERVANT = "postgres"
"""PostgreSQL refuses to run as root; there, this user runs it."""

SETTINGS = "listen_addresses=127.0.0.1 fsync=on full_page_writes=on max_connections=200"


class PostgresCluster:
    """A server of its own, on its own port, that trusts whoever is on this machine.

    Give it a folder from `tempfile`, not pytest's `tmp_path`: whenever another run of pytest
    begins, it closes the folder that holds all of theirs to every other user, `SERVANT` too.
    """

    def __init__(self, place: Path) -> None:
        self._data = place / "data"
        self._place = place
        self.log = place / "log"
        self.port = _free_port()
        self._hand_over()
        self._run("initdb", "-D", self._data, "-U", SERVANT, "-A", "trust", "--no-sync")
        self.start()

    def start(self) -> None:
        """Start it, or start it again after `stop`."""
        settings = " ".join(f"-c {setting}" for setting in SETTINGS.split())
        sockets = f"-c port={self.port} -c unix_socket_directories={self._place}"
        self._run(
            "pg_ctl",
            "-D",
            self._data,
            "-l",
            self.log,
            "-w",
            "-o",
            f"{settings} {sockets}",
            "start",
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop it; ``immediate`` is what a crash looks like."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def database(self, name: str) -> str:
        """The address of a new, empty database."""
        self._run("createdb", "-h", "127.0.0.1", "-p", self.port, "-U", SERVANT, name)
        return f"postgresql://{SERVANT}@127.0.0.1:{self.port}/{name}"

    def _hand_over(self) -> None:
        self._place.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            user = pwd.getpwnam(SERVANT)
            os.chown(self._place, user.pw_uid, user.pw_gid)
            for folder in [self._place, *self._place.parents][:-2]:
                folder.chmod(folder.stat().st_mode | 0o011)  # the servant passes through

    def _run(self, program: str, *arguments: object) -> None:
        found = shutil.which(program) or next(
            (str(place / program) for place in PROGRAMS if (place / program).exists()), None
        )
        if found is None:
            raise MissingExtra(f"{program} is not here; install Debian's postgresql package.")
        as_servant = ["setpriv", f"--reuid={SERVANT}", f"--regid={SERVANT}", "--init-groups"]
        command = [found, *map(str, arguments)]
        subprocess.run(
            [*as_servant, *command] if os.geteuid() == 0 else command,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            cwd=self._place,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
