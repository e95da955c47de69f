"""The role that Tacit reads by: what an owner makes it, and what is refused."""

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
"""With these nothing of a question comes into the server's log, whether it fails or not."""

TEMPORARY = "temp_file_limit"
"""How much a role may keep in temporary files. Where there is a limit, the rows of one person
can reach it, in a copy as in a table, and whether a paid question fails then tells of them."""

OWN = """\
DO $tacit$ DECLARE other text; BEGIN
 REVOKE ALL ON {table} FROM PUBLIC;
 FOR other IN SELECT DISTINCT rolname FROM pg_class, aclexplode(relacl), pg_roles
  WHERE pg_class.oid = $name${table}$name$::regclass
  AND grantee = pg_roles.oid AND grantee <> relowner
 LOOP EXECUTE format('REVOKE ALL ON %s FROM %I CASCADE', $name${table}$name$, other); END LOOP;
END $tacit$"""
"""Takes all rights to a table from everybody but its owner."""

WRITES = "INSERT, UPDATE, DELETE, TRUNCATE"


class RoleCursor(Protocol):
    """The part of psycopg's cursor that is used here."""

    def execute(self, query: Any, params: Any = ..., /) -> Any:
        """Run one statement."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def fetchall(self) -> Any:
        """All rows that are left."""
        ...


def reader(role: str, catalog: Catalog) -> tuple[str, ...]:
    """The statements by which a superuser makes ``role`` one that Tacit may read by.

    Example:
        >>> reader("tacit", Catalog((), ()))[0]
        'CREATE ROLE "tacit" LOGIN NOINHERIT'
    """
    return reader_of(role, [dataset.location.table for dataset in catalog.tables])


def reader_of(role: str, tables: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The same for tables by their names, part by part, before anything is declared of them."""
    name = quoted_name(role)
    return (
        f"CREATE ROLE {name} LOGIN NOINHERIT",
        f"ALTER ROLE {name} SET default_transaction_read_only = on",
        *(f"ALTER ROLE {name} SET {setting} = '{value}'" for setting, value in QUIET.items()),
        f"ALTER ROLE {name} SET {TEMPORARY} = '-1'",
        *(f"GRANT SELECT ON {_table(table)} TO {name}" for table in tables),
    )


def grant_statements(role: str, tables: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The statements by which their owner lets ``role`` and nobody else read a copy's tables.

    What default privileges of the schema gave to others is taken from them first.

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
    """Refuse a role that may do more than read, and a server that logs what it is asked.

    A limit of temporary files is refused too, since one person's rows may reach it.
    """
    (encoding,) = cursor.execute("SELECT current_setting('server_encoding')").fetchone()
    if encoding != "UTF8":
        raise InvalidValue(f"The database's encoding is {encoding}; only UTF8 is supported.")
    (mighty,) = cursor.execute(
        "SELECT rolsuper OR rolbypassrls OR rolcreaterole FROM pg_roles"
        " WHERE rolname = current_user"
    ).fetchone()
    if mighty:
        raise InvalidValue("Tacit reads by a plain role; this one is a superuser, or near it.")
    for setting, quiet in QUIET.items():
        (found,) = cursor.execute("SELECT current_setting(%s, true)", (setting,)).fetchone()
        if found is not None and found != quiet:
            raise InvalidValue(
                f"The server would log questions: {setting} is {found}. As a superuser: "
                f"ALTER ROLE ... SET {setting} = '{quiet}'."
            )
    (limit,) = cursor.execute("SELECT current_setting(%s)", (TEMPORARY,)).fetchone()
    if limit != "-1":
        raise InvalidValue(
            f"Temporary files of Tacit's role are limited to {limit}, which the rows of one "
            "person may reach, so that questions fail because of them. As a superuser: "
            f"ALTER ROLE ... SET {TEMPORARY} = '-1'."
        )
    for dataset in catalog.tables:
        if dataset.copy is not None:
            continue  # its copy is looked at by itself
        check_table(cursor, dataset)


def check_table(cursor: RoleCursor, dataset: Dataset | PublicTable) -> None:
    """Refuse a table that the role may write, or that takes different texts for equal."""
    table = _table(dataset.location.table)
    (writes,) = cursor.execute("SELECT has_table_privilege(%s, %s)", (table, WRITES)).fetchone()
    if writes:
        raise InvalidValue(
            f"Tacit's role may write {dataset.name!r}; REVOKE {WRITES} ON {table}."
        )
    named = [column.name for column in dataset.schema.columns if column.kind is Kind.TEXT]
    loose = cursor.execute(
        "SELECT attname FROM pg_attribute JOIN pg_collation ON attcollation = pg_collation.oid"
        " WHERE attrelid = %s::regclass AND attname = ANY(%s) AND NOT collisdeterministic",
        (table, named),
    ).fetchall()
    if loose:
        # two units whose names such a collation takes for equal would share one bound
        raise InvalidValue(
            f"{dataset.name}.{loose[0][0]} has a collation that takes different texts for "
            "equal; only deterministic ones are supported."
        )


def _table(table: tuple[str, ...]) -> str:
    *schema, last = table
    return ".".join(quoted_name(part) for part in [*schema[-1:], last])


def quoted_name(name: str) -> str:
    """A name as PostgreSQL reads it, whatever stands in it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
