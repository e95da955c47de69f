"""What a caller is here for; each route says whom it is for."""

from enum import StrEnum


class Role(StrEnum):
    """Four roles, none of which includes another.

    Owners hand out tokens and see what was asked of their people; analysts ask; auditors read
    the ledger, and no answer; operators see that the server runs, and nobody's question.
    """

    OWNER = "owner"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    OPERATOR = "operator"
