"""How a server runs, from the project file: limits, and whom it believes; no fact."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tacit.core import Catalog, Dataset, Link, PublicTable
from tacit.errors import TacitError
from tacit.project.document import Fault, ProjectText, TomlEntry
from tacit.project.engines import (
    AddressRule,
    EngineAddress,
    Plugins,
    RuleOf,
    engine_of,
    plugins_of,
    store_of,
)
from tacit.project.populations import PopulationSettings, people_of
from tacit.project.tables import Copied, CopyPlace, dataset_of, place_of, public_of, with_copy

LIMITS = ("requests_per_minute", "processes", "megabytes", "seconds")


@dataclass(frozen=True, slots=True)
class Issuer:
    """Whoever signs the tokens of people (OpenID Connect).

    ``keys`` is the address of its public keys, as a JWKS. The claim ``principal`` names who
    somebody is, and ``role`` what they are here for.
    """

    issuer: str
    audience: str
    keys: str
    principal: str = "sub"
    role: str = "tacit_role"


@dataclass(frozen=True, slots=True)
class Serving:
    """What each caller, and each question below the line, may use: the same for all data.

    Where there is a ``deadline`` in seconds, every answer that is paid for leaves then.
    """

    requests_per_minute: int = 120
    processes: int = 2
    megabytes: int = 8192
    seconds: int = 60
    deadline: float | None = None
    oidc: Issuer | None = None
    on_failure: tuple[str, ...] = ()
    """A command that tells the owners of a failure, and its first arguments."""


USUAL = Serving()
"""What holds where the file says nothing."""


def serving_of(entry: TomlEntry) -> Serving:
    """The section ``[server]``."""
    parts = entry.fields(*LIMITS, "deadline", "oidc", "on_failure")
    limits = {name: parts[name].whole() for name in LIMITS if name in parts}
    for name, limit in limits.items():
        if limit < 1:
            raise parts[name].fault(f"{name} is at least 1.")
    deadline = float(parts["deadline"].number()) if "deadline" in parts else None
    if deadline is not None and not 0 < deadline <= limits.get("seconds", USUAL.seconds):
        raise parts["deadline"].fault("deadline is above 0, and at most `seconds`.")
    oidc = _issuer(parts["oidc"]) if "oidc" in parts else None
    told = parts["on_failure"].items() if "on_failure" in parts else ()
    command = tuple(part.text() for part in told)
    if "on_failure" in parts and not command:
        raise parts["on_failure"].fault('Name a command: on_failure = ["notify-owner"].')
    return Serving(**limits, deadline=deadline, oidc=oidc, on_failure=command)


def _issuer(entry: TomlEntry) -> Issuer:
    parts = entry.fields("issuer", "audience", "keys", "principal", "role")
    for name in ("issuer", "audience", "keys"):
        entry.part(name)
    if not parts["keys"].text().startswith(("https://", "http://127.0.0.1:")):
        raise parts["keys"].fault("Keys are fetched over TLS: https://…, a JWKS.")
    return Issuer(**{name: part.text() for name, part in parts.items()})


# ------------------------------------------------------------------ project
# The project file as plain values: a catalogue, where it lives, and what may be spent.

FILE = "tacit.toml"
Table = TypeVar("Table", Dataset, PublicTable)

SECTIONS = ("populations", "engines", "datasets", "public", "store", "server", "plugins")


@dataclass(frozen=True, slots=True)
class Project:
    """What an owner proposes; the ledger decides."""

    catalog: Catalog
    engines: tuple[EngineAddress, ...]
    people: tuple[PopulationSettings, ...]
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
    return project_of(ProjectText.at(path), rule_of)


def project_of(source: ProjectText, rule_of: RuleOf) -> Project:
    """The project that a text says."""
    try:
        return _project(source.root(), rule_of)
    except Fault as fault:
        told = source.refusal(fault)
    raise told


def _project(root: TomlEntry, rule_of: RuleOf) -> Project:
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


def _with_copies(
    root: TomlEntry, project: Project, rules: Mapping[str, AddressRule]
) -> Project:
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


def _can_be_in_place(entry: TomlEntry, rule: AddressRule) -> None:
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
