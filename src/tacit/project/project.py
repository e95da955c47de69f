"""The project file as plain values: a catalogue, where it lives, and what may be spent."""

from dataclasses import dataclass
from pathlib import Path

from tacit.core.catalog import Catalog
from tacit.core.dataset import Link
from tacit.errors import TacitError
from tacit.project.copies import told_apart
from tacit.project.engines import EngineAddress, engine_of, store_of
from tacit.project.entry import Entry, Fault
from tacit.project.people import People, people_of
from tacit.project.serving import USUAL, Serving, serving_of
from tacit.project.source import Source
from tacit.project.tables import dataset_of, public_of

FILE = "tacit.toml"
SECTIONS = ("populations", "engines", "datasets", "public", "store", "server")


@dataclass(frozen=True, slots=True)
class Project:
    """What an owner proposes; the ledger decides."""

    catalog: Catalog
    engines: tuple[EngineAddress, ...]
    people: tuple[People, ...]
    store: EngineAddress | None = None
    """Where the ledger is; without one, beside the file."""
    serving: Serving = USUAL

    def files_of(self, engine: str) -> tuple[str, ...]:
        """The files of ordered copies of tables that live in ``engine``, each once."""
        copies = [each.copy for each in self.catalog.datasets if each.location.engine == engine]
        return tuple(dict.fromkeys(copy.database for copy in copies if copy and copy.database))


def read_project(path: Path) -> Project:
    """The project in the file at ``path``; a refusal names the line that it is about."""
    return project_of(Source.at(path))


def project_of(source: Source) -> Project:
    """The project that a text says."""
    try:
        return _project(source.root())
    except Fault as fault:
        told = source.refusal(fault)
    raise told


def _project(root: Entry) -> Project:
    sections = root.fields(*SECTIONS)
    people = tuple(people_of(part) for _, part in root.part("populations").parts())
    engines = tuple(engine_of(part) for _, part in root.part("engines").parts())
    datasets = tuple(dataset_of(part) for _, part in root.part("datasets").parts())
    public = sections["public"].parts() if "public" in sections else ()
    tables = tuple(public_of(part) for _, part in public)
    populations = tuple(each.population for each in people)
    names = {
        "engine": [engine.name for engine in engines],
        "population": [population.name for population in populations],
        "link": [dataset.name for dataset in datasets],
    }
    for dataset in datasets:
        _known(("datasets", dataset.name, "population"), dataset.population, names)
        if isinstance(dataset.unit, Link):
            _known(("datasets", dataset.name, "link"), dataset.unit.parent, names)
    for section, found in (("datasets", datasets), ("public", tables)):
        for table in found:
            _known((section, table.name, "engine"), table.location.engine, names)
    told_apart(datasets)
    try:
        catalog = Catalog(populations, datasets, tables)
    except TacitError as error:  # it names the tables that it is about
        raise Fault(("datasets",), str(error)) from error
    store = store_of(sections["store"]) if "store" in sections else None
    serving = serving_of(sections["server"]) if "server" in sections else USUAL
    return Project(catalog, engines, people, store, serving)


def _known(path: tuple[str, str, str], name: str, names: dict[str, list[str]]) -> None:
    """Refuse a name of what is not declared."""
    what = path[-1]
    if name not in names[what]:
        called = "dataset" if what == "link" else what
        raise Fault(
            path, f"There is no {called} {name!r}; there are: {', '.join(names[what])}."
        )
