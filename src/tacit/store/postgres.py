"""A store for a team: PostgreSQL, shared by any number of processes and machines."""

from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from tacit.errors import MissingExtra, StoreFailed
from tacit.extras import installed
from tacit.store.store import SqlStore

SETTINGS = {
    "synchronous_commit": "on",
    "lock_timeout": "60s",
    "statement_timeout": "120s",
    # a writer that stopped in the middle must not hold up all others for ever
    "idle_in_transaction_session_timeout": "30s",
}

NETWORK = {
    "connect_timeout": 10,
    # a server that vanished is noticed in a minute, not when the kernel gives up
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}

WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


def open_postgres(address: URL) -> SqlStore:
    """The store in the database at ``address``.

    Guarantee: a commit is on the server's disk when it returns, as far as that disk tells the
    truth; a server that runs without fsync is refused.
    """
    if not installed("postgres"):
        raise MissingExtra(
            'A store in PostgreSQL needs an optional part: pip install "tacit[postgres]"'
        )
    options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
    engine = create_engine(
        address.set(drivername="postgresql+psycopg"),
        connect_args={"autocommit": True, "options": options, **NETWORK},
        pool_reset_on_return=None,
        pool_size=8,
        max_overflow=-1,
    )
    try:
        _check_syncs(engine)
    except BaseException:
        engine.dispose()
        raise
    return SqlStore(engine, write=WRITE, read=READ)


def _check_syncs(engine: Engine) -> None:
    try:
        with engine.connect() as connection:
            syncs = connection.execute(
                text("SELECT current_setting('fsync'), current_setting('full_page_writes')")
            ).one()
    except DBAPIError as error:
        raise StoreFailed(
            "The store's PostgreSQL does not answer; look at its address and that it runs."
        ) from error
    if tuple(syncs) != ("on", "on"):
        raise StoreFailed(
            "This PostgreSQL runs without fsync or full_page_writes, so a charge could be lost "
            "after its answer has left; set both to on."
        )
