"""The kinds of engines that come with Tacit: DuckDB, Parquet files, PostgreSQL and Spark.

A driver is loaded when an engine is opened, and not when this module is imported.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from getpass import getuser
from pathlib import Path
from typing import cast
from urllib.parse import quote, unquote, urlsplit

from tacit.engines.duckdb import open_duckdb
from tacit.engines.duckdb_files import duckdb_owner, one_row_each, open_parquet
from tacit.engines.engine import CheckedEngine
from tacit.engines.engine_spec import (
    CopyLocation,
    CopyRule,
    EngineSpec,
    OpenRequest,
    OwnerRequest,
    RowsRequest,
)
from tacit.engines.postgres_role import grant_statements
from tacit.engines.prepare import Run
from tacit.engines.print.postgres_dialect import POSTGRES
from tacit.engines.print.sql_dialects import DUCKDB, SPARK
from tacit.errors import InvalidValue
from tacit.extras import ENGINES, check_installed, find_plugin, hint, load
from tacit.project import PATH, UNKNOWN, AddressRule, Plugins, refuse_password, with_password

COPIES_FILE, COPIES_SCHEMA = "copies.duckdb", "copies"
MASTERS = ("sc://", "spark://", "local", "yarn", "k8s://")
"""Prefixes of Spark's addresses: Spark Connect, or the master of a cluster."""

FILES_OF_DUCKDB, FILES_OF_PARQUET = (".duckdb", ".db"), (".parquet",)


# DuckDB databases and Parquet files


def _open_duckdb(request: OpenRequest) -> CheckedEngine:
    return open_duckdb(request.address, request.copies)


def _open_parquet(request: OpenRequest) -> CheckedEngine:
    if len(request.tables) != 1:
        raise InvalidValue(
            f"The engine {request.name!r} is one Parquet file, which contains one table, but "
            f"{len(request.tables)} tables name it. Declare one engine for each file."
        )
    return open_parquet(request.address, request.tables[0], request.copies, request.columns)


def _own_duckdb(request: OwnerRequest) -> AbstractContextManager[Run]:
    return duckdb_owner(
        request.address,
        request.where,
        file=request.file,
        parquet=None,
        columns=request.columns,
    )


def _own_parquet(request: OwnerRequest) -> AbstractContextManager[Run]:
    return duckdb_owner(
        request.address,
        request.where,
        file=request.file,
        parquet=request.table[-1],
        columns=request.columns,
    )


def _rows_of_duckdb(
    request: RowsRequest, *, parquet: str | None = None
) -> list[tuple[str, ...]]:
    return one_row_each(
        request.address,
        request.table,
        request.unit,
        request.columns,
        parquet=parquet,
        most=request.most,
    )


def _rows_of_parquet(request: RowsRequest) -> list[tuple[str, ...]]:
    return _rows_of_duckdb(request, parquet=request.table[-1])


def _ends_with(*endings: str) -> "RecognisesFile":
    return RecognisesFile(endings)


class RecognisesFile:
    """A test whether a source is a path with one of the given endings."""

    def __init__(self, endings: tuple[str, ...]) -> None:
        self._endings = endings

    def __call__(self, source: object) -> bool:
        """Return whether ``source`` is a path with one of the endings."""
        return isinstance(source, str | Path) and str(source).endswith(self._endings)


DUCKDB_SPEC = EngineSpec(
    kind="duckdb",
    address=AddressRule("duckdb", PATH, in_place=True, fixed_plans=True),
    open=_open_duckdb,
    dialect=DUCKDB,
    copies=CopyRule(
        COPIES_FILE,
        CopyLocation.ANYWHERE,
        "a schema, or a separate file",
        made_by_server=True,
    ),
    owner=_own_duckdb,
    unit_rows=_rows_of_duckdb,
    recognises=_ends_with(*FILES_OF_DUCKDB),
    preload=("sqlglot.dialects.duckdb",),
)

PARQUET_SPEC = EngineSpec(
    kind="parquet",
    address=AddressRule("parquet", PATH, fixed_plans=True),
    open=_open_parquet,
    dialect=DUCKDB,
    copies=CopyRule(
        COPIES_FILE,
        CopyLocation.IN_A_FILE,
        "copies.duckdb, a separate file",
        made_by_server=True,
    ),
    owner=_own_parquet,
    unit_rows=_rows_of_parquet,
    recognises=_ends_with(*FILES_OF_PARQUET),
    names_table=lambda address: Path(address).stem,
    preload=("sqlglot.dialects.duckdb",),
)


# PostgreSQL


def _open_postgres(request: OpenRequest) -> CheckedEngine:
    module = load("tacit.engines.postgres", extra="postgres")
    return cast("CheckedEngine", module.Postgres(request.address))


def _own_postgres(request: OwnerRequest) -> AbstractContextManager[Run]:
    owner = load("tacit.engines.postgres", extra="postgres").postgres_owner
    if request.writer is None:
        raise InvalidValue(
            "Tacit's own role may only read. Use --by to name an address that may create "
            "tables: --by env:VARIABLE, if a variable contains the address, or "
            "--by postgresql://owner@host/database."
        )
    return cast("AbstractContextManager[Run]", owner(request.writer, request.place))


def _grant_reading(
    address: str, environment: Mapping[str, str], tables: tuple[tuple[str, ...], ...]
) -> tuple[str, ...]:
    """Return the grants for the role of sessions: the role of the address, or the default."""
    named = urlsplit(address).username
    role = unquote(named) if named else environment.get("PGUSER") or getuser()
    return tuple(grant_statements(role, tables))


POSTGRES_SPEC = EngineSpec(
    kind="postgres",
    address=AddressRule(
        "postgres", refuse=refuse_password, with_secret=with_password, in_place=True
    ),
    open=_open_postgres,
    dialect=POSTGRES,
    copies=CopyRule(
        COPIES_SCHEMA,
        CopyLocation.IN_A_SCHEMA,
        "copies, a schema of the same database",
        written_by=" --by env:OWNER",
    ),
    owner=_own_postgres,
    after_copy=_grant_reading,
    recognises=lambda source: str(source).startswith(("postgresql://", "postgres://")),
    preload=("sqlglot.dialects.postgres",),
    variables=("PG", "HOME"),
)


# Spark


def refuse_token(text: str, *, secret: bool) -> str | None:
    """Return why an address of Spark is refused, or None: it must not contain a token."""
    if not text.startswith(MASTERS):
        return (
            "This is not an address of Spark. Write sc://host:15002 for Spark Connect, or the "
            "master of a cluster, such as spark://host:7077."
        )
    if "token=" in text:
        return (
            "A token must not be written in this file. Remove it from the address, and add "
            'password = "env:SPARK_TOKEN", where SPARK_TOKEN is a variable with the token.'
        )
    if secret and not text.startswith("sc://"):
        return (
            "A password of Spark is the token of Spark Connect, whose addresses begin with "
            "sc://. Remove the password, or use such an address."
        )
    return None


def with_token(address: str, secret: str) -> str:
    """Return an address with the token of Spark Connect, which then uses TLS."""
    start = address.rstrip("/;")
    return f"{start}{';' if '/;' in start else '/;'}token={quote(secret, safe='')}"


def _open_spark(request: OpenRequest) -> CheckedEngine:
    module = load("tacit.engines.spark", extra="spark")
    return cast("CheckedEngine", module.open_spark(request.address))


def _own_spark(request: OwnerRequest) -> AbstractContextManager[Run]:
    owner = load("tacit.engines.spark", extra="spark").spark_owner
    address = request.address if request.writer is None else request.writer
    return cast("AbstractContextManager[Run]", owner(address, request.place))


SPARK_SPEC = EngineSpec(
    kind="spark",
    address=AddressRule("spark", refuse=refuse_token, with_secret=with_token),
    open=_open_spark,
    dialect=SPARK,
    copies=CopyRule(
        COPIES_SCHEMA,
        CopyLocation.IN_A_SCHEMA,
        "copies, a database of its catalogue",
        one_table="A copy on Spark is always one table, whose buckets are its parts.",
    ),
    owner=_own_spark,
    recognises=lambda source: str(source).startswith(("sc://", "spark://")),
    preload=("sqlglot.dialects.spark",),
    variables=(
        *("SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "JAVA_", "HOME", "PATH", "LANG", "LC_"),
        *("AWS_", "AZURE_", "GOOGLE_"),
    ),
)

BUILT_IN = (DUCKDB_SPEC, PARQUET_SPEC, POSTGRES_SPEC, SPARK_SPEC)
"""The built-in engines, in the order in which they are asked about a source."""


# ------------------------------------------------------------------ registry
# The lookup of kinds of engines, for sessions, the command line and attacks.

NO_PLUGINS: Plugins = {}
_BY_KIND: Mapping[str, EngineSpec] = {spec.kind: spec for spec in BUILT_IN}


def engine_spec(kind: str, plugins: Plugins = NO_PLUGINS) -> EngineSpec:
    """Return the spec of a kind of engine.

    A kind that is not built in is loaded if ``plugins`` names the distribution that provides
    it, and the version. A plug-in cannot replace a built-in engine.

    Raises:
        InvalidValue: The kind is not known, or its plug-in is not allowed or fails to load.

    Example:
        >>> engine_spec("parquet").names_table("visits.parquet")
        'visits'
    """
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    plugin = find_plugin(ENGINES, kind, plugins)
    if plugin is None:
        advice = hint(ENGINES, kind)
        if not advice:
            check_installed(plugins)  # the file may name the plug-in of this kind
        known = ", ".join(_BY_KIND)
        raise InvalidValue(f"The kind of an engine must be one of: {known}.{advice}")
    found = plugin.load()
    if not isinstance(found, EngineSpec) or found.kind != kind:
        raise InvalidValue(
            f"The plug-in {plugin} names {kind!r} in the entry points {ENGINES}, but this "
            "object is not an EngineSpec of that kind. Ask the author of the plug-in."
        )
    rule = replace(found.address, kind=kind, plugin=str(plugin))
    return replace(found, address=rule, maker=str(plugin))


def address_rule(kind: str, plugins: Plugins) -> AddressRule:
    """Return the rule for addresses of a kind of engine in the project file."""
    return engine_spec(kind, plugins).address


def address_rule_unloaded(kind: str, plugins: Plugins) -> AddressRule:
    """Return the rule for addresses of a kind of engine, and load no plug-in.

    A command that only needs the ledger reads the project file by it, even if the code of a
    plug-in is broken or gone: an address of a kind that is not built in is accepted as it is.
    Such a kind is refused if the file names no plug-in.
    """
    if kind in _BY_KIND or not plugins:
        return address_rule(kind, plugins)
    return AddressRule(kind, UNKNOWN, in_place=True)


def spec_for(source: object) -> EngineSpec | None:
    """Return the spec of the built-in engine to which a source belongs; None if there is none.

    Example:
        >>> spec_for("clinic.duckdb").kind, spec_for("visits.csv")
        ('duckdb', None)
    """
    return next((spec for spec in BUILT_IN if spec.recognises(source)), None)
