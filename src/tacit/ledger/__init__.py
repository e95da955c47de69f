"""The ledger: budgets, charges, stored releases, and a hash chain for each population.

Everything that was ever released about a population has an entry in the population's hash
chain. A charge is durable before any row is read. `verify` recomputes every total from the
entries, so that the totals that the database stores can be checked.
"""

from tacit.ledger import entries
from tacit.ledger.book import Book
from tacit.ledger.budget import EVERYBODY, USUAL_SHARE, Status, Terms
from tacit.ledger.chain import AnchorFile, HeadMark
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
from tacit.ledger.declarations import (
    AnyDeclaration,
    CatalogDeclarations,
    Declaration,
    Declarations,
    Numbered,
)
from tacit.ledger.entries import CapRaised, Decision, OwnerAdded, OwnerRemoved
from tacit.ledger.govern import Governing
from tacit.ledger.lease import LEASE_MS, SILENCE_SECONDS, LeaseKeeper, LeaseState
from tacit.ledger.ledger import Ledger, wall_clock
from tacit.ledger.populations import MOMENTARY
from tacit.ledger.quotas import LONGEST_REASON, HolderStatus
from tacit.ledger.reserve import UNREACHED
from tacit.ledger.sealed_states import ChainWitness
from tacit.ledger.unanswered import MEANING
from tacit.ledger.verify import ChainVerdict

__all__ = [
    "EVERYBODY",
    "LEASE_MS",
    "LONGEST_NAME",
    "LONGEST_REASON",
    "MEANING",
    "MOMENTARY",
    "NO_UNITS",
    "SILENCE_SECONDS",
    "UNREACHED",
    "USUAL_SHARE",
    "AnchorFile",
    "AnyDeclaration",
    "Book",
    "CapRaised",
    "CatalogDeclarations",
    "ChainVerdict",
    "ChainWitness",
    "Charge",
    "ChargeRequest",
    "Decision",
    "Declaration",
    "Declarations",
    "Governing",
    "HeadMark",
    "HolderStatus",
    "LeaseKeeper",
    "LeaseState",
    "Ledger",
    "Numbered",
    "Offer",
    "OwnerAdded",
    "OwnerRemoved",
    "Status",
    "StoredRelease",
    "Target",
    "Terms",
    "Units",
    "entries",
    "is_name",
    "price",
    "subject_of",
    "utc_day",
    "wall_clock",
]
