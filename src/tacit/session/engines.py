"""Engines of a project: opened where their addresses say, with the secrets that are kept."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tacit.engines.engine import CheckedEngine
from tacit.engines.engine_spec import OpenRequest, path_in
from tacit.engines.registry import NO_PLUGINS, engine_spec
from tacit.project.address import AddressRule, Plugins
from tacit.project.engines import EngineAddress
from tacit.project.project import Project
from tacit.session.secret import revealed

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
