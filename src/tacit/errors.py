"""The exception tree, and who may read which text.

::

    TacitError                  every error that Tacit raises on purpose
    ├── InvalidValue            a public value is malformed or out of range    (a ValueError)
    │   ├── CopyMissing         a served table has no validated copy that may be read
    │   └── MissingBound        an aggregate needs bounds that are not declared
    ├── BudgetExceeded          a loss does not fit into what is left of a budget
    ├── PopulationLocked        an answer failed: an owner looks before more is charged
    │   └── DeadlineMissed      an answer was late: an owner looks before more is charged
    ├── EngineUnreachable       the engine does not answer; what is paid for waits for it
    ├── ChargesFrozen           an owner has stopped all charges
    ├── DeclarationsChanged     a question was priced by a declaration that no longer holds
    ├── NotPermitted            an act that this person may not do, or not alone
    ├── KeyReused               a request's key already stands for another question
    ├── AnswerPending           somebody is answering this very question now
    ├── AnswerLost              the question was charged, and its answer never came
    ├── LedgerBroken            a chain does not verify, or is older than its anchor
    ├── StoreFailed             the ledger's database did not do what was asked
    │   ├── Conflict            another writer was first: look again
    │   └── ConnectionLost      whether the last step was done is not known: look again
    ├── UnknownName             a name that is not declared                   (a LookupError)
    ├── SecretMisuse            an exact value was about to leave its box      (a TypeError)
    ├── MissingExtra            an optional part is not installed             (an ImportError)
    └── InternalError           our mistake: its text is for the operator, never for the analyst

An error is a release. Every text but that of ``InternalError`` may be read by a hostile
analyst, so it is built from public facts only: names, types, bounds and budgets; never a value
from a row, a row count or an engine's own words. A text says what was wrong, what was given,
what is allowed and what to do next.
"""


class TacitError(Exception):
    """Every error that Tacit raises on purpose; its text holds public facts only."""


class InvalidValue(TacitError, ValueError):
    """A public value is malformed or out of range."""


class CopyMissing(InvalidValue):
    """A served table has no copy of what is declared now; the text says how to make it."""


class MissingBound(InvalidValue):
    """An aggregate needs bounds that are not declared; the text says how to declare them."""


class BudgetExceeded(TacitError):
    """A loss does not fit into what is left of a budget; the text says what does."""


class PopulationLocked(TacitError):
    """A paid question about the same people failed, and no owner has looked since."""


class DeadlineMissed(PopulationLocked):
    """An answer about the same people missed its deadline, and no owner has looked since."""


class EngineUnreachable(TacitError):
    """The engine does not answer, before any statement reached it; the text says what to do."""


class ChargesFrozen(TacitError):
    """An owner has stopped all charges about these people; nothing was charged."""


class DeclarationsChanged(TacitError):
    """A question was priced by a declaration that no longer holds; nothing was charged.

    ``population`` is the one whose declaration is another one now.
    """

    def __init__(self, text: str, population: str = "") -> None:
        super().__init__(text)
        self.population = population


class NotPermitted(TacitError):
    """An act that this person may not do, or not alone; the text says who may."""


class KeyReused(TacitError):
    """A request's key already stands for another question; nothing was charged."""


class AnswerPending(TacitError):
    """Somebody is answering this very question now; nothing was charged. Wait, and ask again.

    ``until`` is the time, in milliseconds since 1970, after which nobody is.
    """

    def __init__(self, until: int) -> None:
        super().__init__(
            "This question is being answered for another request; wait for its answer, which "
            "will cost nothing."
        )
        self.until = until


class AnswerLost(TacitError):
    """The question was charged, and its answer never came. It is never drawn again."""

    def __init__(self) -> None:
        super().__init__(
            "This request was charged and its answer was lost. It stays charged, and is not "
            "drawn again; ask under a new key to pay for a new answer."
        )


class LedgerBroken(TacitError):
    """A chain does not verify, or is older than its anchor; the text says where."""


class StoreFailed(TacitError):
    """The ledger's database did not do what was asked; nothing may leave on its strength."""


class Conflict(StoreFailed):
    """Another writer was first; nothing was written. Look again."""


class ConnectionLost(StoreFailed):
    """The database went away: whether the last step was done is not known. Look again."""


class UnknownName(TacitError, LookupError):
    """A name that is not declared; the text lists those that are."""


class SecretMisuse(TacitError, TypeError):
    """An exact value was about to be printed, copied, compared or stored."""


class MissingExtra(TacitError, ImportError):
    """An optional part is not installed; the text is the command that installs it."""


class InternalError(TacitError):
    """Our mistake. The analyst sees only that it happened; the text is for the operator."""
