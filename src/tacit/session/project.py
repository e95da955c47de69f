"""Open a project: all tables of the project file, where the ledger holds what it says."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from getpass import getuser
from pathlib import Path

from tacit.errors import Conflict, InvalidValue, StoreFailed
from tacit.ledger.declared import HeldDeclarations
from tacit.project.project import FILE, Project
from tacit.project.serving import Serving
from tacit.session.alarm import alarm, to_stderr
from tacit.session.belonging import tables_of
from tacit.session.changes import Change, changes, changes_of, record
from tacit.session.curator import Curator
from tacit.session.engines import Engines, all_opened
from tacit.session.home import FOLDER, Home
from tacit.session.in_place import check_computed, check_declared
from tacit.session.pools import pools_of
from tacit.session.project_file import check_plugins, read_project, spec_of
from tacit.session.served_copies import Tell, silent, with_copies
from tacit.session.session import Session

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
        home = Home.of(project, file.parent / FOLDER, environment)
        closing.callback(home.store.close)
        held = home.ledger.declarations()  # before it is compared: it may change meanwhile
        _check_held(changes(project, home.ledger, None), file)
        if tell is not None:
            project = with_copies(project, file, home.states, tell)
        if project.outdated:
            raise InvalidValue("\n".join(project.outdated.values()))
        check_plugins(project)
        engines = all_opened(project, file.parent, closing, environment)
        _check_storage(project, engines)
        tables = tables_of(project.catalog, engines)
        _check_held(changes(project, home.ledger, tables), file)
        held_home = home.under(HeldDeclarations(held))
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
        raise InvalidValue(
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
    project: Project, file: Path, home: Home, environment: Mapping[str, str], tell: Tell
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
            except InvalidValue:
                why[name] = differing(file, name)
            else:
                if any(change.declaration for change in missing):
                    why[name] = differing(file, name)
        declarations = HeldDeclarations(held, refused=why)
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
    home: Home | None = None,
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
            except Conflict:
                continue  # another writer was first; nothing was recorded
    raise StoreFailed("The ledger is busy, and nothing was recorded; apply again.")


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
) -> Iterator[tuple[Project, Home]]:
    """The project in a file, and its ledger; no engine is opened."""
    file = Path(path)
    project = read_project(file)
    home = Home.of(project, file.parent / FOLDER, environment)
    try:
        yield project, home
    finally:
        home.close()
