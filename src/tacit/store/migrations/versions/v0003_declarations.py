"""Declarations have numbers, charges can be stopped, and physical tables have a population."""

from alembic import op
from sqlalchemy import BigInteger, Column, Text, text

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the declaration's number, whether charges are stopped, and the list of tables.

    A population of version 0.1 has no numbered declaration yet, so its number is 0 until its
    owner records one by `tacit apply`.
    """
    for name in ("declared", "frozen"):
        op.add_column(
            "budgets", Column(name, BigInteger, nullable=False, server_default=text("0"))
        )
    op.create_table(
        "holdings",
        Column("population", Text, primary_key=True),
        Column("identity", Text, primary_key=True),
        Column("current", BigInteger, nullable=False),
    )
    op.create_index(
        "one_population_at_a_time",
        "holdings",
        ["identity"],
        unique=True,
        sqlite_where=text("current = 1"),
        postgresql_where=text("current = 1"),
    )
