"""The exception tree, and who may read which text.

::

    TacitError                  every error that Tacit raises on purpose
    ├── InvalidValue            a public value is malformed or out of range    (a ValueError)
    │   ├── CopyMissing         a served table has no validated copy that may be read
    │   └── MissingBound        an aggregate needs bounds that are not declared
    ├── BudgetExceeded          a loss does not fit into what is left of a budget
    ├── PopulationLocked        an answer failed, and an owner must review it first
    │   └── DeadlineMissed      an answer was late, and an owner must review it first
    ├── EngineUnreachable       the engine does not respond; charged questions wait for it
    ├── ChargesFrozen           an owner has stopped all charges
    ├── DeclarationsChanged     a question was priced under a declaration that is not current
    ├── NotPermitted            this person may not do this, or not alone
    ├── KeyReused               an idempotency key was already used for another question
    ├── AnswerPending           another process is computing the answer to this question
    ├── AnswerLost              the question was charged, and its answer will not come
    ├── LedgerBroken            a chain does not verify, or is older than its anchor
    ├── StoreFailed             the database of the ledger did not do what was asked
    │   ├── Conflict            another writer was first: try again
    │   └── ConnectionLost      it is not known whether the last step was done: try again
    ├── UnknownName             a name is not declared                        (a LookupError)
    ├── SecretMisuse            an exact value was about to be revealed        (a TypeError)
    ├── MissingExtra            an optional part is not installed             (an ImportError)
    └── InternalError           our mistake; its text is for the operator, never for the analyst

An error is a release. A hostile analyst may read every text except that of ``InternalError``.
So a text is built from public facts only: names, types, bounds and budgets; never a value from
a row, a row count or the message of an engine. A text says what happened, what was given, what
is allowed and what to do next.
"""


class TacitError(Exception):
    """The base of every error that Tacit raises on purpose; its text has public facts only."""


class InvalidValue(TacitError, ValueError):
    """A public value is malformed or out of range."""


class CopyMissing(InvalidValue):
    """A served table has no copy for the current declaration; the text says how to make it."""


class MissingBound(InvalidValue):
    """An aggregate needs bounds that are not declared; the text says how to declare them."""


class BudgetExceeded(TacitError):
    """A loss does not fit into what is left of a budget; the text says how much is left."""


class PopulationLocked(TacitError):
    """A charged question about the same people failed, and no owner has reviewed it yet."""


class DeadlineMissed(PopulationLocked):
    """An answer about the same people was late, and no owner has reviewed it yet."""


class EngineUnreachable(TacitError):
    """The engine did not respond before any statement reached it; the text says what to do."""


class ChargesFrozen(TacitError):
    """An owner has stopped all charges about these people; nothing was charged."""


class DeclarationsChanged(TacitError):
    """A question was priced under a declaration that is not current; nothing was charged.

    ``population`` is the population whose declaration changed.
    """

    def __init__(self, text: str, population: str = "") -> None:
        super().__init__(text)
        self.population = population


class NotPermitted(TacitError):
    """This person may not do this, or not alone; the text says who may."""


class KeyReused(TacitError):
    """An idempotency key was already used for another question; nothing was charged."""


class AnswerPending(TacitError):
    """Another process is computing the answer to this question; nothing was charged.

    ``until`` is the time, in milliseconds since 1970, at which its lease ends.
    """

    def __init__(self, until: int) -> None:
        super().__init__(
            "This question is being answered for another request. Wait for that answer, which "
            "is free."
        )
        self.until = until


class AnswerLost(TacitError):
    """The question was charged, and its answer will not come. It is not computed again."""

    def __init__(self) -> None:
        super().__init__(
            "This request was charged and its answer was lost. It stays charged, and its "
            "answer is not computed again. Ask with a new idempotency key, which is charged "
            "again."
        )


class LedgerBroken(TacitError):
    """A chain does not verify, or is older than its anchor; the text says where."""


class StoreFailed(TacitError):
    """The database of the ledger did not do what was asked, so nothing may be released."""


class Conflict(StoreFailed):
    """Another writer was first, and nothing was written. The caller tries again."""


class ConnectionLost(StoreFailed):
    """The connection was lost, and it is not known whether the last step was done."""


class UnknownName(TacitError, LookupError):
    """A name is not declared; the text lists the names that are."""


class SecretMisuse(TacitError, TypeError):
    """An exact value was about to be printed, copied, compared or stored."""


class MissingExtra(TacitError, ImportError):
    """An optional part is not installed; the text is the command that installs it."""


class InternalError(TacitError):
    """Our mistake. The analyst sees only that it happened; the text is for the operator."""
