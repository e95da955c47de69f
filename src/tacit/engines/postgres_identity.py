"""Which table of which cluster a name of PostgreSQL stands for; no row is read.

A server has many addresses, and one number of its own that `pg_control_system` tells everybody.
A view is followed to the tables that its rule depends on, and a partitioned table or a parent
of others to those that inherit from it, so that whatever shares rows shares an identity. A
child does not get its parent's identity: two partitions of one table have no row in common.
"""

from tacit.engines.identity import identity
from tacit.engines.postgres_role import Cursor, quoted

_CLUSTER = """
SELECT (SELECT system_identifier FROM pg_control_system()), d.oid, d.datname
FROM pg_database d WHERE d.datname = current_database()
"""

_RELATIONS = """
WITH RECURSIVE reached(relation) AS (
    SELECT %s::regclass::oid
  UNION
    SELECT found.relation FROM reached CROSS JOIN LATERAL (
        SELECT inhrelid AS relation FROM pg_inherits WHERE inhparent = reached.relation
      UNION ALL
        SELECT d.refobjid FROM pg_rewrite r JOIN pg_depend d
            ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
            AND d.refclassid = 'pg_class'::regclass
        WHERE r.ev_class = reached.relation AND d.refobjid <> reached.relation
    ) AS found
)
SELECT c.oid, n.nspname, c.relname FROM reached
JOIN pg_class c ON c.oid = reached.relation JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""


def table_identities(cursor: Cursor, table: tuple[str, ...]) -> tuple[str, ...]:
    """The identities of ``table`` and of all that its rows come from."""
    cluster, number, database = cursor.execute(_CLUSTER).fetchone()
    name = ".".join(quoted(part) for part in table[-2:])
    found = []
    for oid, schema, relation in cursor.execute(_RELATIONS, (name,)).fetchall():
        found.append(identity("postgres", cluster, number, oid))
        found.append(identity("postgres", cluster, database, schema, relation))
    return tuple(sorted(found))
