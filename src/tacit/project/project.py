"""The project file as plain values: a catalogue, where it lives, and what may be spent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset, Link
from tacit.core.public_table import PublicTable
from tacit.errors import TacitError
from tacit.project.address import AddressRule, Plugins, RuleOf, plugins_of
from tacit.project.copies import Copied, CopyPlace, place_of, with_copy
from tacit.project.engines import EngineAddress, engine_of, store_of
from tacit.project.entry import Entry, Fault
from tacit.project.people import People, people_of
from tacit.project.serving import USUAL, Serving, serving_of
from tacit.project.source import Source
from tacit.project.tables import dataset_of, public_of

FILE = "tacit.toml"
Table = TypeVar("Table", Dataset, PublicTable)

SECTIONS = ("populations", "engines", "datasets", "public", "store", "server", "plugins")


@dataclass(frozen=True, slots=True)
class Project:
    """What an owner proposes; the ledger decides."""

    catalog: Catalog
    engines: tuple[EngineAddress, ...]
    people: tuple[People, ...]
    store: EngineAddress | None = None
    """Where the ledger is; without one, beside the file."""
    serving: Serving = USUAL
    places: Mapping[str, CopyPlace] = field(default_factory=dict)
    """Where the file says that copies lie or shall lie, by the names of their tables."""
    outdated: Mapping[str, str] = field(default_factory=dict)
    """Why a copy that the file speaks of is not read, by the name of its table."""
    plugins: Plugins = field(default_factory=dict)
    """Plug-ins that may be loaded: distributions, each with its version."""

    def files_of(self, engine: str) -> tuple[str, ...]:
        """The files of copies of tables that live in ``engine``, each once."""
        copies = [each.copy for each in self.catalog.tables if each.location.engine == engine]
        return tuple(dict.fromkeys(copy.database for copy in copies if copy and copy.database))

    def engine_of(self, table: str) -> EngineAddress:
        """The engine that a table lives in."""
        name = self.catalog.table(table).location.engine
        [found] = [each for each in self.engines if each.name == name]
        return found

    def copied(self, name: str, place: CopyPlace) -> Copied:
        """A table, all that a copy of it depends on, and where the copy lies."""
        table = self.catalog.table(name)
        way = () if self.catalog.is_public(name) else self.catalog.path_to_unit(name)
        linked = self.catalog.linked_columns(name)
        return Copied(replace(table, copy=None), way, self.engine_of(name), place, linked)


def read_project(path: Path, rule_of: RuleOf) -> Project:
    """The project in the file at ``path``; a refusal names the line that it is about.

    ``rule_of`` knows how each kind of engine is addressed.
    """
    return project_of(Source.at(path), rule_of)


def project_of(source: Source, rule_of: RuleOf) -> Project:
    """The project that a text says."""
    try:
        return _project(source.root(), rule_of)
    except Fault as fault:
        told = source.refusal(fault)
    raise told


def _project(root: Entry, rule_of: RuleOf) -> Project:
    sections = root.fields(*SECTIONS)
    people = tuple(people_of(part) for _, part in root.part("populations").parts())
    plugins = plugins_of(sections["plugins"]) if "plugins" in sections else {}
    found = [engine_of(part, rule_of, plugins) for _, part in root.part("engines").parts()]
    engines = tuple(engine for engine, _ in found)
    rules = {engine.name: rule for engine, rule in found}
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
    for section, declared in (("datasets", datasets), ("public", tables)):
        for table in declared:
            _known((section, table.name, "engine"), table.location.engine, names)
    datasets = tuple(_located(each, rules) for each in datasets)
    tables = tuple(_located(each, rules) for each in tables)
    try:
        catalog = Catalog(populations, datasets, tables)
    except TacitError as error:  # it names the tables that it is about
        raise Fault(("datasets",), str(error)) from error
    store = store_of(sections["store"]) if "store" in sections else None
    serving = serving_of(sections["server"]) if "server" in sections else USUAL
    project = Project(catalog, engines, people, store, serving, plugins=plugins)
    return _with_copies(root, project, rules)


def _located(table: Table, rules: Mapping[str, AddressRule]) -> Table:
    """A table that says which plug-in reads it, where one does."""
    plugin = rules[table.location.engine].plugin
    if plugin is None:
        return table
    return replace(table, location=replace(table.location, plugin=plugin))


def _with_copies(root: Entry, project: Project, rules: Mapping[str, AddressRule]) -> Project:
    """The project, whose tables have the copies that the file says were made of them.

    A copy of a table that is declared in place is not read, and need not be of now.
    """
    catalog, places, outdated = project.catalog, {}, {}
    changed = []
    for table in catalog.tables:
        section = "datasets" if isinstance(table, Dataset) else "public"
        entry = root.part(section).part(table.name)
        in_place = isinstance(table, Dataset) and table.in_place
        if in_place:
            _can_be_in_place(entry, rules[table.location.engine])
        if "copy" not in dict(entry.parts()):
            continue
        said = entry.part("copy")
        place = places[table.name] = place_of(said)
        if place.epoch is None or in_place:
            continue
        copied = project.copied(table.name, place)
        why = copied.outdated()
        if why is None:
            changed.append(with_copy(copied, said))
        else:
            outdated[table.name] = why
    changed_catalog = catalog.with_tables(*changed)
    return replace(project, catalog=changed_catalog, places=places, outdated=outdated)


def _can_be_in_place(entry: Entry, rule: AddressRule) -> None:
    """Refuse to serve in place what is no table of a database."""
    if not rule.in_place:
        raise entry.part("in_place").fault(
            f"{entry.name!r} lives in an engine of kind {rule.kind}, whose tables are not "
            "served in place; take in_place out."
        )


def _known(path: tuple[str, str, str], name: str, names: dict[str, list[str]]) -> None:
    """Refuse a name of what is not declared."""
    what = path[-1]
    if name not in names[what]:
        called = "dataset" if what == "link" else what
        raise Fault(
            path, f"There is no {called} {name!r}; there are: {', '.join(names[what])}."
        )
