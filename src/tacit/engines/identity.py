"""Which physical table a name stands for, so that one table has one population and one budget.

Two names can stand for the same rows: a symbolic link, a hard link, ``..`` in a path, another
address of the same server, a view, a partition of a partitioned table. So an engine gives each
table a set of *identities*, short texts that are equal where the table is. Two tables overlap
where their sets meet.

=============  =======================================================================
a file         its resolved path, and its device and inode while it is there
DuckDB         the database file and the table in it; a view has its own and those of all
               tables and files that its text names
PostgreSQL     the cluster's own identifier, the database and the table, by number and by name;
               a view has those of all tables that it reads, a partitioned table those of its
               partitions
Spark          the catalogue's name of the table and, where it tells, the folder of its files
=============  =======================================================================

What cannot be seen through is told in `docs/privacy/ledger.md`: copies that somebody makes by
hand, foreign tables, views of Spark, and functions in a view of DuckDB whose files its text
does not name. Identities are hashed: whoever audits a ledger needs no paths and addresses. No
row is read for any of this.
"""

from collections.abc import Iterable
from glob import glob
from hashlib import sha256
from pathlib import Path

WILD = "*?["


def identity(kind: str, *parts: object) -> str:
    """One identity: its kind, and a hash of what tells it apart.

    Example:
        >>> identity("path", "/data/visits.parquet")
        'path 101299fb72165ffd80a2ce4b'
    """
    text = "\n".join(map(str, parts))
    return f"{kind} {sha256(text.encode()).hexdigest()[:24]}"


def file_identities(path: str | Path, inside: str = "") -> tuple[str, ...]:
    """The identities of a file, or of what is called ``inside`` in it.

    A pattern stands for all files that it matches now, and for itself.
    """
    given = Path(path)
    found = [given]
    if any(mark in str(path) for mark in WILD) and not given.exists():
        found += [Path(each) for each in sorted(glob(str(path), recursive=True))]  # noqa: PTH207
    identities = []
    for file in found:
        identities.append(identity("path", file.resolve(), inside))
        try:
            known = file.stat()
        except OSError:
            continue  # a file that is not there, or a pattern
        identities.append(identity("inode", known.st_dev, known.st_ino, inside))
    return tuple(identities)


def merged(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """All identities of several tables, each once, in order."""
    return tuple(sorted({each for part in parts for each in part}))
