"""The one-run audit through the one door: a session over made-up people, and one question."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tacit.audit.canaries import QUESTION, TABLE, UNIT, Canaries
from tacit.audit.one_run import OneRun
from tacit.core.budget import Budget
from tacit.core.loss import Loss
from tacit.numeric.entropy import SystemEntropy
from tacit.numeric.exact import Number
from tacit.session.open import open_session


def audit_session(people: int, epsilon: Number, confidence: float = 0.999) -> OneRun:
    """What one answer of a session shows of the pure epsilon that its budget promises.

    The table, the ledger and all else are real, in a folder that is gone afterwards.

    Example:
        >>> audit_session(1000, 1).people
        1000
    """
    canaries = Canaries.drawn(people, SystemEntropy(b"a one-run audit"))
    with TemporaryDirectory(prefix="tacit-audit-") as folder:
        place = Path(folder)
        canaries.write(place / "canaries.duckdb")
        with open_session(
            str(place / "canaries.duckdb"),
            table=TABLE,
            population="made-up people",
            unit=UNIT,
            max_groups=1,
            max_rows=1,
            keys=canaries.keys,
            budget=Budget(Loss.pure(epsilon)),
            folder=place / ".tacit",
        ) as session:
            answer = session.sql(QUESTION).ask(epsilon=epsilon)
    return canaries.guessed(answer, epsilon, confidence)
