"""F-P11: an owner cannot stop charges; a stop is written down and nothing looks at it."""

from typing import Any

from sqlalchemy import update

from tacit.store.tables import budgets

PLACE = "tacit.ledger.reserve:SPEND"
CAUGHT_BY = (
    "tests/unit/ledger/test_declarations.py"
    "::test_an_owner_stops_all_charges_and_allows_them_again[memory]"
)
SHOWN = "DID NOT RAISE"


def bug(original: Any) -> Any:
    kept = [part for part in original.whereclause.clauses if "frozen" not in str(part)]
    spend = update(budgets).where(*kept).values(original._values)
    return spend.returning(*original._returning)
