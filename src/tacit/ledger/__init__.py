"""The ledger: budgets, charges, stored releases, and a hash chain for each population.

Everything that was ever released about a population has an entry in the population's hash
chain. A charge is durable before any row is read. `verify` recomputes every total from the
entries, so that the totals that the database stores can be checked.
"""

from tacit.ledger import entries
from tacit.ledger.anchor_keeper import AnchorKeeper
from tacit.ledger.anchor_places import (
    AnchorPlace,
    CommandPlace,
    FilePlace,
    FolderPlace,
    newest_anchor,
    renew_anchor,
    start_anchors,
)
from tacit.ledger.backup import (
    Backup,
    check_is_empty,
    read_backup,
    restore_backup,
    write_backup,
)
from tacit.ledger.book import Book
from tacit.ledger.budget import EVERYBODY, USUAL_SHARE, Status, Terms
from tacit.ledger.chain import Anchor, AnchorFile, HeadMark, remember_ends
from tacit.ledger.chain_acts import Checkpointed, Restored
from tacit.ledger.charge import (
    LONGEST_NAME,
    NO_UNITS,
    Charge,
    ChargeRequest,
    Offer,
    StoredRelease,
    Target,
    Units,
    is_name,
    price,
    subject_of,
    utc_day,
)
from tacit.ledger.charge_facts import ChargeFacts, status_at
from tacit.ledger.declarations import (
    AnyDeclaration,
    CatalogDeclarations,
    Declaration,
    Declarations,
    Numbered,
)
from tacit.ledger.entries import CapRaised, Decision, OwnerAdded, OwnerRemoved, Proposed
from tacit.ledger.entry_words import KINDS, NOT_ADDED, AmountTexts, time_text
from tacit.ledger.govern import Governing
from tacit.ledger.history import USUAL_LIMIT, History, HistoryFilter, HistoryLine
from tacit.ledger.lease import LEASE_MS, SILENCE_SECONDS, LeaseKeeper, LeaseState
from tacit.ledger.ledger import Ledger, wall_clock
from tacit.ledger.owner_acts import (
    ActSigner,
    Attested,
    KeySet,
    SignInsEnded,
    SignInsTrusted,
    fingerprint,
    is_key,
    sign_in_of,
)
from tacit.ledger.owner_keys import OwnerKeys, check_fingerprint
from tacit.ledger.populations import MOMENTARY
from tacit.ledger.proposals import LAPSE_DAYS, LONGEST_REASON, has_lapsed, lapse_text
from tacit.ledger.quotas import HolderStatus, request_id
from tacit.ledger.receipts import find_receipt
from tacit.ledger.reserve import UNREACHED
from tacit.ledger.restored import Difference
from tacit.ledger.sealed_states import ChainWitness
from tacit.ledger.status_text import holder_fields, incident_lines, status_fields, stopped_text
from tacit.ledger.unanswered import MEANING
from tacit.ledger.verify import ChainVerdict

__all__ = [
    "EVERYBODY",
    "KINDS",
    "LAPSE_DAYS",
    "LEASE_MS",
    "LONGEST_NAME",
    "LONGEST_REASON",
    "MEANING",
    "MOMENTARY",
    "NOT_ADDED",
    "NO_UNITS",
    "SILENCE_SECONDS",
    "UNREACHED",
    "USUAL_LIMIT",
    "USUAL_SHARE",
    "ActSigner",
    "AmountTexts",
    "Anchor",
    "AnchorFile",
    "AnchorKeeper",
    "AnchorPlace",
    "AnyDeclaration",
    "Attested",
    "Backup",
    "Book",
    "CapRaised",
    "CatalogDeclarations",
    "ChainVerdict",
    "ChainWitness",
    "Charge",
    "ChargeFacts",
    "ChargeRequest",
    "Checkpointed",
    "CommandPlace",
    "Decision",
    "Declaration",
    "Declarations",
    "Difference",
    "FilePlace",
    "FolderPlace",
    "Governing",
    "HeadMark",
    "History",
    "HistoryFilter",
    "HistoryLine",
    "HolderStatus",
    "KeySet",
    "LeaseKeeper",
    "LeaseState",
    "Ledger",
    "Numbered",
    "Offer",
    "OwnerAdded",
    "OwnerKeys",
    "OwnerRemoved",
    "Proposed",
    "Restored",
    "SignInsEnded",
    "SignInsTrusted",
    "Status",
    "StoredRelease",
    "Target",
    "Terms",
    "Units",
    "check_fingerprint",
    "check_is_empty",
    "entries",
    "find_receipt",
    "fingerprint",
    "has_lapsed",
    "holder_fields",
    "incident_lines",
    "is_key",
    "is_name",
    "lapse_text",
    "newest_anchor",
    "price",
    "read_backup",
    "remember_ends",
    "renew_anchor",
    "request_id",
    "restore_backup",
    "sign_in_of",
    "start_anchors",
    "status_at",
    "status_fields",
    "stopped_text",
    "subject_of",
    "time_text",
    "utc_day",
    "wall_clock",
    "write_backup",
]
