"""Charge a question and store its answer in one unit of work.

For what needs no data once it is charged: the declaration of a stream, whose whole horizon is
charged, and each step of it, which was paid for then and costs nothing.
"""

from tacit.errors import (
    BudgetExceeded,
    ChargesFrozen,
    Conflict,
    ConnectionLost,
    DeclarationsChanged,
    StoreFailed,
)
from tacit.ledger.answer import keep_within, look
from tacit.ledger.charge import Answer
from tacit.ledger.question import Question
from tacit.ledger.reserve import ATTEMPTS, UNDECLARED, Numbers, reserve_within
from tacit.store.store import Store


def enter(  # noqa: PLR0913 - as in `reserve`
    store: Store,
    question: Question,
    body: bytes,
    *,
    nonce: bytes,
    now: int,
    numbers: Numbers = UNDECLARED,
) -> Answer:
    """The stored answer: ``body``, or what was stored for the same question before.

    Guarantee: durable when it returns, charged once, and the same for ever; what leaves is what
    this returns. A crash leaves both the charge and the answer, or neither.
    """
    for _ in range(ATTEMPTS):
        try:
            with store.writing() as work:
                found = reserve_within(work, question, nonce, now, now, numbers)
                if isinstance(found, Answer):
                    return found
                return keep_within(work, found, body, now)
        except (Conflict, ConnectionLost):
            continue
        except (BudgetExceeded, ChargesFrozen, DeclarationsChanged):
            # whoever took the last of the budget may have entered this very question
            with store.reading() as work:
                stored = look(work, question.release_key, now)
            if stored is None:
                raise
            return stored
    raise StoreFailed("The store's database does not answer; ask again with the same key.")
