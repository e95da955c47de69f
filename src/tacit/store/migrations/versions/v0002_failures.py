"""Failures, retries, the least price of a question, and the entry of the charge of each answer.

A budget that was made before this step gets the least price that holds where nobody said
another: 10^-5 of its cap, without an entry in its chain.
"""

from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns, with their values for existing budgets."""
    for name in ("failed", "retried", "least_amount"):
        op.add_column("budgets", Column(name, BigInteger, nullable=False, server_default="0"))
    share = Column("least_share", Text, nullable=False, server_default="1/100000")
    op.add_column("budgets", share)
    op.execute("UPDATE budgets SET least_amount = cap_amount / 100000")
    op.add_column("answers", Column("places", Text))
