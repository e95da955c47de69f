"""What the owner declared of the tables that a question reads, as one short text."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from tacit import core
from tacit.engines import Engine
from tacit.errors import AnswerPending, EngineUnreachable
from tacit.ledger import Charge, ChargeRequest, Ledger, Status, Target
from tacit.ledger import StoredRelease as Stored
from tacit.ml.registry import Model, learn_from, model_of, refusing, spec_of
from tacit.numeric import exact
from tacit.plan import (
    Plan,
    Relation,
    Scan,
    StoredForm,
    Vocabulary,
    source_of,
    text,
    training_of,
)
from tacit.project import Fact, facts_by_subject
from tacit.query import (
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
    post_process,
    price,
    price_fit,
    rehearse,
    run_below,
)
from tacit.session.curator import Curator
from tacit.stream import OpenHoldout, OpenStream, Place, Stream, Thresholdout, price_stream

Table = core.Dataset | core.PublicTable

DECLARATIONS = Vocabulary(
    {
        core.Population: StoredForm("Population", ("name", "unit")),
        core.PrivacyUnit: StoredForm("PrivacyUnit", ("name", "neighbours")),
        core.Schema: StoredForm("Schema", ("columns",)),
        core.Column: StoredForm("Column", ("name", "kind", "bounds", "keys", "step")),
        core.Bounds: StoredForm("Bounds", ("lower", "upper", "provenance")),
        core.Keys: StoredForm("Keys", ("values", "provenance")),
        core.UnitColumn: StoredForm(
            "UnitColumn", ("column", "one_row", "unique_by_constraint")
        ),
        core.Link: StoredForm(
            "Link", ("column", "parent", "parent_column", "unique_by_constraint")
        ),
        core.Limits: StoredForm("Limits", ("max_groups", "max_rows", "max_rows_in_all")),
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
"""The stored forms of what an owner declares of a table; see `tacit.plan.canonical_form`."""


def policy_of(population: core.Population, tables: Iterable[Table]) -> str:
    """The version of what is declared: another bound, key or limit gives another.

    Where a table or its copy lives is no part of it, nor which state it is in, which epochs
    tell.
    """
    facts = (population, *(_declared(table) for table in tables))
    return sha256(f"tacit policy 1\n{text(facts, DECLARATIONS)}".encode()).hexdigest()


def epochs_of(tables: Iterable[Table]) -> tuple[str, ...]:
    """The public states of all tables that a question reads, public tables among them."""
    return tuple(f"{table.name} {table.epoch.label}" for table in tables)


def tables_of(catalog: core.Catalog, names: Iterable[str]) -> tuple[Table, ...]:
    """The tables of those names, each once, in the order of their names."""
    return tuple(catalog.table(name) for name in sorted(set(names)))


def _declared(table: Table) -> tuple[object, ...]:
    """The declared facts of a table; whether it has a copy is none of them.

    Chains of version 0.1.0 hold digests of what is made here, so that its form stays: a copy
    stands as None for private tables, and what has come since is there only where it is said.
    """
    if isinstance(table, core.PublicTable):
        return (table.name, table.schema, *_plugin(table))
    facts = (table.name, table.population, table.schema, table.unit, table.limits)
    later = ("in place",) if table.in_place else ()
    return (*facts, table.row_key, None, *later, *_plugin(table))


def _plugin(table: Table) -> tuple[str, ...]:
    """The plug-in that reads a table, where there is one."""
    return () if table.location.plugin is None else (f"plug-in {table.location.plugin}",)


# ------------------------------------------------------------------ used
# The declarations that a stream uses: what its charge, its key and its releases rest on.
#
# A stream lives for months, and meanwhile owners declare other tables and columns. A change
# that the stream does not use must neither charge it again nor draw it again; a change that
# it does use must not pass unnoticed, because its price and its noise rest on the old
# declaration. So a stream is known by the facts that it uses: the protected unit, and for
# each table that it reads the way to the unit, the limits, and what is declared of the
# columns that occur in it.


def used_facts(
    asked: object, catalog: core.Catalog, population: core.Population, tables: Iterable[str]
) -> tuple[str, ...]:
    """Return what is declared of ``tables`` and used by ``asked``, a plan or a stream.

    Guarantee: whoever changes the unit, the way to it, the limits of one of the tables, or
    anything that is declared of a column that ``asked`` names, changes these facts.
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
            or _named(column, words)
            or column in _on_the_way(fact, names, catalog)
        ):
            found.append(fact.text)
    return (found[0], *sorted(found[1:]))


def used_policy(facts: tuple[str, ...]) -> str:
    """Return the version of the declarations that are used, as one short text."""
    return sha256("\n".join(("tacit policy 2", *facts)).encode()).hexdigest()


def _named(column: str, words: Iterable[str]) -> bool:
    """Whether a word names the column, by itself or behind its table; names may hold dots."""
    return any(word == column or word.endswith(f".{column}") for word in words)


def _on_the_way(fact: Fact, names: frozenset[str], catalog: core.Catalog) -> set[str]:
    """Return the columns of a fact's table that lead to the unit, or order a unit's rows."""
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
# What the ledger is told of a priced question: public facts, and no text.


def request_for(
    quote: Quote | FitQuote, catalog: core.Catalog, principal: str, request: str | None = None
) -> ChargeRequest:
    """The ledger's question for ``quote``.

    Without a ``request`` of their own, whoever asks the same again sends the same request: an
    answer that was lost is told of, and not paid for a second time unawares.
    """
    tables = tables_of(catalog, quote.datasets)
    question = ChargeRequest(
        targets=(Target(quote.population, quote.event),),
        principal=principal,
        request=request or "the same again",
        plan=quote.key,
        loss=quote.loss,
        policy=policy_of(quote.population, tables),
        epochs=epochs_of(tables),
        price_delta=quote.price_delta,
    )
    return (
        replace(question, request=question.release_key.hex()) if request is None else question
    )


# ------------------------------------------------------------------ standing
# Where the budget stands, for whoever just asked or is about to.


def standing_of(status: Status, quote: Quote | FitQuote, *, paid: bool) -> core.BudgetSummary:
    """The state of the budget beside what ``quote`` costs, or cost where it was ``paid``."""
    cost = status.cost(quote.event, quote.price_delta).loss(status.measure)
    return core.BudgetSummary(
        population=status.population,
        cost=cost if paid else core.Loss(status.measure, cost.amount * 0),
        spent=status.spent,
        cap=status.cap,
        total=status.total_so_far,
        promised=status.total,
        more=status.questions_like(quote.event, quote.price_delta),
    )


# ------------------------------------------------------------------ ask
# Ask: the path of one question, one call to each floor, in this order.


def ask(
    curator: Curator, plan: Plan, loss: core.Loss, request: str | None = None
) -> core.Answer:
    """The answer to ``plan`` within ``loss``: priced, charged, and only then run.

    Guarantee: what is returned was charged before any data was touched, and stored before it
    left. The same question again is free, and gives the same bytes.
    """
    quote = priced(curator, plan, loss)
    release, standing, key = paid_for(curator, quote, request)
    return core.Answer.of(post_process(release, quote.question.post), standing, key)


def priced(curator: Curator, plan: Plan, loss: core.Loss) -> Quote:
    """What answering ``plan`` would do; refused where no worker could make so large an answer.

    A session that runs its questions itself has no such cap: its limits are its own.
    """
    quote = price(plan, curator.catalog, loss)
    pool = curator.pools.get(curator.place_of(quote.datasets))
    check_size(quote.bound.plan, None if pool is None else pool.most_numbers)
    return quote


def paid_for(
    curator: Curator, quote: Quote | FitQuote, request: str | None = None
) -> tuple[core.Release, core.BudgetSummary, bytes]:
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
    return (
        core.decode_release(stored.body),
        standing_of(status, quote, paid=paid),
        question.release_key,
    )


def _answer_here(
    engine: Engine,
    curator: Curator,
    quote: Quote | FitQuote,
    question: ChargeRequest,
    salt: bytes,
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
    pool: Pool, curator: Curator, quote: Quote | FitQuote, question: ChargeRequest, salt: bytes
) -> tuple[Stored, bool]:
    """The same by a worker of ``pool``, which is found to answer before anything is charged.

    Whoever asks what was answered before, or what is being answered, needs no worker.
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
        found = ledger.reserve(question, lease_ms=curator.lease_ms)
        if not isinstance(found, Charge):
            return found, False
        deadline = held if held.timed else None
        once = partial(held.run, quote, salt)
        return run_below(ledger, found, once, tell=curator.tell, deadline=deadline), True
    return ledger.wait(question), False


def _new(ledger: Ledger, question: ChargeRequest) -> bool:
    """Whether nobody has paid for the question yet."""
    try:
        return ledger.find_release(question) is None
    except (AnswerPending, EngineUnreachable):
        return False


# ------------------------------------------------------------------ fit
# Fit: the path of a model, which is that of a question; its answer is its parameters.


def fit(  # noqa: PLR0913, PLR0917 - a model, and what it is fitted to
    curator: Curator,
    model: Model,
    dataset: str,
    features: Sequence[str],
    target: str | None,
    request: str | None = None,
) -> Model:
    """``model`` with the parameters that were paid for: priced, charged, and only then run.

    Guarantee: what is run is the model that its text tells, of which the price was made.
    """
    quote = quote_of(curator, model, dataset, features, target)
    release, standing, key = paid_for(curator, quote, request)
    return learn_from(model, core.Answer.of(release, standing, key), features)


def preview(
    curator: Curator, model: Any, dataset: str, features: Sequence[str], target: str | None
) -> FitPreview:
    """What fitting ``model`` would cost."""
    quote = quote_of(curator, model, dataset, features, target)
    status = curator.home.ledger.status(quote.population.name, curator.principal)
    return FitPreview(standing_of(status, quote, paid=True), quote.assumptions)


def quote_of(
    curator: Curator, model: Any, dataset: str, features: Sequence[str], target: str | None
) -> FitQuote:
    """The price of ``model``, in the measure of the budget of the people it is about."""
    asked = Fit(spec_of(model, curator.plugins), dataset, tuple(features), target)
    catalog, told = curator.catalog, model_of(asked.spec, curator.plugins)
    measure = curator.home.ledger.status(catalog.dataset(dataset).population).measure
    delta = exact(0)
    with refusing(type(told).__name__):
        if measure is core.Measure.APPROXIMATE:
            event = told.event(training_of(Scan(dataset), features, target, catalog))
            delta = delta_for_each(event, exact(told.delta))
        return price_fit(asked, told, catalog, measure, delta)


# ------------------------------------------------------------------ stream
# Stream: where a stream or a holdout of this session lives; the rest is its own.


def open_stream(curator: Curator, stream: Stream) -> OpenStream:
    """``stream`` over the tables of ``curator``; free until its first step is released."""
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
    """A holdout over a table of ``curator``; free until its first share is asked for."""
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
