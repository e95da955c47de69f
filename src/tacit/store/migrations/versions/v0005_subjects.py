"""Stored answers can be found by their question without its loss."""

from alembic import op
from sqlalchemy import BigInteger, Column, LargeBinary, Text

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the table. Answers that are stored so far have no rows in it."""
    op.create_table(
        "subjects",
        Column("subject", LargeBinary, primary_key=True),
        Column("place", BigInteger, primary_key=True, autoincrement=False),
        Column("release", LargeBinary, nullable=False),
        Column("measure", Text, nullable=False),
        Column("amount", BigInteger, nullable=False),
        Column("delta", BigInteger, nullable=False),
    )
