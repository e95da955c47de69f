"""The salt that decides which rows of a person are kept: drawn once, sealed, never shown."""

import stat
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from tacit.core import Catalog, Dataset, PublicTable
from tacit.engines import CheckedEngine
from tacit.errors import Conflict, InvalidValue, StoreFailed, UnknownName
from tacit.ledger import ChainWitness, Declarations, HeadMark, Ledger, Terms
from tacit.numeric.entropy import fresh_bytes
from tacit.project import STORE, Project
from tacit.query import Pool, Tell, nobody
from tacit.session.engines import addressed
from tacit.session.workers import Underway
from tacit.store import (
    NO_STATE,
    VARIABLE,
    SealingKey,
    SigningKey,
    States,
    Store,
    open_sqlite,
    open_store,
)

SALT_BYTES = 32


def salt_of(states: States, population: str) -> bytes:
    """The salt of ``population``, the same for all its questions and for ever."""
    name = f"salt of {population}"
    found = states.find(name)
    if found == NO_STATE:
        try:
            found = states.change(name, NO_STATE, fresh_bytes(SALT_BYTES))
        except Conflict:  # another session drew it at the same moment
            found = states.find(name)
    return found.value


def salt_of_table(states: States, table: Dataset | PublicTable) -> bytes:
    """The salt of a table's population; of public tables, one of the ledger's own.

    It is drawn anew in each ledger, so that its mark tells whose copy a copy is.
    """
    if isinstance(table, Dataset):
        return salt_of(states, table.population)
    return salt_of(states, " public tables")  # no population is called so


def fresh_mark(digits: int) -> str:
    """A text of hexadecimal digits that nobody has had before."""
    return fresh_bytes((digits + 1) // 2).hex()[:digits]


def mark_of(salt: bytes) -> str:
    """A short text that tells salts apart, and nothing else of them: they are random.

    Example:
        >>> mark_of(b"one")
        '3c6bfa4b'
    """
    return sha256(b"tacit order\n" + salt).hexdigest()[:8]


# ------------------------------------------------------------------ home
# The folder of a session on one machine: its ledger, and the key of its sealed states.

FOLDER = ".tacit"
MARK = "heads"
OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class LedgerFolder:
    """A ledger, and the states beside it that nobody reads."""

    store: Store
    ledger: Ledger
    states: States
    mark: HeadMark | None = None
    """Where the chains ended when the folder of the sealing key was last used."""

    def close(self) -> None:
        """Let go of the database, and write down where its chains end."""
        try:
            if self.mark is not None:
                with suppress(StoreFailed, OSError):  # the mark before this one stays
                    self.mark.move(self.store)
        finally:
            self.store.close()

    def under(self, declarations: Declarations) -> "LedgerFolder":
        """The same home for questions that are priced by ``declarations``."""
        return replace(self, ledger=self.ledger.under(declarations))

    @classmethod
    def at(cls, folder: Path) -> "LedgerFolder":
        """The home in ``folder``, made where there is none, for its owner alone."""
        private_folder(folder)
        store = open_sqlite(folder / "ledger.db")
        key = SealingKey.from_file(folder / "key")
        return cls._checked(store, key, HeadMark(folder / MARK))

    @classmethod
    def of(
        cls, project: Project, folder: Path, environment: Mapping[str, str]
    ) -> "LedgerFolder":
        """The home of ``project``: in its store, where it names one, and else in ``folder``.

        Machines that share a store share the key of its states in ``TACIT_STATE_KEY``.
        """
        if project.store is None:
            return cls.at(folder)
        mark = None
        if environment.get(VARIABLE):
            key = SealingKey.from_environment(environment)
        else:
            key = SealingKey.from_file(private_folder(folder) / "key")
            mark = HeadMark(folder / MARK)
        store = open_store(addressed(project.store, STORE, environment))
        return cls._checked(store, key, mark)

    @classmethod
    def _checked(cls, store: Store, key: SealingKey, mark: HeadMark | None) -> "LedgerFolder":
        """Return the home in ``store``, which is not older than its folder knows."""
        try:
            if mark is not None:
                mark.check(store)
        except BaseException:
            store.close()
            raise
        return cls(store, Ledger(store), States(store, key, ChainWitness()), mark)


def signing_key(place: Path) -> SigningKey:
    """The key by which the project in the folder ``place`` signs, made where there is none."""
    return SigningKey.from_file(private_folder(place / FOLDER) / "signing-key")


def private_folder(folder: Path) -> Path:
    """The folder, made where there is none, for its owner alone."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreFailed(f"{folder} can be neither made nor used as a folder.") from error
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & OTHERS:
        raise InvalidValue(
            f"{folder} may be opened by others (mode {mode:o}); chmod 700 {folder}"
        )
    ignored = folder / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n")  # a ledger is not shared with its code
    return folder


# ------------------------------------------------------------------ curator
# Who stands between the tables and those who ask: a catalogue, engines and a ledger.

LEASE_MS = 60_000
"""How long whoever asks the same waits for an answer that is being made."""


@dataclass(frozen=True, slots=True)
class LedgerFacts:
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
    home: LedgerFolder
    principal: str
    lease_ms: int = LEASE_MS
    pools: Mapping[str, Pool] = field(default_factory=dict)
    """Child processes, by the names of the engines that they open in place of ours."""
    known: LedgerFacts = field(default_factory=LedgerFacts, repr=False)
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
