"""The database of the ledger, in SQLite or PostgreSQL, behind the port `Store`.

It stores charges, releases, sealed states and access tokens.
"""

from tacit.numeric.entropy import fresh_bytes
from tacit.store.connect import PRAGMAS, open_sqlite, open_store, sync_folder
from tacit.store.continuity import (
    ANCHOR,
    PROCESS,
    WHAT_TO_DO,
    Seen,
    check_continues,
    check_end,
    missing_entry,
    remember,
)
from tacit.store.key_files import SigningKey, is_signed
from tacit.store.own_questions import GivenAnswer, GivenAnswers, SavedQuestion, SavedQuestions
from tacit.store.sealed_state import NO_STATE, VARIABLE, SealingKey, State, States, Witnessed
from tacit.store.store import Store, migrate
from tacit.store.tokens import PREFIX, AccessToken, Tokens, hash_of
from tacit.store.unit_of_work import Prints, SeenChains, Work, failure_of

__all__ = [
    "ANCHOR",
    "NO_STATE",
    "PRAGMAS",
    "PREFIX",
    "PROCESS",
    "VARIABLE",
    "WHAT_TO_DO",
    "AccessToken",
    "GivenAnswer",
    "GivenAnswers",
    "Prints",
    "SavedQuestion",
    "SavedQuestions",
    "SealingKey",
    "Seen",
    "SeenChains",
    "SigningKey",
    "State",
    "States",
    "Store",
    "Tokens",
    "Witnessed",
    "Work",
    "check_continues",
    "check_end",
    "failure_of",
    "fresh_bytes",
    "hash_of",
    "is_signed",
    "migrate",
    "missing_entry",
    "open_sqlite",
    "open_store",
    "remember",
    "sync_folder",
]
