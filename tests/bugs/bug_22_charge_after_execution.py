"""TD-10, 22: the question is run first, and charged when its answer is known."""

import sys
from collections.abc import Callable
from pathlib import Path

# where pytest finds it, once it has read its settings
sys.path.append(str(Path(__file__).parents[1] / "ledger"))

from asking import LEASE_MS, Point, run

from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease
from tacit.ledger.entries import GENESIS, follow
from tacit.ledger.ledger import Ledger

PLACE = "asking:answer"
CAUGHT_BY = "tests/ledger/test_path.py::test_the_charge_stands_before_anything_runs[sqlite]"
SHOWN = 'assert seen["before run"] == charged'

Path_ = Callable[[Ledger, ChargeRequest, Point], StoredRelease]


def bug(_: Path_) -> Path_:
    def answer(
        ledger: Ledger, question: ChargeRequest, reach: Point = lambda _: None
    ) -> StoredRelease:
        nobody_paid = Charge((follow(GENESIS, "nobody", 1, ""),), question.release_key)
        reach("before run")
        body = run(nobody_paid)
        reach("after run")
        reach("before reserve")
        paid = ledger.reserve(question, lease_ms=LEASE_MS)
        reach("after reserve")
        if isinstance(paid, StoredRelease):
            return paid
        reach("before keep")
        kept = ledger.keep(paid, body)
        reach("after keep")
        return kept

    return answer
