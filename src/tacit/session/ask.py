"""The path of a question, a fit, a stream or a holdout from a session to its answer.

Each is priced, charged and only then run. The first two parts compute the policy version: a
hash of the declarations that an answer depends on.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from tacit import core
from tacit.accounting import with_epsilon
from tacit.engines import Engine
from tacit.errors import AnswerPending, EngineUnreachable, InvalidValue
from tacit.ledger import Charge, ChargeRequest, Ledger, Offer, Status, Target, subject_of
from tacit.ledger import StoredRelease as Stored
from tacit.ml.registry import Model, learn_from, model_of, refusing, spec_of
from tacit.numeric import exact
from tacit.plan import (
    Plan,
    Relation,
    Scan,
    StoredForm,
    Vocabulary,
    least_people,
    source_of,
    text,
    training_of,
)
from tacit.project import Fact, epoch_fact, facts_by_subject
from tacit.query import (
    FinerQuestion,
    Fit,
    FitPreview,
    FitQuote,
    Pool,
    Progress,
    Quote,
    QuoteWork,
    attempt,
    check_size,
    delta_for_each,
    finer_questions,
    post_process,
    price,
    price_fit,
    refresh,
    rehearse,
    run_below,
    sum_groups,
    table_times,
)
from tacit.session.curator import Curator
from tacit.stream import OpenHoldout, OpenStream, Place, Stream, Thresholdout, price_stream

Table = core.Dataset | core.PublicTable

DECLARATIONS = Vocabulary(
    {
        core.Population: StoredForm("Population", ("name", "unit")),
        core.PrivacyUnit: StoredForm("PrivacyUnit", ("name", "neighbours")),
        core.Schema: StoredForm("Schema", ("columns",)),
        core.Column: StoredForm(
            "Column",
            ("name", "kind", "bounds", "keys", "step"),
            ("max_total", "total_profile", "stored", "zone"),
        ),
        core.Bounds: StoredForm("Bounds", ("lower", "upper", "provenance")),
        core.Keys: StoredForm("Keys", ("values", "provenance"), ("complete",)),
        core.UnitColumn: StoredForm(
            "UnitColumn", ("column", "one_row", "unique_by_constraint")
        ),
        core.Link: StoredForm(
            "Link", ("column", "parent", "parent_column", "unique_by_constraint")
        ),
        core.Limits: StoredForm(
            "Limits", ("max_groups", "max_rows", "max_rows_in_all"), ("max_length",)
        ),
    },
    {
        core.Neighbours.ADD_REMOVE: "ADD_REMOVE",
        core.Neighbours.REPLACE_ONE: "REPLACE_ONE",
        core.Provenance.PUBLIC: "PUBLIC",
        core.Provenance.POLICY: "POLICY",
        core.Provenance.ESTIMATED: "ESTIMATED",
        core.Kind.BOOLEAN: "BOOLEAN",
        core.Kind.INTEGER: "INTEGER",
        core.Kind.DECIMAL: "DECIMAL",
        core.Kind.FLOAT: "FLOAT",
        core.Kind.TEXT: "TEXT",
        core.Kind.DATE: "DATE",
        core.Kind.TIMESTAMP: "TIMESTAMP",
    },
)
"""The stored forms of the declarations of a table; see `tacit.plan.canonical_form`."""


def policy_of(population: core.Population, tables: Iterable[Table]) -> str:
    """Return the policy version: it changes with every declared bound, key or limit.

    It does not depend on where a table or its copy is stored, nor on the epoch of a table.
    """
    facts = (population, *(_declared_facts(table) for table in tables))
    return sha256(f"tacit policy 1\n{text(facts, DECLARATIONS)}".encode()).hexdigest()


def epochs_of(tables: Iterable[Table]) -> tuple[str, ...]:
    """Return the epoch of each table that a question reads, including public tables."""
    return tuple(f"{table.name} {table.epoch.label}" for table in tables)


def tables_of(catalog: core.Catalog, names: Iterable[str]) -> tuple[Table, ...]:
    """Return the tables with these names, each once, sorted by name."""
    return tuple(catalog.table(name) for name in sorted(set(names)))


def _declared_facts(table: Table) -> tuple[object, ...]:
    """Return the declared facts of a table. They do not say whether the table has a copy.

    Chains of version 0.1.0 contain digests of this tuple, so its form must not change: a
    private table has None in the place of its copy, and a fact that was introduced later is
    present only if an owner has declared it.
    """
    read = _conversions(table)
    if isinstance(table, core.PublicTable):
        return (table.name, table.schema, *read, *_plugin(table))
    facts = (table.name, table.population, table.schema, table.unit, table.limits)
    later = ["in place"] if table.in_place else []
    if table.limits.max_length is not None:
        later.append(f"length {table.limits.max_length}")
    if table.min_people is not None:
        later.append(f"cells of {table.min_people}")
    later += [
        f"totals of {column.name!r} up to {column.max_total}"
        for column in table.schema.columns
        if column.max_total is not None
    ]
    return (*facts, table.row_key, None, *later, *read, *_plugin(table))


def _conversions(table: Table) -> tuple[str, ...]:
    """Return the stored types and zones of columns that are converted when they are read."""
    return tuple(
        f"{column.name!r} stored as {column.stored.value}"
        if column.stored
        else f"{column.name!r} in the zone {column.zone!r}"
        for column in table.schema.columns
        if column.stored is not None or column.zone is not None
    )


def _plugin(table: Table) -> tuple[str, ...]:
    """Return the plug-in that reads a table, as a tuple that is empty without a plug-in."""
    return () if table.location.plugin is None else (f"plug-in {table.location.plugin}",)


# ------------------------------------------------------------------ used declarations
# The declarations that a stream uses: its charge, its key and its releases depend on them.
#
# A stream runs for months, and in that time owners declare other tables and columns. A change
# that the stream does not use must neither charge it again nor draw its noise again. A change
# that it does use must be noticed, because its price and its noise depend on the old
# declaration. So a stream is identified by the facts that it uses: the privacy unit, and for
# each table that it reads the path to the unit, the limits, and the declarations of the
# columns that occur in the stream.


def used_facts(
    asked: object, catalog: core.Catalog, population: core.Population, tables: Iterable[str]
) -> tuple[str, ...]:
    """Return the declarations of ``tables`` that ``asked``, a plan or a stream, uses.

    Guarantee: these facts change with the unit, the path to it, the limits of one of the
    tables, and every declaration of a column that ``asked`` names.
    """
    words, names = tuple(set(_words(asked))), frozenset(tables)
    unit = population.unit
    found = [f"{population.name}: one {unit.name}, {unit.neighbours.value}"]
    for fact in facts_by_subject(catalog, population.name):
        if fact.table not in names or fact.is_state:
            continue
        column = fact.column
        if (
            column is None
            or _is_named(column, words)
            or column in _on_the_way(fact, names, catalog)
        ):
            found.append(fact.text)
    return (found[0], *sorted(found[1:]))


def used_policy(facts: tuple[str, ...]) -> str:
    """Return the policy version of the used declarations: a hash of ``facts``."""
    return sha256("\n".join(("tacit policy 2", *facts)).encode()).hexdigest()


def _is_named(column: str, words: Iterable[str]) -> bool:
    """Return whether a word is the column's name, alone or as ``table.column``.

    A column's name may itself contain dots, so a word is not split at its dots.
    """
    return any(word == column or word.endswith(f".{column}") for word in words)


def _on_the_way(fact: Fact, names: frozenset[str], catalog: core.Catalog) -> set[str]:
    """Return the columns of a fact's table on the path to the unit, and its row key."""
    found, name = set[str](), fact.table
    for other in names:
        table = catalog.table(other)
        if not isinstance(table, core.Dataset):
            continue
        if other == name:
            found |= {table.unit.column, *([table.row_key] if table.row_key else [])}
        if isinstance(table.unit, core.Link) and table.unit.parent == name:
            found.add(table.unit.parent_column)
    return found


def _words(part: object) -> Iterator[str]:
    """Yield every text in a tree of frozen values."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple | list | frozenset | set):
        for each in part:
            yield from _words(each)
    elif isinstance(part, dict):
        yield from _words(tuple(part.items()))
    elif is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            yield from _words(getattr(part, field.name))


# ------------------------------------------------------------------ request
# The request that a priced question sends to the ledger: public facts, without its text.


def request_for(
    quote: Quote | FitQuote, catalog: core.Catalog, principal: str, request: str | None = None
) -> ChargeRequest:
    """Return the request with which ``quote`` is charged.

    ``request`` is an idempotency key. Without one, the key is derived from the question, so
    that the same question again is the same request: if its answer was lost, the analyst
    learns that, and is not charged a second time without knowing it.
    """
    tables = tables_of(catalog, quote.datasets)
    question = ChargeRequest(
        targets=(Target(quote.population, quote.event),),
        principal=principal,
        request=request or "the same again",
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
    release, standing, key = charge_and_answer(curator, quote, request)
    return core.Answer.of(post_process(release, quote.question.post, quote), standing, key)


def price_question(curator: Curator, plan: Plan, loss: core.Loss) -> Quote:
    """Return the quote for ``plan``; refuse an answer that is too large for a worker.

    A session that runs its questions in its own process has no such limit.
    """
    quote = price(plan, curator.catalog, loss)
    pool = curator.pools.get(curator.place_of(quote.datasets))
    most = None if pool is None else pool.most_numbers
    check_size(quote.bound.plan, most, table_times(quote.bound))
    return quote


def charge_and_answer(
    curator: Curator, quote: Quote | FitQuote, request: str | None = None
) -> tuple[core.Release, core.BudgetSummary, bytes]:
    """Return the release of a priced question or fit, a budget summary and the release's key.

    The question is charged, run and stored, unless that has been done before, or a stored
    answer serves it. An interrupt ends the wait for the answer, but does not stop the work.
    """
    question = request_for(quote, curator.catalog, curator.principal, request)
    served = serve(curator, quote, question)
    if served is not None:
        release, key = served
        status = curator.home.ledger.status(quote.population.name, curator.principal)
        return release, budget_summary(status, quote, paid=False), key
    name = curator.place_of(quote.datasets)
    salt = curator.salt(quote.population.name)
    if name in curator.pools:
        pool = curator.pools[name]
        stored, paid = curator.running.run(
            lambda: _answer_by(pool, curator, quote, question, salt)
        )
    else:
        engine = curator.engine_of(quote.datasets)
        stored, paid = curator.running.run(
            lambda: _answer_here(engine, curator, quote, question, salt)
        )
    status = curator.home.ledger.status(quote.population.name, curator.principal)
    release = core.decode_release(stored.body)
    return (
        refresh(release, quote) if isinstance(quote, Quote) else release,
        budget_summary(status, quote, paid=paid),
        question.release_key,
    )


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
    ledger = curator.home.ledger
    if not isinstance(quote, Quote) or not _new(ledger, question):
        return None
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
        return refresh(release, quote)
    priced = price(finer.question.plan, curator.catalog, release.guarantee.loss)
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
    try:
        found = ledger.reserve(question, lease_ms=curator.lease_ms)
    except AnswerPending:
        return ledger.wait(question), False
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
    that was answered before, or that is being answered now.
    """
    ledger = curator.home.ledger
    paid_before = False
    try:
        stored = ledger.find_release(question)
        if stored is not None:
            return stored, False
    except (AnswerPending, EngineUnreachable):
        paid_before = True
    with suppress(AnswerPending), pool.lease() as held:
        if not paid_before:
            held.rehearse(quote, salt)
        epochs = dated_epochs(curator, quote)
        found = ledger.reserve(question, lease_ms=curator.lease_ms)
        if not isinstance(found, Charge):
            return found, False
        deadline = held if held.timed else None
        once = partial(held.run, quote, salt, epochs)
        return run_below(ledger, found, once, tell=curator.tell, deadline=deadline), True
    return ledger.wait(question), False


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
    return learn_from(model, core.Answer.of(release, standing, key), features)


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
        return price_fit(asked, rebuilt, catalog, measure, delta)


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
