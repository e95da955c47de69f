"""The state of each chain at its newest checkpoint."""

from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the table. A chain has a checkpoint when somebody has verified it."""
    op.create_table(
        "checkpoints",
        Column("population", Text, primary_key=True),
        Column("seq", BigInteger, nullable=False),
        Column("state", Text, nullable=False),
    )
