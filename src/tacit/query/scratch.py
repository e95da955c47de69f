"""A folder for what an engine writes when its memory is full: gone with whoever wrote there."""

import fcntl
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

PREFIX, NEW = "tacit-below-", ".tacit-new-"
LOCK = "held"


class Scratch:
    """A new folder for one process at a time, held by a lock that a crash lets go.

    Guarantee: what a process left behind is removed by `close`, or, where whoever made the
    folder died as well, by the next one on this machine.
    """

    def __init__(self) -> None:
        sweep()
        made = Path(mkdtemp(prefix=NEW))
        self._lock = (made / LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # under this name others may find it, and find it held
        self.path = made.rename(made.with_name(PREFIX + made.name.removeprefix(NEW)))

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep() -> None:
    """Remove the folders of those who died."""
    for left in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError), (left / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
