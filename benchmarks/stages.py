"""Where the milliseconds of one answer go, in a session whose questions run in children."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from instances import KEY
from loading import question

from tacit.ledger.ledger import Ledger
from tacit.query.worker import Worker
from tacit.session import ask as path
from tacit.session.project import open_for_serving
from tacit.session.session import Session

TIMES, WARM = 60, 10
STAGES: tuple[tuple[object, str, str], ...] = (
    (Session, "sql", "parse the text"),
    (path, "price_question", "price it"),
    (path, "request_for", "name it for the ledger"),
    (Ledger, "reserve", "charge it, to the disk"),
    (Worker, "run", "have it answered by a child"),
    (path, "stored_answer", "read the answer, and tell where the budget stands"),
)
KEPT = "store it, to the disk, and look for a stored answer"


@contextmanager
def timed(where: Any, name: str, taken: list[float]) -> Iterator[None]:
    """The milliseconds of each call of ``name``, in ``taken``."""
    work: Callable[..., Any] = getattr(where, name)

    def watched(*given: Any, **named: Any) -> Any:
        began = time.perf_counter()
        found = work(*given, **named)
        taken.append(1000 * (time.perf_counter() - began))
        return found

    setattr(where, name, watched)
    try:
        yield
    finally:
        setattr(where, name, work)


def stages(file: Path) -> dict[str, float]:
    """The usual milliseconds of each stage of a new question, asked by one who is alone."""
    curator, _ = open_for_serving(file, KEY)
    session, taken = (
        Session(curator.asked_by("eve")),
        {label: list[float]() for *_, label in STAGES},
    )
    all_of_it = []
    try:
        for _ in range(WARM):
            session.sql(question()).ask(rho="0.001")
        with ExitStack() as watching:
            for where, name, label in STAGES:
                watching.enter_context(timed(where, name, taken[label]))
            for _ in range(TIMES):
                began = time.perf_counter()
                session.sql(question()).ask(rho="0.001")
                all_of_it.append(1000 * (time.perf_counter() - began))
    finally:
        curator.close()
    found = {label: median(each) for label, each in taken.items()}
    return found | {KEPT: median(all_of_it) - sum(found.values())}
