"""Projects: sessions and servers over all tables of a project file, and its changes.

A project is opened only if the ledger has recorded everything that the project file declares.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from getpass import getuser
from hashlib import sha256
from pathlib import Path

from tacit import errors
from tacit.core import UnitColumn
from tacit.ledger import LEASE_MS, ActSigner, CatalogDeclarations
from tacit.project import FILE, Project, Serving
from tacit.session.changes import Change, changes, changes_of, record
from tacit.session.curator import FOLDER, Curator, LedgerFolder
from tacit.session.engines import (
    Engines,
    check_plugins,
    open_engines,
    read_project,
    read_project_unloaded,
    spec_of,
)
from tacit.session.served_copies import Tell, silent, with_copies
from tacit.session.served_time import check_time, check_time_rule
from tacit.session.session import Session
from tacit.session.table_checks import check_computed, check_declared, tables_of
from tacit.session.workers import alarm, pools_of, to_stderr

SERVER = "the server"
"""The principal that opens a project to serve it; analysts are identified by tokens."""

ATTEMPTS = 10
"""How often an owner's acts are tried if others write to the ledger at the same time."""


def open_project(
    path: str | Path = FILE,
    *,
    principal: str | None = None,
    environment: Mapping[str, str] = os.environ,
    tell: Tell | None = None,
) -> Session:
    """Open a session over all tables of the project file at ``path``.

    The ledger is in the folder of the file, unless the file names a store. With ``tell``, the
    session answers from validated copies only, as a server does, and ``tell`` is called for
    each copy that is made. Without it, tables that have no copy are read in place: the person
    who opens such a session has access to the data anyway.

    Guarantee: no session is opened if the ledger has not recorded what the file declares.
    """
    file, analyst = Path(path), principal or getuser()
    return Session(_curator(read_project(file), file, analyst, environment, tell)[0])


def curator_of(file: Path, principal: str, environment: Mapping[str, str]) -> Curator:
    """Return the curator of a project, if the ledger has recorded what its file declares."""
    return _curator(read_project(file), file, principal, environment)[0]


def _curator(
    project: Project,
    file: Path,
    principal: str,
    environment: Mapping[str, str],
    tell: Tell | None = None,
) -> tuple[Curator, Project]:
    """Return the curator of a project, and the project with the copies that are read."""
    with ExitStack() as closing:
        home = LedgerFolder.of(project, file.parent / FOLDER, environment)
        closing.callback(home.store.close)
        # read before the comparison, so that a declaration made meanwhile is not used
        held = home.ledger.declarations()
        missing = changes(project, home.ledger, None)
        _check_recorded(missing, file)
        if tell is not None:
            for change in missing:
                tell(f"The ledger differs from {file.name}, and the ledger decides: {change}")
            project = with_copies(project, file, home.states, tell)
        if project.outdated:
            raise errors.InvalidValue("\n".join(project.outdated.values()))
        check_plugins(project)
        engines = open_engines(project, file.parent, closing, environment)
        _check_storage(project, engines)
        tables = tables_of(project.catalog, engines)
        _check_recorded(changes(project, home.ledger, tables), file)
        held_home = home.under(CatalogDeclarations(held))
        tell_owner = alarm(to_stderr, project.serving.on_failure)
        curator = Curator(
            project.catalog,
            engines,
            held_home,
            principal,
            tell=tell_owner,
            plugins=project.plugins,
        )
        closing.pop_all()
    return curator, project


def _check_recorded(missing: tuple[Change, ...], file: Path) -> None:
    """Refuse a project if the ledger has not recorded what questions depend on.

    A quota may differ, because an owner may have set another one over HTTP. A larger cap and
    other owners may wait for a second owner, or have been declined. The ledger decides.
    """
    if any(change.stops_questions for change in missing):
        listed = "\n".join(map(str, missing))
        raise errors.InvalidValue(
            f"{file.name} differs from the ledger. Run `tacit apply` to record these "
            f"changes:\n{listed}"
        )


def _check_storage(project: Project, engines: Engines) -> None:
    """Refuse tables that are not stored as declared, or that are computed when read."""
    check_declared(project.catalog, engines)
    databases = {
        each.name for each in project.engines if spec_of(project, each).address.in_place
    }
    check_computed(project.catalog, {name: engines[name] for name in databases})


def _curator_taking_over(
    project: Project, file: Path, home: LedgerFolder, environment: Mapping[str, str], tell: Tell
) -> tuple[Curator, Project]:
    """Return a new curator for a running server, over the ledger that it has open.

    Questions about a population are refused if the file and the ledger declare it differently.
    """
    with ExitStack() as closing:
        held = home.ledger.declarations()
        project = with_copies(project, file, home.states, tell)
        check_plugins(project)
        engines = open_engines(project, file.parent, closing, environment)
        _check_storage(project, engines)
        tables = tables_of(project.catalog, engines)
        why: dict[str, str] = {}
        for people in project.people:
            name = people.population.name
            try:
                missing = list(changes_of(people, project, home.ledger, tables))
            except errors.InvalidValue:
                why[name] = mismatch_message(file, name)
            else:
                if any(change.declaration for change in missing):
                    why[name] = mismatch_message(file, name)
        declarations = CatalogDeclarations(held, refused=why)
        tell_owner = alarm(to_stderr, project.serving.on_failure)
        curator = Curator(
            project.catalog,
            engines,
            home.under(declarations),
            SERVER,
            tell=tell_owner,
            waits=why,
            plugins=project.plugins,
        )
        closing.pop_all()
    return curator, project


def mismatch_message(file: Path, population: str) -> str:
    """Return the message for a population that file and ledger declare differently."""
    return (
        f"On this server, {file.name} declares {population!r} differently than the owners have "
        "in the ledger. Questions about this population are refused until both agree. Nothing "
        "was charged. Inform an operator."
    )


def open_for_serving(
    file: Path,
    environment: Mapping[str, str] = os.environ,
    tell: Tell = silent,
    home: LedgerFolder | None = None,
) -> tuple[Curator, Serving]:
    """Return a curator for a server, and the server settings of the project.

    Charged questions run in worker processes, over validated copies. Missing copies are made
    first, and ``tell`` is called with a line of progress for each. A running server passes
    ``home``, its open ledger, and gets a curator that replaces its present one.
    """
    project = read_project(file)
    check_time_rule(project)
    if home is None:
        curator, project = _curator(project, file, SERVER, environment, tell)
    else:
        curator, project = _curator_taking_over(project, file, home, environment, tell)
    try:
        check_time(project, curator.home.ledger)
        pools = pools_of(project, file.parent, environment)
    except BaseException:
        curator.close() if home is None else curator.retire()
        raise
    serving = project.serving
    return curator.answered_by(pools, LEASE_MS, serving.time), serving


def apply_project(  # noqa: PLR0913 - a file, and how an owner acts
    path: str | Path = FILE,
    *,
    by: str,
    environment: Mapping[str, str] = os.environ,
    reason: str = "",
    needed_only: bool = False,
    signer: ActSigner | None = None,
) -> tuple[Change, ...]:
    """Record the changes of the file that the ledger lacks, as acts of the owner ``by``.

    The acts are signed by ``signer``, where owners have keys. Changes of populations with
    other owners wait for those owners. The recorded changes are returned. A ``reason`` must be
    given if a cap is raised. With ``needed_only``, only changes that questions depend on are
    recorded.

    Guarantee: everything that ``by`` may record is recorded, or nothing is. Once this returns,
    nothing is charged under an earlier declaration. The difference is computed while every
    other writer waits.
    """
    with (
        project_and_ledger(path, environment, engines=True) as (project, home),
        ExitStack() as closing,
    ):
        folder = Path(path).parent
        engines = open_engines(project, folder, closing, environment, reads=False)
        tables = tables_of(project.catalog, engines)
        for _ in range(ATTEMPTS):
            try:
                with home.ledger.signed_by(signer).governing(by=by) as acts:
                    acts.lock()
                    found = changes(project, acts, tables, reason)
                    if needed_only:
                        found = tuple(each for each in found if each.stops_questions)
                    return record(found, project, acts)
            except errors.Conflict:
                continue  # another writer was first; nothing was recorded
    raise errors.StoreFailed(
        "The ledger is busy, and nothing was recorded. Run `tacit apply` again."
    )


def unrecorded_changes(path: str | Path = FILE) -> tuple[Change, ...]:
    """Return the changes that the ledger lacks; compare words only and open no engine."""
    with project_and_ledger(path, engines=True) as (project, home):
        return changes(project, home.ledger, None)


def datasets_without_profile(path: str | Path = FILE) -> tuple[str, ...]:
    """Return the datasets of which nobody knows how many rows the limits cut.

    They have several rows for a person, no public most of rows, and no profile of their epoch.
    """
    catalog = read_project(Path(path)).catalog
    return tuple(
        table.name
        for table in catalog.datasets
        if table.most_rows is None
        and not (isinstance(table.unit, UnitColumn) and table.unit.one_row)
        and (table.profile is None or table.profile.epoch != catalog.epochs_of(table.name))
    )


def planned_changes(
    path: str | Path = FILE, environment: Mapping[str, str] = os.environ
) -> tuple[Change, ...]:
    """Return the changes that `apply_project` would record."""
    with (
        project_and_ledger(path, environment, engines=True) as (project, home),
        ExitStack() as closing,
    ):
        folder = Path(path).parent
        engines = open_engines(project, folder, closing, environment, reads=False)
        return changes(project, home.ledger, tables_of(project.catalog, engines))


@contextmanager
def project_and_ledger(
    path: str | Path = FILE,
    environment: Mapping[str, str] = os.environ,
    *,
    engines: bool = False,
    checked: bool = True,
) -> Iterator[tuple[Project, LedgerFolder]]:
    """Open the project in a file, and its ledger; no engine is opened, and no plug-in loaded.

    With ``engines`` true the plug-ins of its engines are loaded, which opening them requires.
    With ``checked`` false the ledger is not compared with its anchors.
    """
    file = Path(path)
    project = read_project(file) if engines else read_project_unloaded(file)
    home = LedgerFolder.of(project, file.parent / FOLDER, environment, checked=checked)
    try:
        yield project, home
    finally:
        home.close()


# ------------------------------------------------------------------ reload
# Load a served project again when its declarations have changed, or a copy was made again.


class Reloader:
    """A callable that gives a server a new curator when its project has changed.

    If the new project cannot be loaded, or differs from the ledger about some populations,
    questions about these populations are refused, and all others are answered. Loading is
    tried again whenever the project file or a declaration changes, and on every call while an
    engine cannot be reached. A population that was added is served from then on. The curator
    states the reason to operators and owners.

    A copy that was made again has new tables, and the old tables will be dropped. The server
    reads the new tables as soon as the project file names them.
    """

    def __init__(self, file: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._file = file
        self._environment = environment
        self._tried: tuple[object, ...] = ()
        self._seen: bytes | None = None
        """The digest of the project file when its copies were last compared."""
        self._known: tuple[object, ...] = ()
        """The file and the ledger when their populations were last compared."""

    def __call__(self, curator: Curator) -> Curator:
        """Return the curator to use now: the given one, unless something has changed."""
        ledger, names = curator.home.ledger, _names(curator)
        moved = ledger.redeclared_populations(names)
        found = (self._file_digest(), ledger.numbers())
        again = bool(ledger.refused_populations()) and found != self._tried
        copied = self._has_new_copies(curator)
        added = self._has_new_populations(curator, found)
        if not moved and not again and not copied and not added:
            return curator
        self._tried = found
        try:
            return open_for_serving(self._file, self._environment, home=curator.home)[0]
        except Exception as error:  # noqa: BLE001 - a driver or a plug-in may raise any
            if isinstance(error, errors.EngineUnreachable):
                self._tried, self._seen, self._known = (), None, ()
            return self._without(curator, moved | ledger.refused_populations(), error)

    def _without(self, curator: Curator, names: frozenset[str], error: Exception) -> Curator:
        """Return the old curator, which now refuses questions about ``names``."""
        missing = isinstance(error, errors.CopyMissing)
        message = copy_missing_message if missing else load_failed_message
        why = {name: message(self._file, name) for name in names}
        # the text of an error that is not ours is not shown, only its type
        reason = str(error) if isinstance(error, errors.TacitError) else type(error).__name__
        return curator.refusing(why, dict.fromkeys(names, reason))

    def _has_new_copies(self, curator: Curator) -> bool:
        """Return whether the project file names other copies than those that are read."""
        written = self._file_digest()
        if written == self._seen:
            return False
        self._seen = written
        try:
            said = read_project(self._file).catalog.tables
        except (errors.TacitError, OSError):
            return False
        read = {each.name: each.copy for each in curator.catalog.tables}
        return any(
            each.copy is not None and each.name in read and each.copy != read[each.name]
            for each in said
        )

    def _has_new_populations(self, curator: Curator, found: tuple[object, ...]) -> bool:
        """Return whether the file and the ledger have a population that is not served yet.

        A population that the ledger does not have yet is not loaded: its owner must apply it.
        """
        if found == self._known:
            return False
        self._known = found
        try:
            said = {each.name for each in read_project(self._file).catalog.populations}
        except (errors.TacitError, OSError):
            return False
        return bool(said.intersection(curator.home.ledger.numbers()) - set(_names(curator)))

    def _file_digest(self) -> bytes:
        """Return a hash of the project file; time and length do not show every change."""
        try:
            return sha256(self._file.read_bytes()).digest()
        except OSError:
            return b""


def copy_missing_message(_: Path, population: str) -> str:
    """Return the message for a population whose new declaration has no copies yet."""
    return (
        f"The declaration of {population!r} has changed, and an operator of this server must "
        "prepare its tables. Questions about this population are refused until then. Nothing "
        "was charged. Send the same request again later."
    )


def load_failed_message(file: Path, population: str) -> str:
    """Return the message for a population whose new declaration could not be loaded."""
    return (
        f"The declaration of {population!r} has changed, and {file.name} on this server could "
        "not be loaded again. Questions about this population are refused until it is. Nothing "
        "was charged. Inform an operator: the server's log has the reason."
    )


def _names(curator: Curator) -> tuple[str, ...]:
    return tuple(people.name for people in curator.catalog.populations)
