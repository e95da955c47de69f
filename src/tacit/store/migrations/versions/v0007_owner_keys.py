"""Owners have keys, with which they sign their acts."""

from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table. Owners have no keys so far, and their acts are not signed."""
    op.create_table(
        "owner_keys",
        Column("population", Text, primary_key=True),
        Column("key", Text, primary_key=True),
        Column("owner", Text, nullable=False),
        Column("issuer", Text, nullable=False),
        Column("since", BigInteger, nullable=False),
        Column("current", BigInteger, nullable=False),
    )
