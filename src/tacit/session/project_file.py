"""Read the project file with the rules of the engines that it names.

`tacit.project` knows no engine, and `tacit.engines` reads no file: here they meet.
"""

from pathlib import Path

from tacit.engines.engine_spec import EngineSpec
from tacit.engines.registry import address_rule, engine_spec
from tacit.extras import check_installed
from tacit.ml.registry import load_estimators
from tacit.project import project as files
from tacit.project.engines import EngineAddress
from tacit.project.project import Project
from tacit.project.source import Source


def read_project(path: Path) -> Project:
    """Return the project in the file at ``path``; a refusal names the line that it is about."""
    return files.read_project(path, address_rule)


def project_of(source: Source) -> Project:
    """Return the project that a text says."""
    return files.project_of(source, address_rule)


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
