"""Who pays is read before the budget is held, so a group that was joined meanwhile does not."""

from collections.abc import Callable

from tacit.ledger import reserve
from tacit.ledger.budget import BudgetRow, holders_of
from tacit.store.unit_of_work import Work

PLACE = "tacit.ledger.reserve:find_budget"
CAUGHT_BY = "tests/ledger/test_path.py::test_who_joins_a_group_while_they_ask_pays_for_it_too"
SHOWN = "!= <class 'tacit.errors.BudgetExceeded'>"

Find = Callable[[Work, str], BudgetRow]


def bug(original: Find) -> Find:
    def find(work: Work, population: str) -> BudgetRow:
        early = holders_of(work, population, "ann")

        def count_early(*_: object) -> tuple[str, ...]:
            return early

        reserve.count_for_all = count_early
        return original(work, population)

    return find
