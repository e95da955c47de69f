"""Open a project: all tables of the project file, where the ledger holds what it says."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from getpass import getuser
from pathlib import Path

from tacit.errors import InvalidValue
from tacit.project.project import FILE, IN_PLACE, Project, read_project
from tacit.project.serving import Serving
from tacit.session.alarm import alarm, to_stderr
from tacit.session.changes import Change, changes
from tacit.session.curator import Curator
from tacit.session.engines import all_opened
from tacit.session.home import FOLDER, Home
from tacit.session.in_place import check_computed, check_declared
from tacit.session.pools import pools_of
from tacit.session.served_copies import Tell, silent, with_copies
from tacit.session.session import Session

SERVER = "the server"
"""Who opens a project to serve it; who asks is told by tokens."""

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
        missing = changes(project, home.ledger)
        if missing:
            told = "\n".join(map(str, missing))
            raise InvalidValue(
                f"{file.name} differs from what the ledger holds; `tacit apply` records it:\n"
                f"{told}"
            )
        if tell is not None:
            project = with_copies(project, file, home.states, tell)
        if project.outdated:
            raise InvalidValue("\n".join(project.outdated.values()))
        engines = all_opened(project, file.parent, closing, environment)
        check_declared(project.catalog, engines)
        databases = {each.name for each in project.engines if each.kind in IN_PLACE}
        check_computed(project.catalog, {name: engines[name] for name in databases})
        tell_owner = alarm(to_stderr, project.serving.on_failure)
        curator = Curator(project.catalog, engines, home, principal, tell=tell_owner)
        closing.pop_all()
    return curator, project


def served(
    file: Path, environment: Mapping[str, str] = os.environ, tell: Tell = silent
) -> tuple[Curator, Serving]:
    """The same for a server: paid questions run in child processes, over validated copies.

    Copies that are missing are made first, and the owner is told of each by ``tell``.
    """
    project = read_project(file)
    curator, project = _curator(project, file, SERVER, environment, tell)
    lease_ms = 1000 * (LEASES * project.serving.seconds)
    try:
        pools = pools_of(project, file.parent, environment)
    except BaseException:
        curator.close()
        raise
    return curator.answered_by(pools, lease_ms), project.serving


def apply_project(
    path: str | Path = FILE, *, by: str, environment: Mapping[str, str] = os.environ
) -> tuple[Change, ...]:
    """Record what the file says and the ledger does not hold, as acts of the owner ``by``."""
    with beside(path, environment) as (project, home):
        missing = changes(project, home.ledger)
        for change in missing:
            if change.make is not None:
                change.make(home.ledger, by)
        return missing


def missing_in(path: str | Path = FILE) -> tuple[Change, ...]:
    """What the file says and the ledger does not hold."""
    with beside(path) as (project, home):
        return changes(project, home.ledger)


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
