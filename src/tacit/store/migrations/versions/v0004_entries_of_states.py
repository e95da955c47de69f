"""Entries about a sealed state can be found by the state's name."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column that names the state. No entry so far is about a state."""
    op.add_column("entries", Column("state", Text))
    op.create_index("entries_of_states", "entries", ["population", "state", "seq"])
