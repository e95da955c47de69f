"""A secret from where it is kept: for a driver, and for no text of ours."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tacit.engines import CheckedEngine, EngineSpec, OpenRequest, path_in
from tacit.engines.registry import NO_PLUGINS, address_rule, engine_spec
from tacit.errors import InvalidValue
from tacit.extras import check_installed, load
from tacit.ml.registry import load_estimators
from tacit.project import (
    ENVIRONMENT,
    AddressRule,
    EngineAddress,
    Plugins,
    Project,
    ProjectText,
    SecretPlace,
)
from tacit.project import project_of as project_of_with
from tacit.project import read_project as read_with_rules


def revealed(place: SecretPlace, engine: str, environment: Mapping[str, str]) -> str:
    """The secret of ``engine``; where it is not kept, the refusal says how it comes there."""
    if place.keeper == ENVIRONMENT:
        (variable,) = place.path
        return held(variable, f"The engine {engine!r}", environment)
    service, name = place.path
    found = _kept(load("keyring", extra="keyring"), service, name)
    if found is None:
        raise InvalidValue(
            f"The engine {engine!r} wants what the keyring holds for {name!r} of {service!r}, "
            f"and it holds nothing: keyring set {service!r} {name!r}"
        )
    return found


def held(variable: str, wanting: str, environment: Mapping[str, str]) -> str:
    """What a variable holds; where it is not set, the refusal says what is ``wanting`` it."""
    if variable not in environment:
        raise InvalidValue(
            f"{wanting} wants the variable {variable}, which is not set: export {variable}=…"
        )
    return environment[variable]


def _kept(keyring: Any, service: str, name: str) -> str | None:
    try:
        found: str | None = keyring.get_password(service, name)
    except Exception:  # noqa: BLE001 - every system has its own
        told = InvalidValue(
            "The keyring does not answer: unlock it, or name a variable in its place, "
            'password = "env:PGPASSWORD".'
        )
    else:
        return found
    raise told


# ------------------------------------------------------------------ engines
# Engines of a project: opened where their addresses say, with the secrets that are kept.

Engines = Mapping[str, CheckedEngine]
"""Engines by the names that the project file gives them."""


def opened(  # noqa: PLR0913 - an address, and what of it will be read
    address: EngineAddress,
    tables: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] = os.environ,
    copies: Sequence[str] = (),
    *,
    columns: Sequence[str] | None = None,
    plugins: Plugins = NO_PLUGINS,
) -> CheckedEngine:
    """The engine at ``address``, where ``tables`` live; paths begin at the project file.

    Files of ``copies`` are read beside it, each called by its own name. Of a Parquet file the
    ``columns`` alone will be read (all, where none are named), and every value of theirs can
    be, or the file is refused.
    """
    spec = engine_spec(address.kind, plugins)
    request = OpenRequest(
        address.name,
        path_in(folder, spec.address, addressed(address, spec.address, environment)),
        tuple(tables),
        {name: str(folder / name) for name in copies},
        None if columns is None else tuple(columns),
    )
    return spec.open(request)


def all_opened(
    project: Project,
    folder: Path,
    closing: ExitStack,
    environment: Mapping[str, str] = os.environ,
    *,
    reads: bool = True,
) -> dict[str, CheckedEngine]:
    """The engines of ``project`` by name, each with its own tables; ``closing`` ends them.

    Where nobody ``reads`` a row, none is looked at.
    """
    engines = {}
    for address in project.engines:
        here = [t for t in project.catalog.tables if t.location.engine == address.name]
        names = [table.location.table[-1] for table in here]
        copies = project.files_of(address.name)
        columns = columns_read(project, address.name) if reads else ()
        engines[address.name] = opened(
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
    """The columns that questions read where the tables of an engine are, and not in copies."""
    here = [t for t in project.catalog.tables if t.location.engine == engine]
    return tuple(name for table in here if table.copy is None for name in table.schema.names)


def addressed(address: EngineAddress, rule: AddressRule, environment: Mapping[str, str]) -> str:
    """The address with its password: for the driver, and nobody else."""
    if address.password is None:
        return address.address
    return rule.with_secret(
        address.address, revealed(address.password, address.name, environment)
    )


# ------------------------------------------------------------------ project file
# Read the project file with the rules of the engines that it names.
#
# `tacit.project` knows no engine, and `tacit.engines` reads no file: here they meet.


def read_project(path: Path) -> Project:
    """Return the project in the file at ``path``; a refusal names the line that it is about."""
    return read_with_rules(path, address_rule)


def project_of(source: ProjectText) -> Project:
    """Return the project that a text says."""
    return project_of_with(source, address_rule)


def spec_of(project: Project, address: EngineAddress) -> EngineSpec:
    """Return the spec of one of the project's engines."""
    return engine_spec(address.kind, project.plugins)


def check_plugins(project: Project) -> None:
    """Load what the project's plug-ins bring, so that a failure is its owner's.

    Raises:
        InvalidValue: One is not installed, has another version, or fails when it is loaded.
    """
    check_installed(project.plugins)
    load_estimators(project.plugins)
