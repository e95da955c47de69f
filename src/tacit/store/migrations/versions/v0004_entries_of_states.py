"""Entries that tell of a sealed state are found by its name."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column that names the state, which no entry so far tells of."""
    op.add_column("entries", Column("state", Text))
    op.create_index("entries_of_states", "entries", ["population", "state", "seq"])
