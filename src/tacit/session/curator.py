"""The curator: catalogue, engines, ledger and salts that a session needs to answer questions.

The first part is the salt, a secret that decides which rows of a person count when the person
has more rows than the limits allow. A salt is drawn once, stored sealed, and never shown.
"""

import stat
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from tacit.core import Catalog, Dataset, PublicTable
from tacit.engines import CheckedEngine
from tacit.errors import Conflict, InvalidValue, LedgerBroken, StoreFailed, UnknownName
from tacit.ledger import (
    ActSigner,
    AnchorKeeper,
    AnchorPlace,
    ChainWitness,
    CommandPlace,
    Declarations,
    FilePlace,
    FolderPlace,
    HeadMark,
    LeaseKeeper,
    Ledger,
    Terms,
    remember_ends,
    wall_clock,
)
from tacit.numeric.entropy import fresh_bytes
from tacit.project import STORE, AnchorSettings, Project, ServerTime
from tacit.query import Pool, Tell, TimeWatch, nobody
from tacit.session.engines import address_with_secret
from tacit.session.workers import UninterruptibleWork
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
    """Return the salt of ``population``, which is the same for all its questions, for ever."""
    name = f"salt of {population}"
    found = states.find(name)
    if found == NO_STATE:
        try:
            found = states.change(name, NO_STATE, fresh_bytes(SALT_BYTES))
        except Conflict:  # another session drew it at the same moment
            found = states.find(name)
    return found.value


def salt_of_table(states: States, table: Dataset | PublicTable) -> bytes:
    """Return the salt of a table's population; all public tables share one salt.

    Each ledger draws its own salts, so that the mark of a salt shows which ledger made a copy.
    """
    if isinstance(table, Dataset):
        return salt_of(states, table.population)
    return salt_of(states, " public tables")  # no population can have this name


def fresh_mark(digits: int) -> str:
    """Return random hexadecimal digits, so that no two marks are the same."""
    return fresh_bytes((digits + 1) // 2).hex()[:digits]


def mark_of(salt: bytes) -> str:
    """Return a short hash of a salt. It distinguishes salts and reveals nothing else.

    Example:
        >>> mark_of(b"one")
        '3c6bfa4b'
    """
    return sha256(b"tacit order\n" + salt).hexdigest()[:8]


# ------------------------------------------------------------------ ledger folder
# The folder of a session on one machine: its ledger, and the key of its sealed states.

FOLDER = ".tacit"
MARK = "heads"
OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class LedgerFolder:
    """A ledger, and the sealed states that are stored with it."""

    store: Store
    ledger: Ledger
    states: States
    mark: HeadMark | None = None
    """The ends of the chains when the folder of the sealing key was last used."""
    leases: LeaseKeeper = field(default_factory=LeaseKeeper, repr=False)
    """The keeper of the leases on answers that worker processes compute."""
    private_folder: Path | None = None
    """The private folder of the installation, in which its signing key is."""
    signer: SigningKey | None = field(default=None, repr=False)
    """The key that signs anchors and checkpoints."""
    place: AnchorPlace | None = field(default=None, repr=False)
    """The place of the anchors that the project file names."""
    anchors: AnchorKeeper | None = field(default=None, repr=False)
    """The keeper that writes anchors there."""

    def close(self) -> None:
        """Write down where the chains end, write an anchor, and close the database.

        The mark stays as it was if the ledger was lost meanwhile, which the next opening says.
        """
        try:
            if self.mark is not None:
                with suppress(StoreFailed, LedgerBroken, OSError):
                    self.mark.move(self.store)
            if self.anchors is not None:
                self.anchors.close()
        finally:
            self.store.close()

    def under(self, declarations: Declarations) -> "LedgerFolder":
        """Return this folder with a ledger that charges only under ``declarations``."""
        return replace(self, ledger=self.ledger.under(declarations))

    @classmethod
    def at(cls, folder: Path) -> "LedgerFolder":
        """Open the ledger in ``folder``; create both if needed, for the current user only."""
        return cls._at(folder, None, checked=True)

    @classmethod
    def _at(cls, folder: Path, place: AnchorPlace | None, *, checked: bool) -> "LedgerFolder":
        private_folder(folder)
        store = open_sqlite(folder / "ledger.db")
        key = SealingKey.from_file(folder / "key")
        found = cls._open(store, key, HeadMark(folder / MARK), place, checked=checked)
        return replace(found, private_folder=folder)

    @classmethod
    def of(
        cls,
        project: Project,
        folder: Path,
        environment: Mapping[str, str],
        *,
        checked: bool = True,
    ) -> "LedgerFolder":
        """Open the ledger of ``project``: in the store that it names, or else in ``folder``.

        Machines that share a store must share the key of its states in ``TACIT_STATE_KEY``. The
        ledger is compared with the newest anchor unless ``checked`` is false, for owners who
        begin anchors or restore an old copy.
        """
        place = None
        if project.anchors is not None:
            place = place_of_anchors(project.anchors, folder.parent)
        if project.store is None:
            return cls._at(folder, place, checked=checked)
        mark = None
        if environment.get(VARIABLE):
            key = SealingKey.from_environment(environment)
        else:
            key = SealingKey.from_file(private_folder(folder) / "key")
            mark = HeadMark(folder / MARK)
        store = open_store(
            address_with_secret(project.store, STORE, environment, folder.parent)
        )
        found = cls._open(store, key, mark, place, checked=checked)
        return replace(found, private_folder=folder)

    @classmethod
    def _open(
        cls,
        store: Store,
        key: SealingKey,
        mark: HeadMark | None,
        place: AnchorPlace | None,
        *,
        checked: bool,
    ) -> "LedgerFolder":
        """Return the ledger in ``store``; refuse one that is older than its mark or anchor."""
        keeper = None
        try:
            if place is not None and checked:
                keeper = AnchorKeeper(store, place, key.signer, wall_clock)
                keeper.open()
            if mark is not None and checked:
                mark.check(store)
            remember_ends(store)
        except BaseException:
            store.close()
            raise
        return cls(
            store,
            Ledger(store, gate=keeper, key=key.signer),
            States(store, key, ChainWitness()),
            mark if checked else None,
            signer=key.signer,
            place=place,
            anchors=keeper,
        )


def place_of_anchors(settings: AnchorSettings, folder: Path) -> AnchorPlace:
    """Return the place of anchors that a project file in ``folder`` names."""
    if settings.command:
        return CommandPlace(settings.command, folder)
    if settings.file is not None:
        return FilePlace(folder / settings.file)
    return FolderPlace(folder / (settings.folder or ""))


def signing_key(place: Path) -> SigningKey:
    """Return the signing key of the project whose folder is ``place``; create it if needed."""
    return SigningKey.from_file(private_folder(place / FOLDER) / "signing-key")


def private_folder(folder: Path) -> Path:
    """Return ``folder``; create it if needed, and refuse one that other users may open."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreFailed(
            f"{folder} cannot be created or used as a folder. Choose another folder, or "
            "correct its permissions."
        ) from error
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & OTHERS:
        raise InvalidValue(
            f"Other users may open {folder} (mode {mode:o}). Run: chmod 700 {folder}"
        )
    ignored = folder / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n")  # a ledger does not belong in a repository of code
    return folder


# ------------------------------------------------------------------ curator
# The trusted curator between the tables and the analysts: a catalogue, engines and a ledger.

LEASE_MS = 60_000
"""How long one process has the right to answer a charged question, while others wait."""


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """Salts and budget terms, which never change: a cache, so that they are read only once."""

    salts: dict[str, bytes] = field(default_factory=dict)
    terms: dict[str, Terms] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Curator:
    """The catalogue, engines and ledger that every method of a session needs.

    Guarantee: each table of the catalogue was found in its engine, with the declared types,
    before a question can be asked. No row was read for that check.
    """

    catalog: Catalog
    engines: Mapping[str, CheckedEngine]
    home: LedgerFolder
    principal: str
    lease_ms: int = LEASE_MS
    pools: Mapping[str, Pool] = field(default_factory=dict)
    """Pools of worker processes by engine name; a worker opens the engine for itself."""
    known: LedgerFacts = field(default_factory=LedgerFacts, repr=False)
    """The cache of salts and budget terms."""
    running: UninterruptibleWork = field(default_factory=UninterruptibleWork, repr=False)
    """Paid work that continues even if nobody waits for it any longer."""
    tell: Tell = field(default=nobody, repr=False)
    """The function that is called for each charge that failed, was retried, or must wait."""
    watch: TimeWatch = field(default_factory=TimeWatch, repr=False)
    """The object that receives the times of questions in worker processes."""
    plugins: Mapping[str, str] = field(default_factory=dict)
    """Plug-ins that the project file names, each with its version."""
    waits: Mapping[str, str] = field(default_factory=dict)
    """Populations whose questions are refused, with the reason for operators and owners."""
    time: ServerTime | None = None
    """The rule of a server for the time of answers; None for a session on one machine."""

    def __post_init__(self) -> None:
        for name, engine in self.engines.items():
            engine.check(_living_in(self.catalog, name))
        for table in self.catalog.tables:
            if table.location.engine not in self.engines:
                raise UnknownName(
                    f"{table.name!r} is stored in {table.location.engine!r}, which is not an "
                    f"engine of this session. The engines are: {', '.join(self.engines)}."
                )
        for table in self.catalog.tables:
            if table.copy is not None and table.copy.order is not None:
                self._check_order(table, table.copy.order)

    def _check_order(self, dataset: Dataset | PublicTable, order: str) -> None:
        """Refuse a copy in the order of another salt: other rows of a person would count."""
        if order != mark_of(salt_of_table(self.home.states, dataset)):
            raise InvalidValue(
                f"The copy of {dataset.name!r} was made with another ledger, whose salt keeps "
                f"other rows. Make the copy again: tacit prepare {dataset.name}"
            )

    def engine_of(self, datasets: tuple[str, ...]) -> CheckedEngine:
        """Return the one engine that has all of these tables."""
        return self.engines[self.place_of(datasets)]

    def place_of(self, datasets: tuple[str, ...]) -> str:
        """Return the name of the one engine that has all of these tables."""
        places = {self.catalog.table(name).location.engine for name in datasets}
        if len(places) != 1:
            raise InvalidValue(
                "A question can read tables of one engine only, and these tables are stored "
                f"in {', '.join(sorted(places))}. Ask about each engine separately."
            )
        return places.pop()

    def salt(self, population: str) -> bytes:
        """Return the salt of ``population``, which decides which rows of a person count."""
        salts = self.known.salts
        if population not in salts:
            salts[population] = salt_of(self.home.states, population)
        return salts[population]

    def terms(self, population: str) -> Terms:
        """Return the measure, conversion delta and least price of ``population``'s budget."""
        terms = self.known.terms
        if population not in terms:
            terms[population] = self.home.ledger.status(population).terms
        return terms[population]

    def asked_by(self, principal: str, catalog: Catalog | None = None) -> "Curator":
        """Return a curator for another analyst, who may ask about ``catalog`` only.

        ``catalog`` is a part of this curator's catalogue. The engines were checked when this
        curator was made, and are not checked again.
        """
        return self._with(principal=principal, catalog=catalog or self.catalog)

    def signed_by(self, signer: ActSigner) -> "Curator":
        """Return a curator that signs the acts of an owner by ``signer``."""
        return self._with(home=replace(self.home, ledger=self.home.ledger.signed_by(signer)))

    def answered_by(
        self, pools: Mapping[str, Pool], lease_ms: int, time: ServerTime | None = None
    ) -> "Curator":
        """Return a curator that answers in worker processes, with leases of ``lease_ms``.

        ``time`` is the rule for the time at which answers leave.
        """
        return self._with(pools=pools, lease_ms=lease_ms, time=time)

    def telling(self, tell: Tell) -> "Curator":
        """Return a curator that reports failed charges to ``tell``."""
        return self._with(tell=tell)

    def watching(self, watch: TimeWatch) -> "Curator":
        """Return a curator that reports the times of questions to ``watch``."""
        return self._with(watch=watch)

    def _with(self, **parts: object) -> "Curator":
        """Return a copy with other values of some fields; engines are not checked again."""
        other = copy(self)
        for name, part in parts.items():
            object.__setattr__(other, name, part)
        return other

    def refusing(self, why: Mapping[str, str], waits: Mapping[str, str]) -> "Curator":
        """Return a curator that refuses all questions about some populations.

        ``why`` has the messages for analysts, and ``waits`` those for operators and owners.
        """
        home = replace(self.home, ledger=self.home.ledger.refusing(why))
        return self._with(home=home, waits={**self.waits, **waits})

    def retire(self) -> None:
        """Close the engines after all paid work is done; the ledger stays open for others."""
        self.running.wait()
        for pool in self.pools.values():
            pool.close()
        for engine in self.engines.values():
            engine.close()

    def close(self) -> None:
        """Close the engines and the ledger."""
        self.retire()
        self.home.close()


def _living_in(catalog: Catalog, engine: str) -> Catalog:
    """Return the part of ``catalog`` that is stored in one engine; links stay inside it."""
    here = [table for table in catalog.datasets if table.location.engine == engine]
    public = [table for table in catalog.public if table.location.engine == engine]
    return Catalog(catalog.populations, tuple(here), tuple(public))
