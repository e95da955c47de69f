"""Ask: the path of one question, one call to each floor, in this order."""

from collections.abc import Callable

from tacit.core.answer import Answer
from tacit.core.loss import Loss
from tacit.core.release import Release
from tacit.core.standing import Standing
from tacit.core.stored_release import decode
from tacit.errors import AnswerPending
from tacit.ledger.charge import Answer as Stored
from tacit.ledger.charge import Charge
from tacit.ledger.ledger import Ledger
from tacit.ledger.question import Question
from tacit.plan.plan import Plan
from tacit.query.fit_quote import FitQuote
from tacit.query.pool import Late
from tacit.query.post import posted
from tacit.query.price import price
from tacit.query.quote import Quote
from tacit.session.curator import Curator
from tacit.session.request import request_for
from tacit.session.standing import standing_of
from tacit.session.touch import touch


def ask(curator: Curator, plan: Plan, loss: Loss, request: str | None = None) -> Answer:
    """The answer to ``plan`` within ``loss``: priced, charged, and only then run.

    Guarantee: what is returned was charged before any data was touched, and stored before it
    left. The same question again is free, and gives the same bytes.
    """
    quote = price(plan, curator.catalog, loss)
    release, standing, key = paid_for(curator, quote, request)
    return Answer.of(posted(release, quote.question.post), standing, key)


def paid_for(
    curator: Curator, quote: Quote | FitQuote, request: str | None = None
) -> tuple[Release, Standing, bytes]:
    """The release of a priced question or fit, where the budget stands, and the release's key.

    It is charged, run and stored, or was so before.
    """
    question = request_for(quote, curator.catalog, curator.principal, request)
    run = prepared(quote, curator)
    found = charge(curator.home.ledger, question, curator.lease_ms)
    paid = isinstance(found, Charge)
    stored = kept(curator.home.ledger, found, run) if isinstance(found, Charge) else found
    status = curator.home.ledger.status(quote.population.name)
    return decode(stored.body), standing_of(status, quote, paid=paid), question.release_key


def prepared(quote: Quote | FitQuote, curator: Curator) -> Callable[[Charge], bytes]:
    """What will touch the data, once there is a charge; whatever is missing shows before."""
    name = curator.place_of(quote.datasets)
    salt = curator.salt(quote.population.name)
    if name in curator.pools:
        pool = curator.pools[name]
        return lambda charge: pool.answer(quote, salt, charge.receipt, charge.assumptions)
    engine = curator.engine_of(quote.datasets)
    return lambda charge: touch(quote, charge, engine, curator.catalog, salt)


def charge(ledger: Ledger, question: Question, lease_ms: int) -> Charge | Stored:
    """The charge that pays for ``question``, or the answer that was paid for before.

    Where somebody is answering the same question now, theirs is waited for.
    """
    try:
        return ledger.reserve(question, lease_ms=lease_ms)
    except AnswerPending:
        return ledger.wait(question)


def kept(ledger: Ledger, charge: Charge, run: Callable[[Charge], bytes]) -> Stored:
    """The stored answer to a paid question; where it fails, nobody waits for it any more.

    One that is late stops all charges about these people until an owner looks.
    """
    try:
        return ledger.keep(charge, run(charge))
    except Late:
        ledger.miss(charge)
        raise
    except BaseException:
        ledger.abandon(charge)
        raise
