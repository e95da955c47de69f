"""The folder of a session on one machine: its ledger, and the key of its sealed states."""

import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.errors import InvalidValue, StoreFailed
from tacit.ledger.declared import Declarations
from tacit.ledger.head_mark import HeadMark
from tacit.ledger.ledger import Ledger
from tacit.ledger.sealed_states import ChainWitness
from tacit.project.engines import STORE
from tacit.project.project import Project
from tacit.session.engines import addressed
from tacit.store.open import open_store
from tacit.store.sealing_key import VARIABLE, SealingKey
from tacit.store.signing_key import SigningKey
from tacit.store.sqlite import open_sqlite
from tacit.store.states import States
from tacit.store.store import Store

FOLDER = ".tacit"
MARK = "heads"
OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Home:
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

    def under(self, declarations: Declarations) -> "Home":
        """The same home for questions that are priced by ``declarations``."""
        return replace(self, ledger=self.ledger.under(declarations))

    @classmethod
    def at(cls, folder: Path) -> "Home":
        """The home in ``folder``, made where there is none, for its owner alone."""
        private_folder(folder)
        store = open_sqlite(folder / "ledger.db")
        key = SealingKey.from_file(folder / "key")
        return cls._checked(store, key, HeadMark(folder / MARK))

    @classmethod
    def of(cls, project: Project, folder: Path, environment: Mapping[str, str]) -> "Home":
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
    def _checked(cls, store: Store, key: SealingKey, mark: HeadMark | None) -> "Home":
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
