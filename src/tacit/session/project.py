"""Open a project: all tables of the project file, where the ledger holds what it says."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from getpass import getuser
from hashlib import sha256
from pathlib import Path

from tacit import errors
from tacit.ledger import CatalogDeclarations
from tacit.project import FILE, Project, Serving
from tacit.session.changes import Change, changes, changes_of, record
from tacit.session.curator import FOLDER, Curator, LedgerFolder
from tacit.session.engines import Engines, all_opened, check_plugins, read_project, spec_of
from tacit.session.served_copies import Tell, silent, with_copies
from tacit.session.session import Session
from tacit.session.table_checks import check_computed, check_declared, tables_of
from tacit.session.workers import alarm, pools_of, to_stderr

SERVER = "the server"
"""Who opens a project to serve it; who asks is told by tokens."""

ATTEMPTS = 10
"""How often an owner's acts are tried again that lost to another writer."""

LEASES = 3
"""Others wait for an answer this often as long as a question may take."""


def open_project(
    path: str | Path = FILE,
    *,
    principal: str | None = None,
    environment: Mapping[str, str] = os.environ,
    tell: Tell | None = None,
) -> Session:
    """A session over all tables of the project file at ``path``; its ledger is beside it.

    Where somebody is to be told of copies that are made, by ``tell``, the session answers from
    validated copies alone, as a server does. Else it reads tables where they are, unless the
    file speaks of a copy: whoever opens it holds the data.

    Guarantee: no session where the ledger does not hold what the file says.
    """
    file, asker = Path(path), principal or getuser()
    return Session(_curator(read_project(file), file, asker, environment, tell)[0])


def curator_of(file: Path, principal: str, environment: Mapping[str, str]) -> Curator:
    """What a session over a project needs, where the ledger holds what its file says."""
    return _curator(read_project(file), file, principal, environment)[0]


def _curator(
    project: Project,
    file: Path,
    principal: str,
    environment: Mapping[str, str],
    tell: Tell | None = None,
) -> tuple[Curator, Project]:
    """The curator of a project, and the project with the copies that are read."""
    with ExitStack() as closing:
        home = LedgerFolder.of(project, file.parent / FOLDER, environment)
        closing.callback(home.store.close)
        held = home.ledger.declarations()  # before it is compared: it may change meanwhile
        _check_held(changes(project, home.ledger, None), file)
        if tell is not None:
            project = with_copies(project, file, home.states, tell)
        if project.outdated:
            raise errors.InvalidValue("\n".join(project.outdated.values()))
        check_plugins(project)
        engines = all_opened(project, file.parent, closing, environment)
        _check_storage(project, engines)
        tables = tables_of(project.catalog, engines)
        _check_held(changes(project, home.ledger, tables), file)
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


def _check_held(missing: tuple[Change, ...], file: Path) -> None:
    """Refuse a project of which the ledger does not hold all."""
    if missing:
        told = "\n".join(map(str, missing))
        raise errors.InvalidValue(
            f"{file.name} differs from what the ledger holds; `tacit apply` records it:\n{told}"
        )


def _check_storage(project: Project, engines: Engines) -> None:
    """Refuse tables that are not as declared, or that are computed where they may not be."""
    check_declared(project.catalog, engines)
    databases = {
        each.name for each in project.engines if spec_of(project, each).address.in_place
    }
    check_computed(project.catalog, {name: engines[name] for name in databases})


def _again(
    project: Project, file: Path, home: LedgerFolder, environment: Mapping[str, str], tell: Tell
) -> tuple[Curator, Project]:
    """The curator of a server that runs already, over the ledger that it has open.

    Populations of which the file does not say what the ledger holds are not answered about.
    """
    with ExitStack() as closing:
        held = home.ledger.declarations()
        project = with_copies(project, file, home.states, tell)
        check_plugins(project)
        engines = all_opened(project, file.parent, closing, environment)
        _check_storage(project, engines)
        tables = tables_of(project.catalog, engines)
        why: dict[str, str] = {}
        for people in project.people:
            name = people.population.name
            try:
                missing = list(changes_of(people, project, home.ledger, tables))
            except errors.InvalidValue:
                why[name] = differing(file, name)
            else:
                if any(change.declaration for change in missing):
                    why[name] = differing(file, name)
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


def differing(file: Path, population: str) -> str:
    """What is told of a population of which this machine's file says something else."""
    return (
        f"What {file.name} on this server says about {population!r} is not what their owners "
        "have declared in the ledger. Nothing about them is answered here until both agree, "
        "and nothing was charged; tell an operator."
    )


def served(
    file: Path,
    environment: Mapping[str, str] = os.environ,
    tell: Tell = silent,
    home: LedgerFolder | None = None,
) -> tuple[Curator, Serving]:
    """The same for a server: paid questions run in child processes, over validated copies.

    Copies that are missing are made first, and the owner is told of each by ``tell``. A server
    that runs already gives its ``home``, and gets a curator that takes over.
    """
    project = read_project(file)
    if home is None:
        curator, project = _curator(project, file, SERVER, environment, tell)
    else:
        curator, project = _again(project, file, home, environment, tell)
    lease_ms = 1000 * (LEASES * project.serving.seconds)
    try:
        pools = pools_of(project, file.parent, environment)
    except BaseException:
        curator.close() if home is None else curator.retire()
        raise
    return curator.answered_by(pools, lease_ms), project.serving


def apply_project(
    path: str | Path = FILE, *, by: str, environment: Mapping[str, str] = os.environ
) -> tuple[Change, ...]:
    """Record what the file says and the ledger does not hold, as acts of the owner ``by``.

    What belongs to populations of other owners waits for them; what was recorded is returned.

    Guarantee: all that ``by`` may record is recorded, or nothing is. Once this returns, nothing
    is charged under what was declared before. The difference is computed while every other
    writer waits.
    """
    with beside(path, environment) as (project, home), ExitStack() as closing:
        folder = Path(path).parent
        engines = all_opened(project, folder, closing, environment, reads=False)
        tables = tables_of(project.catalog, engines)
        for _ in range(ATTEMPTS):
            try:
                with home.ledger.governing(by=by) as acts:
                    acts.lock()
                    return record(changes(project, acts, tables), project, acts)
            except errors.Conflict:
                continue  # another writer was first; nothing was recorded
    raise errors.StoreFailed("The ledger is busy, and nothing was recorded; apply again.")


def missing_in(path: str | Path = FILE) -> tuple[Change, ...]:
    """What the file says and the ledger does not hold, by its words alone: no engine opens."""
    with beside(path) as (project, home):
        return changes(project, home.ledger, None)


def proposed_in(
    path: str | Path = FILE, environment: Mapping[str, str] = os.environ
) -> tuple[Change, ...]:
    """What `apply_project` would record."""
    with beside(path, environment) as (project, home), ExitStack() as closing:
        folder = Path(path).parent
        engines = all_opened(project, folder, closing, environment, reads=False)
        return changes(project, home.ledger, tables_of(project.catalog, engines))


@contextmanager
def beside(
    path: str | Path = FILE, environment: Mapping[str, str] = os.environ
) -> Iterator[tuple[Project, LedgerFolder]]:
    """The project in a file, and its ledger; no engine is opened."""
    file = Path(path)
    project = read_project(file)
    home = LedgerFolder.of(project, file.parent / FOLDER, environment)
    try:
        yield project, home
    finally:
        home.close()


# ------------------------------------------------------------------ reload
# Load a served project anew when its declarations have changed, or a copy was made anew.


class Reloading:
    """Gives a server the curator that takes over from its present one.

    Where the new project cannot be loaded, or does not say what the ledger holds about some
    populations, nothing about those is answered, and all others go on. It is tried again
    whenever the project file or a declaration changes, and all the time while an engine cannot
    be reached. The curator says why it waits, to operators and owners.

    A copy that was made anew has other tables, and those of before will be dropped: the server
    reads the new ones as soon as the project file speaks of them.
    """

    def __init__(self, file: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._file = file
        self._environment = environment
        self._tried: tuple[object, ...] = ()
        self._seen: bytes | None = None
        """What the project file was when its copies were last compared."""

    def __call__(self, curator: Curator) -> Curator:
        """The curator of now: the same, where nothing has changed."""
        ledger, names = curator.home.ledger, _names(curator)
        moved = ledger.redeclared_populations(names)
        found = (self._written(), ledger.numbers())
        again = bool(ledger.refused_populations()) and found != self._tried
        copied = self._copied_anew(curator)
        if not moved and not again and not copied:
            return curator
        self._tried = found
        try:
            return served(self._file, self._environment, home=curator.home)[0]
        except (errors.TacitError, OSError) as error:
            if isinstance(error, errors.EngineUnreachable):
                self._tried, self._seen = (), None
            return self._without(curator, moved | ledger.refused_populations(), error)

    def _without(
        self, curator: Curator, names: frozenset[str], error: errors.TacitError | OSError
    ) -> Curator:
        """The old curator, which answers nothing about the populations in ``names``."""
        told = waiting if isinstance(error, errors.CopyMissing) else unread
        why = {name: told(self._file, name) for name in names}
        # the words of a system are not ours
        reason = str(error) if isinstance(error, errors.TacitError) else type(error).__name__
        return curator.refusing(why, dict.fromkeys(names, reason))

    def _copied_anew(self, curator: Curator) -> bool:
        """Whether the project file speaks of other copies of tables than are read."""
        written = self._written()
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

    def _written(self) -> bytes:
        """A digest of the project file, whose time and length may be those of another."""
        try:
            return sha256(self._file.read_bytes()).digest()
        except OSError:
            return b""


def waiting(_: Path, population: str) -> str:
    """What is told of a population whose new declaration has no copies yet."""
    return (
        f"This server waits for its operator to prepare the tables of the new declaration of "
        f"{population!r}. Nothing about them is answered here until then, and nothing was "
        "charged; send the same request again later."
    )


def unread(file: Path, population: str) -> str:
    """What is told of a population whose new declaration could not be loaded otherwise."""
    return (
        f"What {file.name} on this server says about {population!r} could not be loaded after "
        "their owners declared something else. Nothing about them is answered here until it "
        "is, and nothing was charged; tell an operator, whose log says why."
    )


def _names(curator: Curator) -> tuple[str, ...]:
    return tuple(people.name for people in curator.catalog.populations)
