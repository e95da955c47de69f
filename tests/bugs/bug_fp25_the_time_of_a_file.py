"""F-P25: when a copy was made is the modification time of its file."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

PLACE = "tacit.session.served_copies:_day_made"
CAUGHT_BY = (
    "tests/edges/test_whose_copy.py::"
    "test_a_folder_that_is_copied_has_copies_of_the_day_on_which_they_were_made[True]"
)
SHOWN = "rows of a copy whose folder was copied: 3000"

Made = Callable[[Path, object], date | None]


def bug(_: Made) -> Made:
    def made(file: Path, _: object) -> date | None:
        if not file.exists():
            return None
        return date.fromtimestamp(file.stat().st_mtime)  # noqa: DTZ012 - this machine's day

    return made
