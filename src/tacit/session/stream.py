"""Stream: where a stream of this session lives; the rest is its own."""

from tacit.plan.source import source_of
from tacit.session.curator import Curator
from tacit.session.policy import policy_of, tables_of
from tacit.stream.open_stream import OpenStream, Place
from tacit.stream.stream import Stream


def open_stream(curator: Curator, stream: Stream) -> OpenStream:
    """``stream`` over the tables of ``curator``; free until its first step is released."""
    catalog = curator.catalog
    source = source_of(stream.plan.source, catalog)
    population = catalog.population(catalog.dataset(source.dataset).population)
    place = Place(
        ledger=curator.home.ledger,
        states=curator.home.states,
        engine=curator.engine_of(source.datasets),
        catalog=catalog,
        salt=curator.salt(population.name),
        principal=curator.principal,
        policy=policy_of(population, tables_of(catalog, source.datasets)),
    )
    return OpenStream(stream, place)
