"""Loads a module from a file that no package holds, such as an example of the pages."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def load_file(path: Path, name: str | None = None) -> ModuleType:
    """Return the module of the file ``path``, which is named ``name`` or as the file."""
    spec = spec_from_file_location(name or path.stem, path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
