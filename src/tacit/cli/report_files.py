"""Files that commands write: they are checked before any work is done, and then written.

Only regular files are written. A folder, a device, a pipe or a symbolic link is refused, and
its mode and contents stay as they are.
"""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tacit.errors import InvalidValue

PRIVATE = 0o600
"""The mode of a report with exact values: only its owner can read it."""


def check_targets(files: Sequence[Path | None], kept: Sequence[Path] = ()) -> None:
    """Refuse files that cannot be written, before any work is done; None is not checked.

    ``kept`` are files that the command reads, which a report must not overwrite.

    Raises:
        InvalidValue: A file is not a regular file, is named twice or is one of ``kept``, or its
            folder is missing or cannot be written.
    """
    chosen = [file for file in files if file is not None]
    for place, file in enumerate(chosen):
        _check_target(file)
        if any(_is_same(file, other) for other in chosen[:place]):
            raise InvalidValue(
                f"{file} was given for two reports, and the second would overwrite the first. "
                "Name two different files."
            )
        if any(_is_same(file, other) for other in kept):
            raise InvalidValue(
                f"{file} is read by this command, and a report would overwrite it. Name "
                "another file for the report."
            )


def write_report(file: Path, text: str, mode: int | None = None) -> None:
    """Write ``text`` to a regular file, which gets this ``mode`` before it gets the text.

    Without ``mode``, a new file gets the usual mode of the user, and another one keeps its own.

    Raises:
        InvalidValue: The file cannot be written, or is not a regular file.
    """
    # a pipe without a reader is refused and does not wait for one
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        opened = os.open(file, flags, 0o666 if mode is None else mode)
        with open(opened, "w", encoding="utf-8") as written:  # noqa: PTH123 - of a descriptor
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise _not_regular(file)
            if mode is not None:
                os.fchmod(opened, mode)  # the file may have existed before
            os.ftruncate(opened, 0)
            written.write(text)
    except OSError as error:
        raise _unwritable(file, error) from error


def _check_target(file: Path) -> None:
    if str(file) == "-":
        raise InvalidValue(
            "- was given as the file of a report, and reports are not printed. Name a file, "
            "such as report.html."
        )
    try:
        found = file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        found = None
    except OSError as error:
        raise _unwritable(file, error) from error
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise _not_regular(file)
    if not file.parent.is_dir():
        raise InvalidValue(f"There is no folder {file.parent} for the report. Create it first.")
    if found is None and not os.access(file.parent, os.W_OK | os.X_OK):
        raise InvalidValue(
            f"The folder {file.parent} cannot be written by you. Name a file in another folder."
        )
    if found is not None and not os.access(file, os.W_OK):
        raise InvalidValue(f"{file} cannot be written by you. Name another file.")


def _is_same(file: Path, other: Path) -> bool:
    """Return whether two paths lead to the same file, which may not exist yet."""
    with suppress(OSError):
        return file.samefile(other)  # also two names of one file
    return file.resolve() == other.resolve()


def _not_regular(file: Path) -> InvalidValue:
    return InvalidValue(
        f"{file} exists and is not a regular file, so that no report is written to it. Name a "
        "new file, or a file that may be overwritten."
    )


def _unwritable(file: Path, error: OSError) -> InvalidValue:
    why = error.strerror or type(error).__name__
    return InvalidValue(f"{file} cannot be written ({why}). Name another file.")
