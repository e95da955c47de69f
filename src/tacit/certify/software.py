"""Which software wrote a document: its version, and a hash of its source."""

import platform
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

PACKAGE = Path(__file__).parent.parent


@cache
def software() -> dict[str, str]:
    """Return the version of Tacit, the SHA-256 of its source, and the version of Python.

    The hash is over the names and contents of all Python files of the package, sorted by name.

    Example:
        >>> sorted(software())
        ['python', 'source_sha256', 'tacit']
    """
    total = sha256(b"tacit source 1\n")
    for file in sorted(PACKAGE.rglob("*.py"), key=lambda each: each.relative_to(PACKAGE).parts):
        content = sha256(file.read_bytes()).hexdigest()
        total.update(f"{file.relative_to(PACKAGE).as_posix()} {content}\n".encode())
    return {
        "tacit": version("tacit"),
        "source_sha256": total.hexdigest(),
        "python": platform.python_version(),
    }
