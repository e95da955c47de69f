"""Who stands between the tables and those who ask: a catalogue, engines and a ledger."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace

from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset
from tacit.core.public_table import PublicTable
from tacit.engines.engine import CheckedEngine
from tacit.errors import InvalidValue, UnknownName
from tacit.ledger.status import Terms
from tacit.query.below import Tell, nobody
from tacit.query.pool import Pool
from tacit.session.home import Home
from tacit.session.salt import mark_of, salt_of, salt_of_table
from tacit.session.underway import Underway

LEASE_MS = 60_000
"""How long whoever asks the same waits for an answer that is being made."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a ledger holds of populations for ever: looked up once, and not at each question."""

    salts: dict[str, bytes] = field(default_factory=dict)
    terms: dict[str, Terms] = field(default_factory=dict)


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
    pools: Mapping[str, Pool] = field(default_factory=dict)
    """Child processes, by the names of the engines that they open in place of ours."""
    known: Known = field(default_factory=Known, repr=False)
    """What never changes once it was read."""
    underway: Underway = field(default_factory=Underway, repr=False)
    """Paid work that goes on, whoever waits for it."""
    tell: Tell = field(default=nobody, repr=False)
    """Told of each charge that failed, was run twice, or waits for its engine."""
    plugins: Mapping[str, str] = field(default_factory=dict)
    """Plug-ins that the project file names, each with its version."""
    waits: Mapping[str, str] = field(default_factory=dict)
    """Why some populations are not answered about here, in words for operators and owners."""

    def __post_init__(self) -> None:
        for name, engine in self.engines.items():
            engine.check(_living_in(self.catalog, name))
        for table in self.catalog.tables:
            if table.location.engine not in self.engines:
                raise UnknownName(
                    f"{table.name!r} lives in {table.location.engine!r}, and the engines here "
                    f"are: {', '.join(self.engines)}."
                )
        for table in self.catalog.tables:
            if table.copy is not None and table.copy.order is not None:
                self._check_order(table, table.copy.order)

    def _check_order(self, dataset: Dataset | PublicTable, order: str) -> None:
        """Refuse a copy in another order: it and its table would answer by other rows."""
        if order != mark_of(salt_of_table(self.home.states, dataset)):
            raise InvalidValue(
                f"The copy of {dataset.name!r} was made with another ledger, whose salt keeps "
                f"other rows; make it anew: tacit prepare {dataset.name}"
            )

    def engine_of(self, datasets: tuple[str, ...]) -> CheckedEngine:
        """The one engine that holds all of these tables."""
        return self.engines[self.place_of(datasets)]

    def place_of(self, datasets: tuple[str, ...]) -> str:
        """The name of that engine."""
        places = {self.catalog.table(name).location.engine for name in datasets}
        if len(places) != 1:
            raise InvalidValue(
                f"A question reads tables of one engine, and these live in "
                f"{', '.join(sorted(places))}."
            )
        return places.pop()

    def salt(self, population: str) -> bytes:
        """What decides which rows of a person are kept."""
        salts = self.known.salts
        if population not in salts:
            salts[population] = salt_of(self.home.states, population)
        return salts[population]

    def terms(self, population: str) -> Terms:
        """What the budget of ``population`` counts in."""
        terms = self.known.terms
        if population not in terms:
            terms[population] = self.home.ledger.status(population).terms
        return terms[population]

    def asked_by(self, principal: str, catalog: Catalog | None = None) -> "Curator":
        """The same for another asker, who may ask about ``catalog``, a part of this one.

        Nothing is looked at again: the engines were checked when this one was made.
        """
        return self._changed(principal=principal, catalog=catalog or self.catalog)

    def answered_by(self, pools: Mapping[str, Pool], lease_ms: int) -> "Curator":
        """The same, whose questions run in child processes, and take up to ``lease_ms``."""
        return self._changed(pools=pools, lease_ms=lease_ms)

    def telling(self, tell: Tell) -> "Curator":
        """The same, which tells somebody else of troubles."""
        return self._changed(tell=tell)

    def _changed(self, **parts: object) -> "Curator":
        """A copy with other parts, for which engines are not checked again."""
        other = copy(self)
        for name, part in parts.items():
            object.__setattr__(other, name, part)
        return other

    def refusing(self, why: Mapping[str, str], waits: Mapping[str, str]) -> "Curator":
        """The same, which answers nothing about some populations.

        ``why`` is what those who ask are told, and ``waits`` what operators and owners are.
        """
        home = replace(self.home, ledger=self.home.ledger.refusing(why))
        return self._changed(home=home, waits={**self.waits, **waits})

    def retire(self) -> None:
        """Let go of the engines, when all paid work is done; another curator has the ledger."""
        self.underway.wait()
        for pool in self.pools.values():
            pool.close()
        for engine in self.engines.values():
            engine.close()

    def close(self) -> None:
        """Let go of the engines and the ledger."""
        self.retire()
        self.home.close()


def _living_in(catalog: Catalog, engine: str) -> Catalog:
    """The part of ``catalog`` that lives in one engine; no link leads out of it."""
    here = [table for table in catalog.datasets if table.location.engine == engine]
    public = [table for table in catalog.public if table.location.engine == engine]
    return Catalog(catalog.populations, tuple(here), tuple(public))
