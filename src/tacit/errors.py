"""The exception tree, and who may read which text.

::

    TacitError                  every error that Tacit raises on purpose
    ├── InvalidValue            a public value is malformed or out of range    (a ValueError)
    │   └── MissingBound        an aggregate needs bounds that are not declared
    ├── BudgetExceeded          a loss does not fit into what is left of a budget
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


class MissingBound(InvalidValue):
    """An aggregate needs bounds that are not declared; the text says how to declare them."""


class BudgetExceeded(TacitError):
    """A loss does not fit into what is left of a budget; the text says what does."""


class UnknownName(TacitError, LookupError):
    """A name that is not declared; the text lists those that are."""


class SecretMisuse(TacitError, TypeError):
    """An exact value was about to be printed, copied, compared or stored."""


class MissingExtra(TacitError, ImportError):
    """An optional part is not installed; the text is the command that installs it."""


class InternalError(TacitError):
    """Our mistake. The analyst sees only that it happened; the text is for the operator."""
