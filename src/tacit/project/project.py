"""The project file as one value: catalogue, engines, populations and server settings."""

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
from tacit.project.tables import CopyPlace, CopyPlan, dataset_of, place_of, public_of, with_copy

# ------------------------------------------------------------------ server
# Settings of a server: limits, and the issuer of tokens. They are not declared facts.

LIMITS = ("requests_per_minute", "processes", "megabytes", "seconds")


@dataclass(frozen=True, slots=True)
class Issuer:
    """The identity provider that signs the tokens of users (OpenID Connect).

    ``keys`` is the address of its public keys, as a JWKS. The claim named by ``principal``
    has the user's name, and the claim named by ``role`` has the user's role.
    """

    issuer: str
    audience: str
    keys: str
    principal: str = "sub"
    role: str = "tacit_role"


@dataclass(frozen=True, slots=True)
class Serving:
    """The limits of each client and of each worker process, which never depend on the data.

    With a ``deadline`` in seconds, every charged answer is sent at the deadline.
    """

    requests_per_minute: int = 120
    processes: int = 2
    megabytes: int = 8192
    seconds: int = 60
    deadline: float | None = None
    oidc: Issuer | None = None
    on_failure: tuple[str, ...] = ()
    """A command that notifies the owners of a failure, and its first arguments."""


USUAL = Serving()
"""The default settings."""


def serving_of(entry: TomlEntry) -> Serving:
    """Read the section ``[server]``."""
    parts = entry.fields(*LIMITS, "deadline", "oidc", "on_failure")
    limits = {name: parts[name].whole() for name in LIMITS if name in parts}
    for name, limit in limits.items():
        if limit < 1:
            raise parts[name].project_error(f"{name} must be at least 1.")
    deadline = float(parts["deadline"].number()) if "deadline" in parts else None
    if deadline is not None and not 0 < deadline <= limits.get("seconds", USUAL.seconds):
        raise parts["deadline"].project_error(
            "deadline must be above 0, and at most `seconds`."
        )
    oidc = _issuer(parts["oidc"]) if "oidc" in parts else None
    words = parts["on_failure"].items() if "on_failure" in parts else ()
    command = tuple(part.text() for part in words)
    if "on_failure" in parts and not command:
        raise parts["on_failure"].project_error(
            'Name a command: on_failure = ["notify-owner"].'
        )
    return Serving(**limits, deadline=deadline, oidc=oidc, on_failure=command)


def _issuer(entry: TomlEntry) -> Issuer:
    parts = entry.fields("issuer", "audience", "keys", "principal", "role")
    for name in ("issuer", "audience", "keys"):
        entry.part(name)
    if not parts["keys"].text().startswith(("https://", "http://127.0.0.1:")):
        raise parts["keys"].project_error(
            "Keys must be fetched over TLS: write the https:// address of a JWKS."
        )
    return Issuer(**{name: part.text() for name, part in parts.items()})


# ------------------------------------------------------------------ project
# The project file as plain values: a catalogue, its engines, and budgets.

FILE = "tacit.toml"
Table = TypeVar("Table", Dataset, PublicTable)

SECTIONS = ("populations", "engines", "datasets", "public", "store", "server", "plugins")


@dataclass(frozen=True, slots=True)
class Project:
    """The content of a project file. An owner proposes it, and only the ledger is binding."""

    catalog: Catalog
    engines: tuple[EngineAddress, ...]
    people: tuple[PopulationSettings, ...]
    store: EngineAddress | None = None
    """The database of the ledger; None if the ledger is in a folder next to the file."""
    serving: Serving = USUAL
    places: Mapping[str, CopyPlace] = field(default_factory=dict)
    """The places of copies, made or planned, by the names of their tables."""
    outdated: Mapping[str, str] = field(default_factory=dict)
    """Tables whose copy is outdated and is not read, each with the reason."""
    plugins: Plugins = field(default_factory=dict)
    """The plug-ins that may be loaded: distributions, each with its version."""

    def files_of(self, engine: str) -> tuple[str, ...]:
        """Return the files with copies of the tables of ``engine``, each once."""
        copies = [each.copy for each in self.catalog.tables if each.location.engine == engine]
        return tuple(dict.fromkeys(copy.database for copy in copies if copy and copy.database))

    def engine_of(self, table: str) -> EngineAddress:
        """Return the address of a table's engine."""
        name = self.catalog.table(table).location.engine
        [found] = [each for each in self.engines if each.name == name]
        return found

    def copy_plan(self, name: str, place: CopyPlace) -> CopyPlan:
        """Return the plan of a copy: the table, all that it depends on, and its place."""
        table = self.catalog.table(name)
        way = () if self.catalog.is_public(name) else self.catalog.path_to_unit(name)
        linked = self.catalog.linked_columns(name)
        return CopyPlan(replace(table, copy=None), way, self.engine_of(name), place, linked)


def read_project(path: Path, rule_of: RuleOf) -> Project:
    """Return the project in the file at ``path``; an error names the line of the fault.

    ``rule_of`` returns the address rule of each kind of engine.
    """
    return project_of(ProjectText.at(path), rule_of)


def project_of(source: ProjectText, rule_of: RuleOf) -> Project:
    """Return the project that a text describes."""
    try:
        return _project(source.root(), rule_of)
    except Fault as fault:
        refusal = source.refusal(fault)
    raise refusal


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
        _check_known(("datasets", dataset.name, "population"), dataset.population, names)
        if isinstance(dataset.unit, Link):
            _check_known(("datasets", dataset.name, "link"), dataset.unit.parent, names)
    for section, declared in (("datasets", datasets), ("public", tables)):
        for table in declared:
            _check_known((section, table.name, "engine"), table.location.engine, names)
    datasets = tuple(_with_plugin(each, rules) for each in datasets)
    tables = tuple(_with_plugin(each, rules) for each in tables)
    try:
        catalog = Catalog(populations, datasets, tables)
    except TacitError as error:  # the message names the tables
        raise Fault(("datasets",), str(error)) from error
    store = store_of(sections["store"]) if "store" in sections else None
    serving = serving_of(sections["server"]) if "server" in sections else USUAL
    project = Project(catalog, engines, people, store, serving, plugins=plugins)
    return _with_copies(root, project, rules)


def _with_plugin(table: Table, rules: Mapping[str, AddressRule]) -> Table:
    """Return the table with the plug-in that reads it, if its engine is a plug-in's."""
    plugin = rules[table.location.engine].plugin
    if plugin is None:
        return table
    return replace(table, location=replace(table.location, plugin=plugin))


def _with_copies(
    root: TomlEntry, project: Project, rules: Mapping[str, AddressRule]
) -> Project:
    """Return the project with the copies that the file names; outdated ones are listed.

    The copy of a table that is declared in place is not read, and may be outdated.
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
        copied = project.copy_plan(table.name, place)
        why = copied.reason_outdated()
        if why is None:
            changed.append(with_copy(copied, said))
        else:
            outdated[table.name] = why
    changed_catalog = catalog.with_tables(*changed)
    return replace(project, catalog=changed_catalog, places=places, outdated=outdated)


def _can_be_in_place(entry: TomlEntry, rule: AddressRule) -> None:
    """Refuse to serve a table in place if it is not a table of a database."""
    if not rule.in_place:
        raise entry.part("in_place").project_error(
            f"{entry.name!r} is stored in an engine of kind {rule.kind}, whose tables are not "
            "served in place. Remove in_place."
        )


def _check_known(path: tuple[str, str, str], name: str, names: dict[str, list[str]]) -> None:
    """Refuse the name of an engine, population or dataset that is not declared."""
    what = path[-1]
    if name not in names[what]:
        called = "dataset" if what == "link" else what
        raise Fault(
            path, f"There is no {called} {name!r}. The file declares: {', '.join(names[what])}."
        )
