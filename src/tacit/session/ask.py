"""Ask: the path of one question, one call to each floor, in this order."""

from contextlib import suppress
from functools import partial

from tacit.core.answer import Answer
from tacit.core.loss import Loss
from tacit.core.release import Release
from tacit.core.standing import Standing
from tacit.core.stored_release import decode
from tacit.engines.engine import Engine
from tacit.errors import AnswerPending, EngineUnreachable
from tacit.ledger.charge import Answer as Stored
from tacit.ledger.charge import Charge
from tacit.ledger.ledger import Ledger
from tacit.ledger.question import Question
from tacit.plan.plan import Plan
from tacit.query.below import Progress, attempt, run_below
from tacit.query.fit_quote import FitQuote
from tacit.query.paid_work import QuoteWork
from tacit.query.pool import Pool
from tacit.query.post import posted
from tacit.query.price import price
from tacit.query.quote import Quote
from tacit.query.rehearse import rehearse
from tacit.query.size import check_size
from tacit.session.curator import Curator
from tacit.session.request import request_for
from tacit.session.standing import standing_of


def ask(curator: Curator, plan: Plan, loss: Loss, request: str | None = None) -> Answer:
    """The answer to ``plan`` within ``loss``: priced, charged, and only then run.

    Guarantee: what is returned was charged before any data was touched, and stored before it
    left. The same question again is free, and gives the same bytes.
    """
    quote = priced(curator, plan, loss)
    release, standing, key = paid_for(curator, quote, request)
    return Answer.of(posted(release, quote.question.post), standing, key)


def priced(curator: Curator, plan: Plan, loss: Loss) -> Quote:
    """What answering ``plan`` would do; refused where no worker could make so large an answer.

    A session that runs its questions itself has no such cap: its limits are its own.
    """
    quote = price(plan, curator.catalog, loss)
    pool = curator.pools.get(curator.place_of(quote.datasets))
    check_size(quote.bound.plan, None if pool is None else pool.most_numbers)
    return quote


def paid_for(
    curator: Curator, quote: Quote | FitQuote, request: str | None = None
) -> tuple[Release, Standing, bytes]:
    """The release of a priced question or fit, where the budget stands, and the release's key.

    It is charged, run and stored, or was so before. An interrupt ends the wait for it, and not
    the work.
    """
    question = request_for(quote, curator.catalog, curator.principal, request)
    name = curator.place_of(quote.datasets)
    salt = curator.salt(quote.population.name)
    if name in curator.pools:
        pool = curator.pools[name]
        stored, paid = curator.underway.run(
            lambda: _answer_by(pool, curator, quote, question, salt)
        )
    else:
        engine = curator.engine_of(quote.datasets)
        stored, paid = curator.underway.run(
            lambda: _answer_here(engine, curator, quote, question, salt)
        )
    status = curator.home.ledger.status(quote.population.name, curator.principal)
    return decode(stored.body), standing_of(status, quote, paid=paid), question.release_key


def _answer_here(
    engine: Engine, curator: Curator, quote: Quote | FitQuote, question: Question, salt: bytes
) -> tuple[Stored, bool]:
    """The stored answer, by this process, and whether it was paid for now.

    What is new is rehearsed before it is charged: what fails for all rows alike is free.
    """
    ledger = curator.home.ledger
    if _new(ledger, question):
        rehearse(quote, engine, curator.catalog, salt)
    try:
        found = ledger.reserve(question, lease_ms=curator.lease_ms)
    except AnswerPending:
        return ledger.wait(question), False
    if not isinstance(found, Charge):
        return found, False

    def once(charge: Charge) -> bytes:
        noted = charge.assumptions
        work = QuoteWork(quote, curator.catalog, salt, charge.receipt, noted)
        return attempt(work, engine, Progress())

    return run_below(ledger, found, once, tell=curator.tell), True


def _answer_by(
    pool: Pool, curator: Curator, quote: Quote | FitQuote, question: Question, salt: bytes
) -> tuple[Stored, bool]:
    """The same by a worker of ``pool``, which is found to answer before anything is charged.

    Whoever asks what was answered before, or what is being answered, needs no worker.
    """
    ledger = curator.home.ledger
    paid_before = False
    try:
        stored = ledger.released(question)
        if stored is not None:
            return stored, False
    except (AnswerPending, EngineUnreachable):
        paid_before = True
    with suppress(AnswerPending), pool.held() as held:
        if not paid_before:
            held.rehearse(quote, salt)
        found = ledger.reserve(question, lease_ms=curator.lease_ms)
        if not isinstance(found, Charge):
            return found, False
        deadline = held if held.timed else None
        once = partial(held.run, quote, salt)
        return run_below(ledger, found, once, tell=curator.tell, deadline=deadline), True
    return ledger.wait(question), False


def _new(ledger: Ledger, question: Question) -> bool:
    """Whether nobody has paid for the question yet."""
    try:
        return ledger.released(question) is None
    except (AnswerPending, EngineUnreachable):
        return False
