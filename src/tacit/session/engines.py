"""The engines of a project: secrets are looked up, engines are opened, plug-ins are checked.

A secret is read from the environment or the keyring and handed to a driver. It never appears
in a message or a log.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tacit.engines import CheckedEngine, EngineSpec, OpenRequest, path_in
from tacit.engines.registry import NO_PLUGINS, address_rule, address_rule_unloaded, engine_spec
from tacit.errors import InvalidValue
from tacit.extras import check_installed, load
from tacit.ml.registry import load_estimators
from tacit.project import (
    ENVIRONMENT,
    SECRET_FILE,
    SECRETS,
    AddressRule,
    EngineAddress,
    Plugins,
    Project,
    ProjectText,
    SecretPlace,
)
from tacit.project import project_of as project_of_with
from tacit.project import read_project as read_with_rules

HERE = Path()
"""The present folder, which is that of a project file without another one."""

NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
OTHERS = 0o077
"""The rights of other users."""


def secret_of(
    place: SecretPlace, engine: str, environment: Mapping[str, str], folder: Path = HERE
) -> str:
    """Return the secret of ``engine``; if it is missing, the error says how to store it.

    ``folder`` is that of the project file, in which secrets in files are.
    """
    if place.keeper == ENVIRONMENT:
        (variable,) = place.path
        return variable_value(variable, f"The engine {engine!r}", environment)
    if place.keeper == SECRET_FILE:
        return read_secret(folder / SECRETS / place.path[0], engine)
    service, name = place.path
    found = _keyring_secret(load("keyring", extra="keyring"), service, name)
    if found is None:
        raise InvalidValue(
            f"The engine {engine!r} needs the secret of {name!r} of {service!r}, and the "
            f"keyring does not have it. Run: keyring set {service!r} {name!r}"
        )
    return found


def variable_value(variable: str, needed_by: str, environment: Mapping[str, str]) -> str:
    """Return the value of a variable; if it is not set, the error names ``needed_by``."""
    if variable not in environment:
        raise InvalidValue(
            f"{needed_by} needs the variable {variable}, which is not set. Run: "
            f"export {variable}=…"
        )
    return environment[variable]


def read_secret(file: Path, engine: str) -> str:
    """Return the secret in a file, without the end of its line.

    A file that other users may read is refused, and so is a link to another place.
    """
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | NO_LINKS), encoding="utf-8") as opened:
            is_private = not os.fstat(opened.fileno()).st_mode & OTHERS
            secret = opened.read().removesuffix("\n")
    except (OSError, UnicodeDecodeError):
        refusal = InvalidValue(
            f"The engine {engine!r} needs the secret in {SECRETS}/{file.name}, which cannot be "
            "read. Write it there, into a file that only you can read."
        )
    else:
        if is_private:
            return secret
        refusal = InvalidValue(
            f"Other users may read {SECRETS}/{file.name}. Run: chmod 600 {SECRETS}/{file.name}"
        )
    raise refusal


def _keyring_secret(keyring: Any, service: str, name: str) -> str | None:
    try:
        found: str | None = keyring.get_password(service, name)
    except Exception:  # noqa: BLE001 - each operating system has its own kinds of errors
        refusal = InvalidValue(
            "The keyring does not respond. Unlock it, or name a variable instead: "
            'password = "env:PGPASSWORD".'
        )
    else:
        return found
    raise refusal  # outside the handler, so that the keyring's own text is not attached


# ------------------------------------------------------------------ engines
# Engines of a project, opened at their addresses with their secrets.

Engines = Mapping[str, CheckedEngine]
"""Engines by their names in the project file."""


def open_engine(  # noqa: PLR0913 - an address, and the tables and columns to read
    address: EngineAddress,
    tables: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] = os.environ,
    copies: Sequence[str] = (),
    *,
    columns: Sequence[str] | None = None,
    plugins: Plugins = NO_PLUGINS,
) -> CheckedEngine:
    """Open the engine at ``address``, which has ``tables``.

    Paths are relative to the folder of the project file. The files ``copies`` are opened in
    addition, each under its own file name. Of a Parquet file only ``columns`` will be read
    (None means all), and a file with a value in them that cannot be read is refused.
    """
    spec = engine_spec(address.kind, plugins)
    request = OpenRequest(
        address.name,
        path_in(
            folder,
            spec.address,
            address_with_secret(address, spec.address, environment, folder),
        ),
        tuple(tables),
        {name: str(folder / name) for name in copies},
        None if columns is None else tuple(columns),
    )
    return spec.open(request)


def open_engines(
    project: Project,
    folder: Path,
    closing: ExitStack,
    environment: Mapping[str, str] = os.environ,
    *,
    reads: bool = True,
) -> dict[str, CheckedEngine]:
    """Open the engines of ``project``, each with its own tables; ``closing`` closes them.

    With ``reads`` false no column will be read, so that no row is checked.
    """
    engines = {}
    for address in project.engines:
        here = [t for t in project.catalog.tables if t.location.engine == address.name]
        names = [table.location.table[-1] for table in here]
        copies = project.files_of(address.name)
        columns = columns_read(project, address.name) if reads else ()
        engines[address.name] = open_engine(
            address,
            names,
            folder,
            environment,
            copies,
            columns=columns,
            plugins=project.plugins,
        )
        closing.callback(engines[address.name].close)
    return engines


def columns_read(project: Project, engine: str) -> tuple[str, ...]:
    """Return the columns that questions read in the tables of an engine, not in copies."""
    here = [t for t in project.catalog.tables if t.location.engine == engine]
    return tuple(name for table in here if table.copy is None for name in table.schema.names)


def address_with_secret(
    address: EngineAddress,
    rule: AddressRule,
    environment: Mapping[str, str],
    folder: Path = HERE,
) -> str:
    """Return the address with its password, which only the driver may see."""
    if address.password is None:
        return address.address
    return rule.with_secret(
        address.address, secret_of(address.password, address.name, environment, folder)
    )


# ------------------------------------------------------------------ project file
# Read the project file with the address rules of the engines that it names.
#
# `tacit.project` does not know the engines, and `tacit.engines` does not read the project
# file. The functions below connect the two.


def read_project(path: Path) -> Project:
    """Return the project in the file at ``path``; an error names the line of the fault."""
    return read_with_rules(path, address_rule)


def read_project_unloaded(path: Path) -> Project:
    """Return the project in the file at ``path``, for what needs no engine and no plug-in.

    Guarantee: no code of a plug-in is imported, so that an owner can freeze a population, and
    verify and read its ledger, while a plug-in is broken, or was removed.
    """
    return read_with_rules(path, address_rule_unloaded)


def project_of(source: ProjectText) -> Project:
    """Return the project that a text describes."""
    return project_of_with(source, address_rule)


def spec_of(project: Project, address: EngineAddress) -> EngineSpec:
    """Return the spec of one of the project's engines."""
    return engine_spec(address.kind, project.plugins)


def check_plugins(project: Project) -> None:
    """Load the project's plug-ins, so that a failure is reported to its owner at the start.

    Raises:
        InvalidValue: A plug-in is not installed, has another version, or fails to load.
    """
    check_installed(project.plugins)
    load_estimators(project.plugins)
