"""The first tables, and the triggers that keep the log append-only."""

from alembic import op
from sqlalchemy import BigInteger, CheckConstraint, Column, LargeBinary, SmallInteger, Text

revision = "0001"
down_revision = None

SQLITE = (
    """CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are only added'); END""",
    """CREATE TRIGGER entries_are_not_deleted BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are only added'); END""",
    """CREATE TRIGGER answers_are_written_once BEFORE UPDATE ON answers
    WHEN OLD.body IS NOT NULL BEGIN SELECT RAISE(ABORT, 'an answer is written once'); END""",
    """CREATE TRIGGER answers_are_not_deleted BEFORE DELETE ON answers
    BEGIN SELECT RAISE(ABORT, 'an answer is written once'); END""",
)

POSTGRESQL = (
    """CREATE FUNCTION tacit_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the ledger is only added to'; END $$""",
    """CREATE TRIGGER entries_are_only_added BEFORE UPDATE OR DELETE ON entries
    FOR EACH ROW EXECUTE FUNCTION tacit_refuse()""",
    """CREATE TRIGGER entries_are_not_emptied BEFORE TRUNCATE ON entries
    EXECUTE FUNCTION tacit_refuse()""",
    """CREATE TRIGGER answers_are_written_once BEFORE UPDATE ON answers
    FOR EACH ROW WHEN (OLD.body IS NOT NULL) EXECUTE FUNCTION tacit_refuse()""",
    """CREATE TRIGGER answers_are_not_deleted BEFORE DELETE ON answers
    FOR EACH ROW EXECUTE FUNCTION tacit_refuse()""",
    """CREATE TRIGGER answers_are_not_emptied BEFORE TRUNCATE ON answers
    EXECUTE FUNCTION tacit_refuse()""",
)


def _key(name: str) -> Column[str]:
    return Column(name, Text, primary_key=True)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _count(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _blob(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False)


def _seq() -> Column[int]:
    return Column("seq", BigInteger, primary_key=True, autoincrement=False)


def _spending() -> tuple[Column[int], ...]:
    return tuple(
        _count(name) for name in ("cap_amount", "cap_delta", "spent_amount", "spent_delta")
    )


def upgrade() -> None:
    """Make the tables of format 1."""
    op.create_table(
        "budgets",
        _key("population"),
        _key("period"),
        _text("unit"),
        _text("neighbours"),
        _text("measure"),
        _text("conversion_delta"),
        Column("idealised", SmallInteger, nullable=False),
        *_spending(),
        _count("missed"),
        _count("looked"),
        _count("head_seq"),
        _blob("head_hash"),
        CheckConstraint(
            "spent_amount <= cap_amount AND spent_delta <= cap_delta", "within_cap"
        ),
        CheckConstraint("spent_amount >= 0 AND spent_delta >= 0", "never_negative"),
    )
    op.create_table("entries", _key("population"), _seq(), _text("body"), _blob("hash"))
    op.create_table(
        "requests",
        _key("principal"),
        Column("request", LargeBinary, primary_key=True),
        _blob("binding"),
        _blob("nonce"),
        _text("places"),
    )
    op.create_table(
        "answers",
        Column("release", LargeBinary, primary_key=True),
        _blob("receipt"),
        _count("until"),
        Column("body", LargeBinary),
    )
    op.create_table(
        "holders",
        _key("population"),
        _key("holder"),
        *_spending(),
        CheckConstraint("spent_amount >= 0 AND spent_delta >= 0", "never_negative"),
    )
    op.create_table("members", _key("population"), _key("principal"), _key("holder"))
    op.create_table("owners", _key("population"), _key("owner"))
    op.create_table("proposals", _key("population"), _seq(), _text("body"))
    op.create_table("states", _key("name"), _count("version"), _blob("sealed"))
    op.create_table(
        "tokens",
        Column("hash", LargeBinary, primary_key=True),
        _text("principal"),
        _text("role"),
        _text("scope"),
        _count("expires"),
        _count("revoked"),
    )
    for trigger in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(trigger)
