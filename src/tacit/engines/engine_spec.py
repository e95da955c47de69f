"""What Tacit knows of a kind of engine before one is opened.

An `EngineSpec` is one value that stands for a kind: the word in the project file, how addresses
are checked, the dialect, how an engine is opened, and where its copies may lie. Sessions, the
command line and attacks ask the spec, and compare no names. A plug-in hands in such a value
through the entry-point group ``tacit.engines``.
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
    """Where the copy of a table can lie."""

    IN_A_FILE = "file"
    IN_A_SCHEMA = "schema"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, slots=True)
class CopyRule:
    """Where validated copies of an engine's tables lie, and who makes them."""

    usual: str
    """Where a copy lies unless its owner says another place."""
    lies: CopyLocation
    words: str
    """What an owner may write after --where, in words."""
    one_table: str | None = None
    """Why a copy cannot have several parts; None where it can."""
    made_by_server: bool = False
    """Whether a server makes a missing copy itself, in a file of its own."""
    written_by: str = ""
    """The option by which an owner names who may write, for the refusal of a server."""

    def fits(self, file: str | None) -> bool:
        """Return whether a copy may lie in ``file``, or in a schema where that is None."""
        if self.lies is CopyLocation.ANYWHERE:
            return True
        return (file is not None) == (self.lies is CopyLocation.IN_A_FILE)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """What is to be opened: an address with its secret, and what will be read there."""

    name: str
    """The name that the project file gives the engine, for refusals."""
    address: str
    tables: tuple[str, ...]
    """Names of the tables that questions read."""
    copies: Mapping[str, str]
    """Files of copies by the names that they have in questions."""
    columns: tuple[str, ...] | None = None
    """The columns that will be read; all, where none are named."""


@dataclass(frozen=True, slots=True)
class OwnerRequest:
    """Where a copy is to be made or dropped, by the owner of its table."""

    address: str
    """The address that sessions read by, with its secret."""
    writer: str | None
    """The address that the owner names by --by."""
    table: tuple[str, ...]
    columns: tuple[str, ...]
    where: tuple[str, ...]
    """The schema of the copy, below its database where that is another one."""
    place: str
    """The same as the project file says it."""
    file: str | None
    """The file of the copy, where it lies in one of its own."""


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """One row of each of ``most`` units, which their owner attacks."""

    address: str
    table: tuple[str, ...]
    unit: str
    columns: Sequence[str]
    most: int


OpenEngine = Callable[[OpenRequest], CheckedEngine]
OpenOwner = Callable[[OwnerRequest], AbstractContextManager[Run]]
UnitRowsOf = Callable[[RowsRequest], list[tuple[str, ...]]]
AfterCopy = Callable[[str, Mapping[str, str], tuple[tuple[str, ...], ...]], tuple[str, ...]]
"""Statements that let the role at an address read the tables of a copy."""


def never(_: object) -> bool:
    """Recognise no source: the engine is opened by its kind alone."""
    return False


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """One kind of engine.

    Example:
        >>> from tacit.engines.registry import engine_spec
        >>> engine_spec("duckdb").address.field
        'path'
    """

    kind: str
    """The word in the project file."""
    address: AddressRule
    open: OpenEngine
    dialect: Dialect | None = None
    """None for an engine that prints no SQL."""
    copies: CopyRule | None = None
    """None for an engine in which no copy can be made, and so none of its tables is served."""
    owner: OpenOwner | None = None
    after_copy: AfterCopy | None = None
    unit_rows: UnitRowsOf | None = None
    """For `tacit attack --table`; None where rows are not read for an attack."""
    recognises: Callable[[object], bool] = never
    """Whether a source given to tacit.open or `tacit init` is an address of this kind."""
    names_table: Callable[[str], str | None] = lambda _: None
    """The table at an address, where the address itself names it."""
    preload: tuple[str, ...] = ()
    """Modules that a worker loads before its first question."""
    variables: tuple[str, ...] | None = None
    """How names of environment variables begin that its driver reads; None for an engine over
    files, which needs no network."""
    maker: str | None = None
    """The plug-in that brought it, with its version; None for an engine of Tacit itself."""


def path_in(folder: Path, rule: AddressRule, address: str) -> str:
    """Return an address as an engine reads it: a path begins at the project file."""
    return str(folder / address) if rule.is_path else address
