"""F-P11: a charge that waited for its engine is begun although an owner stopped all charges."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tacit.ledger import reserve

PLACE = "tacit.ledger.reserve:_resume_charge"
CAUGHT_BY = (
    "tests/unit/ledger/test_declarations.py::test_a_charge_that_waits_obeys_owners[memory]"
)
SHOWN = "DID NOT RAISE"

Take = Callable[..., Any]


def bug(_: Take) -> Take:
    def taken_up(work: Any, question: Any, places: str, until: int, _: Any) -> Any:
        for population in question.populations:
            reserve.find_budget(work, population).check_open(population)
        reserve.resume(work, question.release_key, until)
        told = reserve.json.loads(places)
        charge = reserve._charge_at(work, question, dict(told["places"]))
        return replace(charge, retried=told["retried"])

    return taken_up
