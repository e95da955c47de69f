"""Callers have a list of the answers that they were given, and questions that they saved."""

from alembic import op
from sqlalchemy import BigInteger, Column, LargeBinary, Text

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the tables. Answers that were given so far are not in the list."""
    op.create_table(
        "given_answers",
        Column("principal", Text, primary_key=True),
        Column("release", LargeBinary, primary_key=True),
        Column("receipt", LargeBinary, nullable=False),
        Column("population", Text, nullable=False),
        Column("datasets", Text, nullable=False),
        Column("question", Text, nullable=False),
        Column("loss", Text, nullable=False),
        Column("day", Text, nullable=False),
        Column("place", BigInteger, nullable=False),
    )
    op.create_index(
        "given_answers_by_place", "given_answers", ["population", "principal", "place"]
    )
    op.create_table(
        "saved_questions",
        Column("account", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        Column("question", Text, nullable=False),
        Column("within", Text, nullable=False),
        Column("place", BigInteger, nullable=False),
    )
