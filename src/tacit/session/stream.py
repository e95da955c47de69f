"""Stream: where a stream or a holdout of this session lives; the rest is its own."""

from dataclasses import replace

from tacit.plan.relation import Relation, Scan
from tacit.plan.source import source_of
from tacit.session.curator import Curator
from tacit.session.policy import policy_of, tables_of
from tacit.session.used import used_facts, used_policy
from tacit.stream.open_holdout import OpenHoldout
from tacit.stream.open_stream import OpenStream, Place
from tacit.stream.quote import price_stream
from tacit.stream.stream import Stream
from tacit.stream.thresholdout import Thresholdout


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
