"""Who stands between the tables and those who ask: a catalogue, engines and a ledger."""

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.core.catalog import Catalog
from tacit.engines.engine import CheckedEngine
from tacit.errors import InvalidValue, UnknownName
from tacit.session.home import Home
from tacit.session.salt import salt_of

LEASE_MS = 60_000
"""How long whoever asks the same waits for an answer that is being made."""


@dataclass(frozen=True, slots=True)
class Curator:
    """What every verb of a session needs.

    Guarantee: each table of the catalogue was found in its engine, with the types declared,
    before anything is asked; no row was read for it.
    """

    catalog: Catalog
    engines: Mapping[str, CheckedEngine]
    home: Home
    principal: str
    lease_ms: int = LEASE_MS

    def __post_init__(self) -> None:
        for name, engine in self.engines.items():
            engine.check(_living_in(self.catalog, name))
        for table in self.catalog.tables:
            if table.location.engine not in self.engines:
                raise UnknownName(
                    f"{table.name!r} lives in {table.location.engine!r}, and the engines here "
                    f"are: {', '.join(self.engines)}."
                )

    def engine_of(self, datasets: tuple[str, ...]) -> CheckedEngine:
        """The one engine that holds all of these tables."""
        places = {self.catalog.table(name).location.engine for name in datasets}
        if len(places) != 1:
            raise InvalidValue(
                f"A question reads tables of one engine, and these live in "
                f"{', '.join(sorted(places))}."
            )
        return self.engines[places.pop()]

    def salt(self, population: str) -> bytes:
        """What decides which rows of a person are kept."""
        return salt_of(self.home.states, population)

    def close(self) -> None:
        """Let go of the engines and the ledger."""
        for engine in self.engines.values():
            engine.close()
        self.home.store.close()


def _living_in(catalog: Catalog, engine: str) -> Catalog:
    """The part of ``catalog`` that lives in one engine; no link leads out of it."""
    here = [table for table in catalog.datasets if table.location.engine == engine]
    public = [table for table in catalog.public if table.location.engine == engine]
    return Catalog(catalog.populations, tuple(here), tuple(public))
