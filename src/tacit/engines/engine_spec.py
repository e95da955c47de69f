"""The description of a kind of engine, which is known before an engine is opened.

An `EngineSpec` describes one kind: its name in the project file, how addresses are checked, the
dialect, how an engine is opened, and where its copies can be stored. Sessions, the command line
and attacks use the spec and never compare names of kinds. A plug-in provides such a spec in the
entry-point group ``tacit.engines``.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tacit.engines.engine import CheckedEngine
from tacit.engines.prepare import Run
from tacit.engines.print.sql_dialect import Dialect
from tacit.project import AddressRule


class CopyLocation(Enum):
    """The places where the copy of a table can be stored."""

    IN_A_FILE = "file"
    IN_A_SCHEMA = "schema"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, slots=True)
class CopyRule:
    """Where validated copies of an engine's tables are stored, and who makes them."""

    usual: str
    """The place of a copy, unless its owner names another one."""
    location: CopyLocation
    words: str
    """A description, for messages, of the places that an owner may name by --where."""
    one_table: str | None = None
    """The reason why a copy cannot have several parts; None if it can."""
    made_by_server: bool = False
    """Whether a server makes a missing copy itself, in a separate file."""
    written_by: str = ""
    """The option that names an address which may write, for the message of a server."""

    def fits(self, file: str | None) -> bool:
        """Return whether a copy can be stored in ``file``; None stands for a schema."""
        if self.location is CopyLocation.ANYWHERE:
            return True
        return (file is not None) == (self.location is CopyLocation.IN_A_FILE)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request to open an engine: an address with its secret, and the tables to be read."""

    name: str
    """The name of the engine in the project file, for messages."""
    address: str
    tables: tuple[str, ...]
    """Names of the tables that questions read."""
    copies: Mapping[str, str]
    """The files of copies, by their names in questions."""
    columns: tuple[str, ...] | None = None
    """The columns that will be read; None means all columns."""


@dataclass(frozen=True, slots=True)
class OwnerRequest:
    """A request of a table's owner to make or drop a copy."""

    address: str
    """The address from which sessions read, with its secret."""
    writer: str | None
    """The address that the owner names by --by, which may write; None without that option."""
    table: tuple[str, ...]
    columns: tuple[str, ...]
    where: tuple[str, ...]
    """The schema of the copy, after the name of its database if that is another one."""
    place: str
    """The place of the copy, as it is written in the project file."""
    file: str | None
    """The file of the copy, if it has a separate file."""


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """A request for one row of each of ``most`` units, on which the owner tries an attack."""

    address: str
    table: tuple[str, ...]
    unit: str
    columns: Sequence[str]
    most: int


OpenEngine = Callable[[OpenRequest], CheckedEngine]
OpenOwner = Callable[[OwnerRequest], AbstractContextManager[Run]]
UnitRowsOf = Callable[[RowsRequest], list[tuple[str, ...]]]
AfterCopy = Callable[[str, Mapping[str, str], tuple[tuple[str, ...], ...]], tuple[str, ...]]
"""Returns statements that allow the role of an address to read the tables of a copy."""


def never(_: object) -> bool:
    """Return False: no source belongs to this engine, which is opened only by its kind."""
    return False


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """The description of one kind of engine.

    Example:
        >>> from tacit.engines.registry import engine_spec
        >>> engine_spec("duckdb").address.field
        'path'
    """

    kind: str
    """The name of the kind in the project file."""
    address: AddressRule
    open: OpenEngine
    dialect: Dialect | None = None
    """The SQL dialect; None for an engine that is not asked in SQL."""
    copies: CopyRule | None = None
    """The rule for copies; None if the engine cannot make copies. Its tables are not served."""
    owner: OpenOwner | None = None
    after_copy: AfterCopy | None = None
    unit_rows: UnitRowsOf | None = None
    """Reads rows for `tacit attack --table`; None if the engine does not support that."""
    recognises: Callable[[object], bool] = never
    """Whether a source given to tacit.open or `tacit init` is an address of this kind."""
    names_table: Callable[[str], str | None] = lambda _: None
    """Returns the table of an address, if the address itself names it."""
    preload: tuple[str, ...] = ()
    """Modules that a worker process loads before its first question."""
    variables: tuple[str, ...] | None = None
    """Prefixes of the environment variables that the driver reads; None for an engine over
    files, which needs no network."""
    maker: str | None = None
    """The plug-in that provides the engine, with its version; None for a built-in engine."""


def path_in(folder: Path, rule: AddressRule, address: str) -> str:
    """Return an address for an engine: a path is relative to the project file's folder."""
    return str(folder / address) if rule.is_path else address
