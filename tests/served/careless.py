"""A server that charges as version 0.1.0 did: whatever is declared, and while it is stopped.

Run with the path of a project file, it serves that project by such a ledger.
"""

import os
import sys
from pathlib import Path

from sqlalchemy import update

from tacit.ledger import reserve
from tacit.ledger.chain import SPEND
from tacit.server.app import serve
from tacit.store.tables import budgets


def without_the_condition() -> None:
    """Take out of the conditional update what it says of declarations and stops."""
    kept = [
        part
        for part in SPEND.whereclause.clauses  # type: ignore[union-attr]
        if "declared" not in str(part) and "frozen" not in str(part)
    ]
    spend = update(budgets).where(*kept).values(SPEND._values)
    reserve.SPEND = spend.returning(*SPEND._returning)  # type: ignore[misc]


if __name__ == "__main__":
    without_the_condition()
    serve(Path(sys.argv[1]), "127.0.0.1", 0, os.environ)
