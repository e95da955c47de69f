"""The database of the ledger, in SQLite or PostgreSQL, behind the port `Store`.

It stores charges, releases, sealed states and access tokens.
"""

from tacit.store.connect import PRAGMAS, open_sqlite, open_store, sync_folder
from tacit.store.key_files import SigningKey, is_signed
from tacit.store.sealed_state import NO_STATE, VARIABLE, SealingKey, State, States, Witnessed
from tacit.store.store import Store, migrate
from tacit.store.tokens import PREFIX, AccessToken, Tokens, hash_of
from tacit.store.unit_of_work import Prints, Work, failure_of

__all__ = [
    "NO_STATE",
    "PRAGMAS",
    "PREFIX",
    "VARIABLE",
    "AccessToken",
    "Prints",
    "SealingKey",
    "SigningKey",
    "State",
    "States",
    "Store",
    "Tokens",
    "Witnessed",
    "Work",
    "failure_of",
    "hash_of",
    "is_signed",
    "migrate",
    "open_sqlite",
    "open_store",
    "sync_folder",
]
