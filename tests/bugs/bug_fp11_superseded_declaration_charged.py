"""F-P11: a charge is made under a declaration that the owner has withdrawn (version 0.1.0)."""

from typing import Any

from sqlalchemy import update

from tacit.store.tables import budgets

PLACE = "tacit.ledger.reserve:SPEND"
CAUGHT_BY = (
    "tests/unit/ledger/test_declarations.py"
    "::test_a_superseded_declaration_is_refused_and_costs_nothing[memory]"
)
SHOWN = "DID NOT RAISE"


def bug(original: Any) -> Any:
    kept = [part for part in original.whereclause.clauses if "declared" not in str(part)]
    spend = update(budgets).where(*kept).values(original._values)
    return spend.returning(*original._returning)
