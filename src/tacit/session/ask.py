"""The path of a question, a fit, a stream or a holdout from a session to its answer.

Each is priced, charged and only then run.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tacit import core
from tacit.accounting import with_epsilon
from tacit.engines import Engine
from tacit.errors import AnswerPending, EngineUnreachable, InvalidValue
from tacit.ledger import (
    Charge,
    ChargeRequest,
    Ledger,
    Offer,
    Status,
    Target,
    stopped_text,
    subject_of,
)
from tacit.ledger import StoredRelease as Stored
from tacit.ml.registry import Model, learn_from, model_of, refusing, spec_of
from tacit.numeric import exact
from tacit.plan import Plan, Relation, Scan, least_people, source_of, training_of
from tacit.project import DELAY, epoch_fact
from tacit.query import (
    FinerQuestion,
    Fit,
    FitPreview,
    FitQuote,
    Pool,
    PricedTime,
    Progress,
    Quote,
    QuoteWork,
    attempt,
    check_delay,
    check_size,
    delta_for_each,
    finer_questions,
    post_process,
    price,
    price_fit,
    price_time,
    refresh,
    rehearse,
    reprice,
    run_below,
    sum_groups,
    table_times,
)
from tacit.session.certificates import certifier_of
from tacit.session.curator import Curator
from tacit.session.policy_version import (
    epochs_of,
    policy_of,
    tables_of,
    used_facts,
    used_policy,
)
from tacit.stream import OpenHoldout, OpenStream, Place, Stream, Thresholdout, price_stream

# ------------------------------------------------------------------ request
# The request that a priced question sends to the ledger: public facts, without its text.

_DERIVED = re.compile("[0-9a-f]{64}").fullmatch
"""Matches what a key that is derived from a question looks like."""


def request_for(
    quote: Quote | FitQuote, catalog: core.Catalog, principal: str, request: str | None = None
) -> ChargeRequest:
    """Return the request with which ``quote`` is charged.

    ``request`` is an idempotency key. Without one, the key is derived from the question, so
    that the same question again is the same request: if its answer was lost, the analyst
    learns that, and is not charged a second time without knowing it.

    A given key is never a derived one. Owners can issue tokens in any name: a key that is
    refused for this name would otherwise tell them which questions this analyst has asked.
    """
    tables = tables_of(catalog, quote.datasets)
    given = f"given {request}" if _DERIVED(request or "") else request
    question = ChargeRequest(
        targets=(Target(quote.population, quote.event),),
        principal=principal,
        request=given or "the same again",
        plan=quote.key,
        loss=quote.key_loss,
        policy=policy_of(quote.population, tables),
        epochs=epochs_of(tables),
        price_delta=quote.price_delta,
        question=quote.subject if isinstance(quote, Quote) else b"",
    )
    return (
        replace(question, request=question.release_key.hex()) if request is None else question
    )


# ------------------------------------------------------------------ budget summary
# The state of the budget, shown with an answer and with a preview.


def budget_summary(
    status: Status, quote: Quote | FitQuote, *, paid: bool, rho_first: bool = False
) -> core.BudgetSummary:
    """Return the state of the budget with the cost of ``quote``, which is 0 unless ``paid``.

    It prints amounts as epsilon and rho, and in rho first if the analyst typed a rho.
    """
    cost = status.cost(quote.event, quote.price_delta).loss(status.measure)
    summary = core.BudgetSummary(
        population=status.population,
        cost=cost if paid else core.Loss(status.measure, cost.amount * 0),
        spent=status.spent,
        cap=status.cap,
        total=status.total_so_far,
        promised=status.total,
        more=status.questions_like(quote.event, quote.price_delta),
        stopped=stopped_text(status) or "",
    )
    return with_epsilon(summary, rho_first=rho_first)


# ------------------------------------------------------------------ ask
# Ask: the path of one question, with one call to each layer, in this order.


def ask(
    curator: Curator, plan: Plan, loss: core.Loss, request: str | None = None
) -> core.Answer:
    """Answer ``plan`` within ``loss``: price it, charge it, and only then run it.

    Guarantee: the answer was charged before any data was read, and stored before it was
    returned. The same question again is free, and returns the same bytes.
    """
    quote = price_question(curator, plan, loss)
    refuse_long_delay(curator, quote)
    release, standing, key = charge_and_answer(curator, quote, request)
    shown = post_process(release, quote.question.post, quote)
    return core.Answer.of(shown, standing, key, certifier_of(curator))


def price_question(curator: Curator, plan: Plan, loss: core.Loss) -> Quote:
    """Return the quote for ``plan``; refuse an answer that is too large for a worker.

    A session that runs its questions in its own process has no such limit.
    """
    quote = price(plan, curator.catalog, loss, price_time(curator.time, loss))
    pool = curator.pools.get(curator.place_of(quote.datasets))
    most = None if pool is None else pool.most_numbers
    check_size(quote.bound.plan, most, table_times(quote.bound))
    return quote


def reprice_question(curator: Curator, quote: Quote, loss: core.Loss) -> Quote:
    """Return the quote for the question of ``quote`` at another loss, as `price_question`."""
    return reprice(quote, curator.catalog, loss, price_time(curator.time, loss))


def refuse_long_delay(curator: Curator, quote: Quote) -> None:
    """Refuse a question whose answer would be delayed for too long, and tell the least loss."""
    terms = curator.terms(quote.population.name)
    check_delay(curator.time, quote.time, terms.conversion_delta)


AnyQuote = Quote | FitQuote
PaidAnswer = tuple[core.Release, core.BudgetSummary, bytes]
"""A release, the state of the budget, and the key of the release."""


def charge_and_answer(
    curator: Curator, quote: Quote | FitQuote, request: str | None = None
) -> PaidAnswer:
    """Return the release of a priced question or fit, a budget summary and the release's key.

    The question is charged, run and stored, unless that has been done before, or a stored
    answer serves it. An interrupt ends the wait for the answer, but does not stop the work.
    """
    question = request_for(quote, curator.catalog, curator.principal, request)
    served = serve(curator, quote, question)
    if served is not None:
        return with_budget(curator, quote, *served)
    try:
        stored, paid = curator.running.run(lambda: answer_once(curator, quote, question))
    except AnswerPending:
        stored, paid = curator.home.ledger.wait(question), False
    return stored_answer(curator, quote, question, stored, paid=paid)


def answer_once(
    curator: Curator, quote: Quote | FitQuote, question: ChargeRequest
) -> tuple[Stored, bool]:
    """Charge and run a question; return its stored answer, and whether it was charged now.

    Raise `AnswerPending` if another process computes the answer at the moment.
    """
    name = curator.place_of(quote.datasets)
    salt = curator.salt(quote.population.name)
    if name in curator.pools:
        return _answer_by(curator.pools[name], curator, quote, question, salt)
    engine = curator.engine_of(quote.datasets)
    return _answer_here(engine, curator, quote, question, salt)


def stored_answer(
    curator: Curator, quote: AnyQuote, question: ChargeRequest, stored: Stored, *, paid: bool
) -> PaidAnswer:
    """Return the answer that is stored for ``question``, which was ``paid`` now or before."""
    release = core.decode_release(stored.body)
    if isinstance(quote, Quote):
        release = refresh(release, quote)
    return with_budget(curator, quote, release, question.release_key, paid=paid)


def with_budget(
    curator: Curator, quote: AnyQuote, release: core.Release, key: bytes, *, paid: bool = False
) -> PaidAnswer:
    """Return a release and its key with the present state of the budget."""
    status = curator.home.ledger.status(quote.population.name, curator.principal)
    return release, budget_summary(status, quote, paid=paid), key


def dated_epochs(curator: Curator, quote: Quote | FitQuote) -> tuple[core.DatedEpoch, ...]:
    """Return the epochs of the tables that ``quote`` reads, with the day they were declared.

    They are public facts of the ledger, and are read before the question is charged.
    """
    days = curator.home.ledger.epoch_days(quote.population.name)
    return tuple(
        core.DatedEpoch(table.name, table.epoch.label, days.get(epoch_fact(table)))
        for table in tables_of(curator.catalog, quote.datasets)
    )


def is_stored(curator: Curator, quote: Quote) -> bool:
    """Return whether a stored answer serves ``quote``, so that asking costs nothing."""
    question = request_for(quote, curator.catalog, curator.principal)
    try:
        found = curator.home.ledger.find_release(question)
    except (AnswerPending, EngineUnreachable):
        return False
    return found is not None or serve(curator, quote, question) is not None


def serve(
    curator: Curator, quote: Quote | FitQuote, question: ChargeRequest
) -> tuple[core.Release, bytes] | None:
    """Return a stored release that serves a new question without a charge, and its key.

    The answer to the same question at the same loss comes first, also while it is computed:
    then there is nothing to return here. Otherwise it is the earliest stored answer that is at
    least as exact as what was asked, so that it is the same one each time. An answer with one
    more group key is summed over that key.

    Guarantee: the result depends on the ledger and on declarations, and never on a row.
    """
    if not isinstance(quote, Quote) or not _new(curator.home.ledger, question):
        return None
    return serve_new(curator, quote, question)


def serve_new(
    curator: Curator, quote: Quote, question: ChargeRequest
) -> tuple[core.Release, bytes] | None:
    """Return what `serve` returns, for a question that is known to be new."""
    ledger = curator.home.ledger
    finer = {subject_of(each.subject, question): each for each in finer_questions(quote)}
    for offer in ledger.find_offers(question, tuple(finer)):
        release = _release_from(offer, finer.get(offer.subject), curator, quote)
        if release is not None:
            return release, offer.release_key
    return None


def _release_from(
    offer: Offer, finer: FinerQuestion | None, curator: Curator, quote: Quote
) -> core.Release | None:
    """Return the release that ``offer`` gives for ``quote``; None if it does not serve it.

    If it answers a ``finer`` question, its groups are added up.
    """
    if finer is None and not offer.serves(quote.loss):
        return None
    body = curator.home.ledger.stored_body(offer.release_key)
    if body is None:
        return None
    release = core.decode_release(body)
    if finer is None:
        # a part of the loss of either may have paid for time, and not for less noise
        exact_offer = replace(offer, loss=release.guarantee.noise_loss)
        return refresh(release, quote) if exact_offer.serves(quote.noise_loss) else None
    priced = price(finer.question.plan, curator.catalog, release.guarantee.noise_loss)
    return sum_groups(release, priced, finer.column, quote)


def _answer_here(
    engine: Engine,
    curator: Curator,
    quote: Quote | FitQuote,
    question: ChargeRequest,
    salt: bytes,
) -> tuple[Stored, bool]:
    """Answer in this process; return the stored answer and whether it was charged now.

    A new question is rehearsed before it is charged, so that a failure which does not depend
    on any row costs nothing.
    """
    ledger = curator.home.ledger
    if _new(ledger, question):
        rehearse(quote, engine, curator.catalog, salt)
    epochs = dated_epochs(curator, quote)
    found = ledger.reserve(question, lease_ms=curator.lease_ms)
    if not isinstance(found, Charge):
        return found, False

    def once(charge: Charge) -> bytes:
        noted, dates = charge.assumptions, core.ReleaseDates(charge.day, epochs)
        work = QuoteWork(quote, curator.catalog, salt, charge.receipt, noted, dates)
        return attempt(work, engine, Progress())

    return run_below(ledger, found, once, tell=curator.tell), True


def _answer_by(
    pool: Pool, curator: Curator, quote: Quote | FitQuote, question: ChargeRequest, salt: bytes
) -> tuple[Stored, bool]:
    """Answer in a worker of ``pool``, as `_answer_here` does in this process.

    The worker must respond before anything is charged. No worker is needed for a question
    that was answered before. Raise `AnswerPending` if it is being answered now.
    """
    ledger = curator.home.ledger
    paid_before = False
    try:
        stored = ledger.find_release(question)
        if stored is not None:
            return stored, False
    except EngineUnreachable:
        paid_before = True
    with pool.lease(curator.watch) as held:
        if not paid_before:
            held.rehearse(quote, salt)
        epochs = dated_epochs(curator, quote)
        found = ledger.reserve(question, lease_ms=curator.lease_ms)
        if not isinstance(found, Charge):
            return found, False
        deadline = held if held.timed else None
        once = partial(held.run, quote, salt, epochs)
        with curator.home.leases.hold(ledger, found):
            stored = run_below(ledger, found, once, tell=curator.tell, deadline=deadline)
        return stored, True


def _new(ledger: Ledger, question: ChargeRequest) -> bool:
    """Return whether the question has not been charged yet."""
    try:
        return ledger.find_release(question) is None
    except (AnswerPending, EngineUnreachable):
        return False


# ------------------------------------------------------------------ fit
# Fit: a model takes the same path as a question. Its answer is the model's parameters.


def fit(  # noqa: PLR0913, PLR0917 - a model, and what it is fitted to
    curator: Curator,
    model: Model,
    dataset: str,
    features: Sequence[str],
    target: str | None,
    request: str | None = None,
) -> Model:
    """Return ``model`` with fitted parameters: price it, charge it, and only then fit it.

    Guarantee: the model that is fitted is built from the same stored text that was priced.
    """
    quote = quote_of(curator, model, dataset, features, target)
    release, standing, key = charge_and_answer(curator, quote, request)
    answer = core.Answer.of(release, standing, key, certifier_of(curator))
    return learn_from(model, answer, features)


def preview(
    curator: Curator, model: Any, dataset: str, features: Sequence[str], target: str | None
) -> FitPreview:
    """Return the price of fitting ``model``. This is free and reads no data."""
    quote = quote_of(curator, model, dataset, features, target)
    status = curator.home.ledger.status(quote.population.name, curator.principal)
    return FitPreview(budget_summary(status, quote, paid=True), quote.assumptions)


def quote_of(
    curator: Curator, model: Any, dataset: str, features: Sequence[str], target: str | None
) -> FitQuote:
    """Return the quote for fitting ``model``, in the measure of its population's budget."""
    asked = Fit(spec_of(model, curator.plugins), dataset, tuple(features), target)
    catalog, rebuilt = curator.catalog, model_of(asked.spec, curator.plugins)
    measure = curator.home.ledger.status(catalog.dataset(dataset).population).measure
    delta = exact(0)
    with refusing(type(rebuilt).__name__):
        if measure is core.Measure.APPROXIMATE:
            event = rebuilt.event(training_of(Scan(dataset), features, target, catalog))
            delta = delta_for_each(event, exact(rebuilt.delta))
        return price_fit(asked, rebuilt, catalog, measure, delta, time_of_fit(curator))


def time_of_fit(curator: Curator) -> PricedTime | None:
    """Return the assumption about the time of a fit, which costs nothing.

    A fit reads the data several times, so that the law of one delay does not cover it.
    """
    time = curator.time
    return None if time is None or time.kind == DELAY else price_time(time, core.Loss.zcdp(0))


# ------------------------------------------------------------------ stream
# Stream: the ledger, engine and tables of a stream or holdout. `tacit.stream` does the rest.


def open_stream(curator: Curator, stream: Stream) -> OpenStream:
    """Open ``stream`` over the tables of ``curator``; it is free until its first release."""
    place = _place(curator, stream.plan.source)
    source = source_of(stream.plan.source, curator.catalog)
    population = curator.catalog.dataset(source.dataset).population
    people = curator.catalog.population(population)
    quote = price_stream(stream, curator.catalog)
    facts = (
        *used_facts(stream, curator.catalog, people, source.datasets),
        f"the noise of the stream: {quote.noise_digest}",
    )
    used = replace(place, policy=used_policy(facts), facts=facts, former=place.policy)
    return OpenStream(quote, used)


def open_holdout(curator: Curator, dataset: str, asked: Thresholdout) -> OpenHoldout:
    """Open a holdout over a table of ``curator``; it is free until its first share."""
    if least_people((dataset,), curator.catalog):
        raise InvalidValue(
            f"{dataset!r} has min_people, a rule about cells of answers. A holdout is refused, "
            "because its shares can be about fewer people. Ask questions instead."
        )
    return OpenHoldout(dataset, asked, _place(curator, Scan(dataset)))


def _place(curator: Curator, relation: Relation) -> Place:
    catalog = curator.catalog
    source = source_of(relation, catalog)
    population = catalog.population(catalog.dataset(source.dataset).population)
    return Place(
        ledger=curator.home.ledger,
        states=curator.home.states.of(population.name),
        engine=curator.engine_of(source.datasets),
        catalog=catalog,
        salt=curator.salt(population.name),
        principal=curator.principal,
        policy=policy_of(population, tables_of(catalog, source.datasets)),
        tell=curator.tell,
    )
