"""The tables of the database in this version; `migrations` creates them step by step.

Losses are integers: an amount in units of 10**-12 of epsilon or rho, a delta in units of
10**-18. Rows of ``entries`` are only ever added, and an answer is written once. Triggers of the
database refuse anything else, in addition to our code.
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
    _key("period"),  # a period of the data; only '', which means all time, is supported
    _text("unit"),
    _text("neighbours"),
    _text("measure"),
    _text("conversion_delta"),
    Column("idealised", SmallInteger, nullable=False),
    _count("cap_amount"),
    _count("cap_delta"),
    _count("spent_amount"),
    _count("spent_delta"),
    _count("missed"),  # number of late answers
    _count("looked"),  # number of incidents that an owner has reviewed
    _count("failed"),  # number of answers that failed
    _count("retried"),  # number of questions that were retried
    _text("least_share"),  # the least price of a question, as a share of the cap
    _count("least_amount"),  # the least price in units
    _count("declared"),  # the number of the declaration that charges must name; 0 for none
    _count("frozen"),  # 1 while an owner has stopped all charges
    _count("head_seq"),
    _blob("head_hash"),
    CheckConstraint("spent_amount <= cap_amount AND spent_delta <= cap_delta", "within_cap"),
    CheckConstraint("spent_amount >= 0 AND spent_delta >= 0", "never_negative"),
)
"""One row for each population: its cap, the sum of charges, and the head of its chain."""

entries = Table(
    "entries",
    metadata,
    _key("population"),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    _text("body"),
    _blob("hash"),
    Column("state", Text),  # the hashed name of the sealed state that the entry is about
    Index("entries_of_states", "population", "state", "seq"),
)
"""The hash chain of each population: everything that ever happened to its budget."""

requests = Table(
    "requests",
    metadata,
    _key("principal"),
    Column("request", LargeBinary, primary_key=True),
    _blob("binding"),
    _blob("nonce"),
    _text("places"),
)
"""The idempotency keys that were charged, for which question and by which call."""

answers = Table(
    "answers",
    metadata,
    Column("release", LargeBinary, primary_key=True),
    _blob("receipt"),
    _count("until"),
    Column("body", LargeBinary),
    Column("places", Text),
)
"""The stored release under its key. Its body is NULL while a process computes the answer.

For a charge whose engine could not be reached, ``places`` holds the numbers of its entries in
the chains, so that the same question can resume it.
"""

subjects = Table(
    "subjects",
    metadata,
    Column("subject", LargeBinary, primary_key=True),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    _blob("release"),
    _text("measure"),
    _count("amount"),
    _count("delta"),
)
"""The stored answers to one question at several losses: a smaller loss is served by a larger.

``subject`` is a hash of the question without its loss, and ``place`` the number of the entry
that recorded the answer. A row is written together with the answer. Answers of stores that are
older than this table have no rows, so that they serve only the same loss.
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
"""The quota of each analyst and each group on a population's budget, and what they spent."""

members = Table("members", metadata, _key("population"), _key("principal"), _key("holder"))
"""The groups of each analyst, for which the analyst's charges count too."""

owners = Table("owners", metadata, _key("population"), _key("owner"))
"""The owners of each budget."""

owner_keys = Table(
    "owner_keys",
    metadata,
    _key("population"),
    _key("key"),
    _text("owner"),  # '' for the key of an installation whose sign-ins are trusted
    _text("issuer"),  # the identity provider of such an installation, or ''
    _count("since"),  # the number of the entry that set the key
    _count("current"),  # 1 while the key counts
)
"""The public keys with which owners sign their acts, and those that were replaced."""

proposals = Table(
    "proposals",
    metadata,
    _key("population"),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    _text("body"),
)
"""Proposals that a second owner has not yet approved, and requests for a larger quota."""

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
"""The physical tables that each population has (``current`` is 1) or once had (0)."""

checkpoints = Table("checkpoints", metadata, _key("population"), _count("seq"), _text("state"))
"""The state of each chain at its newest checkpoint, whose hash is in the chain."""

states = Table("states", metadata, _key("name"), _count("version"), _blob("sealed"))
"""Encrypted private state: salts, the noise of streams, thresholds of holdouts."""

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
"""Access tokens. Only the hash of a token is stored."""

given_answers = Table(
    "given_answers",
    metadata,
    _key("principal"),
    Column("release", LargeBinary, primary_key=True),
    _blob("receipt"),
    _text("population"),
    _text("datasets"),  # the names of the tables that the question reads, as a JSON array
    _text("question"),
    _text("loss"),
    _text("day"),
    _count("place"),
    Index("given_answers_by_place", "population", "principal", "place"),
)
"""The answers that a server gave to each principal, with the text of the question.

It is a convenience: no guarantee depends on it, and backups do not have it.
"""

saved_questions = Table(
    "saved_questions",
    metadata,
    _key("account"),
    _key("name"),
    _text("question"),
    _text("within"),
    _count("place"),
)
"""The questions that callers saved, by the account of their tokens."""
