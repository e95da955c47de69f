"""The tables of the one database, as they stand today; `migrations` is how they came to be.

Losses are integers: an amount in units of 10**-12 of epsilon or rho, a delta in units of
10**-18. Rows of ``entries`` are only ever added, and an answer is written once: triggers of the
database refuse anything else, as a second lock beside our code.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    text,
)

metadata = MetaData()


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _key(name: str) -> Column[str]:
    return Column(name, Text, primary_key=True)


def _count(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _blob(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False)


budgets = Table(
    "budgets",
    metadata,
    _key("population"),
    _key("period"),  # of the data, such as '2026-Q4'; '' is all time, and nothing else is built
    _text("unit"),
    _text("neighbours"),
    _text("measure"),
    _text("conversion_delta"),
    Column("idealised", SmallInteger, nullable=False),
    _count("cap_amount"),
    _count("cap_delta"),
    _count("spent_amount"),
    _count("spent_delta"),
    _count("missed"),  # answers that were late, and how many of them an owner has looked at
    _count("looked"),
    _count("failed"),  # answers that failed, and questions that were run once more
    _count("retried"),
    _text("least_share"),  # the least price of a question: a share of the cap, and in units
    _count("least_amount"),
    _count("declared"),  # the place of the declaration that charges must name; 0 for none
    _count("frozen"),  # 1 while an owner has stopped all charges
    _count("head_seq"),
    _blob("head_hash"),
    CheckConstraint("spent_amount <= cap_amount AND spent_delta <= cap_delta", "within_cap"),
    CheckConstraint("spent_amount >= 0 AND spent_delta >= 0", "never_negative"),
)
"""One row a population: its cap, what was spent of it, and the head of its chain."""

entries = Table(
    "entries",
    metadata,
    _key("population"),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    _text("body"),
    _blob("hash"),
    Column("state", Text),  # of which sealed state it tells, where it tells of one
    Index("entries_of_states", "population", "state", "seq"),
)
"""The chain of each population: everything that ever happened to its budget."""

requests = Table(
    "requests",
    metadata,
    _key("principal"),
    Column("request", LargeBinary, primary_key=True),
    _blob("binding"),
    _blob("nonce"),
    _text("places"),
)
"""Which idempotency keys were charged, for which question, by which call."""

answers = Table(
    "answers",
    metadata,
    Column("release", LargeBinary, primary_key=True),
    _blob("receipt"),
    _count("until"),
    Column("body", LargeBinary),
    Column("places", Text),
)
"""The stored release under its key; its body is empty while somebody is answering.

``places`` says where a charge stands in the chains whose engine could not be reached, so that
whoever asks the same can take it up.
"""

holders = Table(
    "holders",
    metadata,
    _key("population"),
    _key("holder"),
    _count("cap_amount"),
    _count("cap_delta"),
    _count("spent_amount"),
    _count("spent_delta"),
    CheckConstraint("spent_amount >= 0 AND spent_delta >= 0", "never_negative"),
)
"""What each analyst and each group spent of a population's budget, and may spend."""

members = Table("members", metadata, _key("population"), _key("principal"), _key("holder"))
"""The groups that an analyst's charges count for as well."""

owners = Table("owners", metadata, _key("population"), _key("owner"))
"""Who may govern a budget."""

proposals = Table(
    "proposals",
    metadata,
    _key("population"),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    _text("body"),
)
"""What one owner proposed and a second has not approved yet."""

holdings = Table(
    "holdings",
    metadata,
    _key("population"),
    _key("identity"),
    _count("current"),
    Index(
        "one_population_at_a_time",
        "identity",
        unique=True,
        sqlite_where=text("current = 1"),
        postgresql_where=text("current = 1"),
    ),
)
"""Which physical tables each population has (``current`` is 1) or once had (0)."""

states = Table("states", metadata, _key("name"), _count("version"), _blob("sealed"))
"""What must be kept and not be read: salts, and the noise of streams."""

tokens = Table(
    "tokens",
    metadata,
    Column("hash", LargeBinary, primary_key=True),
    _text("principal"),
    _text("role"),
    _text("scope"),
    _count("expires"),
    _count("revoked"),
)
"""Who may come in: a token is known by its hash alone."""
