"""Files that hold a key each: made once, and read by their owner alone."""

import os
import stat
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from tacit.errors import InvalidValue
from tacit.numeric.entropy import fresh_bytes
from tacit.store.sqlite import sync_folder

KEY_BYTES = 32
OTHERS = 0o077


def key_in(path: Path) -> bytes:
    """The key in the file ``path``, made there where there is none."""
    if not path.exists():
        _make(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & OTHERS:
        raise InvalidValue(f"{path} may be read by others (mode {mode:o}); chmod 600 {path}")
    return decoded(path.read_bytes(), str(path))


def decoded(text: str | bytes, place: str) -> bytes:
    """The bytes of a key that is written in base64, and where it was found."""
    try:
        return b64decode(text.strip(), validate=True)
    except (NotBase64, ValueError) as error:
        raise InvalidValue(f"{place} does not hold base64.") from error


def _make(path: Path) -> None:
    """Put a new key at ``path``, whole and once, however many processes start at once."""
    with NamedTemporaryFile(dir=path.parent, prefix=".key") as file:  # of mode 600
        file.write(b64encode(fresh_bytes(KEY_BYTES)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):  # another was first, and theirs is the key
            os.link(file.name, path)
    sync_folder(path.parent)
