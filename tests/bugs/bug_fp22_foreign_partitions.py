"""F-P22: a partitioned table is plain, although one of its partitions is a foreign table."""

PLACE = "tacit.engines.storage_rules:POSTGRES_TABLES"
CAUGHT_BY = (
    "tests/engines/test_plain_storage.py::test_what_computes_in_postgresql_is_not_served_in_place"
    "[is a foreign table, or has one among its partitions]"
)
SHOWN = "not enough values to unpack"


def bug(original: str) -> str:
    start, _, _ = original.partition(" UNION ")
    return f"{start}){original.partition('inhparent = id)')[2]}"
