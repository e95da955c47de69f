"""A limit of time counts plain questions, so that a slow machine alone does not fail it."""

from time import process_time

import clinic
import pace

from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.query.pricing import price
from tacit.sql.parser import parse

CATALOG = clinic.catalog(Limits(2, 3))


def counted(repeats: int) -> float:
    """Return how many plain questions the clock counts while ``repeats`` of them are read.

    The pace is measured anew: a processor that others share is slower in some minutes.
    """
    pace.plain_seconds.cache_clear()
    best = float("inf")
    for _ in range(3):
        start = process_time()
        for _ in range(repeats):
            price(parse(pace.PLAIN, CATALOG), CATALOG, Loss.zcdp("0.1"))
        best = min(best, pace.questions(process_time() - start))
    return best


def test_plain_questions_are_counted_as_themselves() -> None:
    assert 5 < counted(10) < 20


def test_more_work_counts_as_more() -> None:
    assert counted(40) > 2 * counted(10)
