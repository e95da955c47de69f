"""What can happen to a budget: the kinds of entries, for ever.

Amounts are in units (`tacit.ledger.units`), times in milliseconds since 1970, hashes in
hexadecimal. A chain is kept for ever, so **the meaning of an act never changes**: a new meaning
is a new kind.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Opened:
    """A budget was made."""

    unit: str
    neighbours: str
    measure: str
    amount: int
    delta: int
    conversion_delta: str
    idealised: int
    owners: tuple[str, ...]
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Charged:
    """A question was paid for. It may have been answered, or not: it stays charged."""

    principal: str
    holders: tuple[str, ...]
    request: str
    plan: str
    release: str
    event: str
    amount: int
    delta: int
    price_delta: str
    populations: tuple[str, ...]
    nonce: str
    at: int
    declaration: int = 0
    """The place of the `Described` by which it was priced; left out where there was none."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The answer to the charge at ``charge`` was stored, and may leave."""

    charge: int
    release: str
    answer: str
    at: int


@dataclass(frozen=True, slots=True)
class Missed:
    """The charge at ``charge`` had no answer at its public deadline: nothing is charged now."""

    charge: int
    at: int


@dataclass(frozen=True, slots=True)
class Retried:
    """The charge at ``charge`` failed before any noise was drawn, and is run once more.

    Every third one of a population stops its charges until an owner has looked.
    """

    charge: int
    at: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The charge at ``charge`` failed for good: nothing is charged until an owner looks."""

    charge: int
    at: int


@dataclass(frozen=True, slots=True)
class Looked:
    """An owner looked at what was late or failed: questions are charged and answered again."""

    by: str
    at: int


@dataclass(frozen=True, slots=True)
class StateSealed:
    """A sealed state got a new version, such as the noise of a stream's next step.

    ``state`` is the hash of its name, ``digest`` the hash of its sealed bytes.
    """

    state: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class QuotaSet:
    """An owner limited what an analyst or a group may spend of the budget."""

    holder: str
    amount: int
    delta: int
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class LeastSet:
    """An owner set the least price of a question, as a share of the cap.

    From here on every charge that is not free is at least ``share`` of the cap of its time.
    """

    share: str
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Joined:
    """An owner put an analyst into a group: their charges count for both from here on."""

    principal: str
    group: str
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Declared:
    """An owner declared what is publicly known of the population's tables, a line a fact.

    Version 0.1 wrote this kind. Its charges do not name the declaration they were priced by.
    """

    facts: tuple[str, ...]
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Described:
    """An owner declared the population's tables: the facts about them, and which they are.

    The place of this entry in the chain is the declaration's number. From here on every charge
    names this number. ``tables`` are identities of physical tables (`tacit.engines.identity`).
    """

    facts: tuple[str, ...]
    tables: tuple[str, ...]
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Inherited:
    """This population got tables of another one, and with them what was spent on those people.

    The amounts count as spent here, as if the questions had been asked about this population,
    and so do the answers that were late, failed or were run once more, at which their owners
    have looked.
    """

    source: str
    amount: int
    delta: int
    by: str
    at: int
    late: int = 0
    failed: int = 0
    retried: int = 0


@dataclass(frozen=True, slots=True)
class Frozen:
    """An owner stopped all charges, at every server that shares the store."""

    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Thawed:
    """An owner allowed charges again."""

    by: str
    at: int


@dataclass(frozen=True, slots=True)
class CapRaised:
    """The cap is raised by an amount. A credit for a lost answer is this too."""

    amount: int
    delta: int
    reason: str


@dataclass(frozen=True, slots=True)
class OwnerAdded:
    """A new owner."""

    owner: str


@dataclass(frozen=True, slots=True)
class OwnerRemoved:
    """An owner less."""

    owner: str


Decision = CapRaised | OwnerAdded | OwnerRemoved
"""What one owner decides alone only where there is one."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """An owner decided; it holds at once where they are the only one."""

    decision: Decision
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Approved:
    """A second owner agreed to the proposal at ``proposal``; it holds from here on."""

    proposal: int
    by: str
    at: int


Act = (
    Opened
    | Charged
    | Kept
    | Missed
    | Retried
    | Failed
    | Looked
    | StateSealed
    | QuotaSet
    | LeastSet
    | Joined
    | Declared
    | Described
    | Inherited
    | Frozen
    | Thawed
    | Proposed
    | Approved
)
"""What an entry tells."""
