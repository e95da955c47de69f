"""Engines that run a bounded plan where the data lives and return secret integers.

An engine bounds the contribution of each privacy unit, aggregates, and returns a
`SecretTable`. DuckDB, PostgreSQL and Spark have modules of their own, which are loaded when a
project names them.
"""

from tacit.engines.engine import (
    MEMBERS,
    CheckedEngine,
    Engine,
    RehearsingEngine,
    RowEngine,
    SecretTable,
    hash_values,
    public_groups,
    unused_columns,
    wrap_groups,
    wrap_result,
)
from tacit.engines.engine_spec import (
    CopyRule,
    EngineSpec,
    OpenRequest,
    OwnerRequest,
    RowsRequest,
    path_in,
)
from tacit.engines.prepare import CopyProgress, Preparation, Run, drop_abandoned_copies
from tacit.engines.print.relation import columns, everything
from tacit.engines.print.sql_builder import alias, cast, identifier, literal
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.sql_dialects import DUCKDB
from tacit.engines.print.statement import question
from tacit.engines.print.sums_and_hashes import hash_columns, total
from tacit.engines.sql_engine import RehearsalCache, describe_execution, statement
from tacit.engines.storage_rules import check_types, kinds
from tacit.engines.table_identity import file_identities, merge_identities
from tacit.engines.unit_rows import UnitRows

__all__ = [
    "DUCKDB",
    "MEMBERS",
    "CheckedEngine",
    "CopyProgress",
    "CopyRule",
    "Dialect",
    "Engine",
    "EngineSpec",
    "OpenRequest",
    "OwnerRequest",
    "Preparation",
    "RehearsalCache",
    "RehearsingEngine",
    "RowEngine",
    "RowsRequest",
    "Run",
    "SecretTable",
    "UnitRows",
    "alias",
    "cast",
    "check_types",
    "columns",
    "describe_execution",
    "drop_abandoned_copies",
    "everything",
    "file_identities",
    "hash_columns",
    "hash_values",
    "identifier",
    "kinds",
    "literal",
    "merge_identities",
    "path_in",
    "public_groups",
    "question",
    "statement",
    "total",
    "unused_columns",
    "wrap_groups",
    "wrap_result",
]
