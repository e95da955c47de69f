"""How fast this process reads SQL, so that limits of time hold on any machine.

A limit in seconds fails on a slow machine, and while coverage is measured, where nothing is
wrong. ``questions`` therefore counts processor time in plain questions: how many of them could
have been read in the same time, by the same process.
"""

from functools import cache
from time import process_time

import clinic

from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.query.pricing import price
from tacit.sql.parser import parse

PLAIN = "SELECT ward, COUNT(*), SUM(age) FROM visits WHERE age > 30 GROUP BY ward"
ROUNDS = 5
QUESTIONS = 10


@cache
def plain_seconds() -> float:
    """Return the least processor time of reading and pricing one plain question, in seconds."""
    catalog = clinic.catalog(Limits(2, 3))
    best = float("inf")
    for _ in range(ROUNDS):
        start = process_time()
        for _ in range(QUESTIONS):
            price(parse(PLAIN, catalog), catalog, Loss.zcdp("0.1"))
        best = min(best, (process_time() - start) / QUESTIONS)
    return best


def questions(seconds: float) -> float:
    """Return ``seconds`` of processor time as a number of plain questions."""
    return seconds / plain_seconds()
