"""The PostgreSQL role with which Tacit reads: how it is created, and how it is checked."""

from collections.abc import Iterable
from typing import Any, Protocol

from tacit.core import Catalog, Dataset, Kind, PublicTable
from tacit.errors import InvalidValue

QUIET = {
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "log_transaction_sample_rate": "0",
    "log_min_error_statement": "panic",
    "log_duration": "off",
    "debug_print_parse": "off",
    "debug_print_rewritten": "off",
    "debug_print_plan": "off",
}
"""Settings with which no part of a question is logged, whether it fails or not."""

TEMPORARY = "temp_file_limit"
"""The limit for temporary files of a role. It must be off: the rows of one person can reach a
limit, in a copy and in a table, and a paid question that fails then reveals this person."""

OWN = """\
DO $tacit$ DECLARE other text; BEGIN
 REVOKE ALL ON {table} FROM PUBLIC;
 FOR other IN SELECT DISTINCT rolname FROM pg_class, aclexplode(relacl), pg_roles
  WHERE pg_class.oid = $name${table}$name$::regclass
  AND grantee = pg_roles.oid AND grantee <> relowner
 LOOP EXECUTE format('REVOKE ALL ON %s FROM %I CASCADE', $name${table}$name$, other); END LOOP;
END $tacit$"""
"""A statement that revokes all rights to a table from everybody but its owner."""

WRITES = "INSERT, UPDATE, DELETE, TRUNCATE"


class RoleCursor(Protocol):
    """The part of psycopg's cursor that this module uses."""

    def execute(self, query: Any, params: Any = ..., /) -> Any:
        """Run one statement."""
        ...

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> Any:
        """Return all remaining rows."""
        ...


def reader(role: str, catalog: Catalog) -> tuple[str, ...]:
    """Return the statements by which a superuser creates ``role``, with which Tacit reads.

    Example:
        >>> reader("tacit", Catalog((), ()))[0]
        'CREATE ROLE "tacit" LOGIN NOINHERIT'
    """
    return reader_of(role, [dataset.location.table for dataset in catalog.tables])


def reader_of(role: str, tables: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the statements of `reader` for tables that need not be declared yet."""
    name = quoted_name(role)
    return (
        f"CREATE ROLE {name} LOGIN NOINHERIT",
        f"ALTER ROLE {name} SET default_transaction_read_only = on",
        *(f"ALTER ROLE {name} SET {setting} = '{value}'" for setting, value in QUIET.items()),
        f"ALTER ROLE {name} SET {TEMPORARY} = '-1'",
        *(f"GRANT SELECT ON {_table(table)} TO {name}" for table in tables),
    )


def grant_statements(role: str, tables: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the owner's statements that allow only ``role`` to read the tables of a copy.

    Rights that others got by default privileges of the schema are revoked first.

    Example:
        >>> grant_statements("tacit", [("copies", "tacit_visits_0")])[-1]
        'GRANT SELECT ON "copies"."tacit_visits_0" TO "tacit"'
    """
    found = [tuple(map(quoted_name, table)) for table in tables]
    name, schemas = quoted_name(role), sorted({schema for schema, _ in found})
    return (
        *(OWN.format(table=f"{schema}.{table}") for schema, table in found),
        *(f"GRANT USAGE ON SCHEMA {schema} TO {name}" for schema in schemas),
        *(f"GRANT SELECT ON {schema}.{table} TO {name}" for schema, table in found),
    )


def check_role(cursor: RoleCursor, catalog: Catalog) -> None:
    """Refuse a role that may do more than read, and a server that logs questions.

    A limit for temporary files is refused too, because one person's rows may reach it.
    """
    (encoding,) = cursor.execute("SELECT current_setting('server_encoding')").fetchone()
    if encoding != "UTF8":
        raise InvalidValue(
            f"The database's encoding is {encoding}, but only UTF8 is supported. Create the "
            "database with ENCODING 'UTF8'."
        )
    (mighty,) = cursor.execute(
        "SELECT rolsuper OR rolbypassrls OR rolcreaterole FROM pg_roles"
        " WHERE rolname = current_user"
    ).fetchone()
    if mighty:
        raise InvalidValue(
            "Tacit must read by a plain role; this one is a superuser, or may bypass row "
            "security or create roles. Use a role that may only read."
        )
    for setting, quiet in QUIET.items():
        (found,) = cursor.execute("SELECT current_setting(%s, true)", (setting,)).fetchone()
        if found is not None and found != quiet:
            raise InvalidValue(
                f"The server would log questions: {setting} is {found}. Run as a superuser: "
                f"ALTER ROLE ... SET {setting} = '{quiet}'."
            )
    (limit,) = cursor.execute("SELECT current_setting(%s)", (TEMPORARY,)).fetchone()
    if limit != "-1":
        raise InvalidValue(
            f"Temporary files of Tacit's role are limited to {limit}. The rows of one person "
            "may reach this limit, and questions then fail. Run as a superuser: "
            f"ALTER ROLE ... SET {TEMPORARY} = '-1'."
        )
    for dataset in catalog.tables:
        if dataset.copy is not None:
            continue  # its copy is checked separately
        check_table(cursor, dataset)


def check_table(cursor: RoleCursor, dataset: Dataset | PublicTable) -> None:
    """Refuse a table that the role may write, or whose collation equates different texts."""
    table = _table(dataset.location.table)
    (writes,) = cursor.execute("SELECT has_table_privilege(%s, %s)", (table, WRITES)).fetchone()
    if writes:
        raise InvalidValue(
            f"Tacit's role may write {dataset.name!r}, but it must only read. Run: "
            f"REVOKE {WRITES} ON {table} FROM the role."
        )
    named = [column.name for column in dataset.schema.columns if column.kind is Kind.TEXT]
    loose = cursor.execute(
        "SELECT attname FROM pg_attribute JOIN pg_collation ON attcollation = pg_collation.oid"
        " WHERE attrelid = %s::regclass AND attname = ANY(%s) AND NOT collisdeterministic",
        (table, named),
    ).fetchall()
    if loose:
        # two units whose names are equal in such a collation would share one limit
        raise InvalidValue(
            f"{dataset.name}.{loose[0][0]} has a collation in which different texts are equal. "
            "Only deterministic collations are supported: change the column's collation."
        )


def _table(table: tuple[str, ...]) -> str:
    *schema, last = table
    return ".".join(quoted_name(part) for part in [*schema[-1:], last])


def quoted_name(name: str) -> str:
    """Return a name as a quoted identifier of PostgreSQL, whatever it contains."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
