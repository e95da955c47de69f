"""The project file as one value: catalogue, engines, populations and server settings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

from tacit.core import Catalog, Dataset, Link, PublicTable
from tacit.errors import TacitError
from tacit.project.anchors import AnchorSettings, anchors_of
from tacit.project.console import ConsoleSettings, console_of
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
from tacit.project.grants import Grant, check_grants, claim_path, grants_of
from tacit.project.populations import PopulationSettings, people_of
from tacit.project.server_time import (
    DEADLINE,
    MOST_PLACES,
    ServerTime,
    deadline_of,
    server_time_of,
)
from tacit.project.tables import CopyPlace, CopyPlan, dataset_of, place_of, public_of, with_copy

# ------------------------------------------------------------------ server
# Settings of a server: limits, and the issuer of tokens. They are not declared facts.

LAST_PORT = 65_535
LARGEST_LIMITS = {
    "requests_per_minute": 1_000_000_000,
    "processes": MOST_PLACES,
    "megabytes": 16_777_216,
    "seconds": 86_400,
}
"""The largest value of each limit: 16 TiB of memory, and a day. More is most likely a slip, and
far more is a number that the operating system does not take."""

MOST_REQUESTS = 1_000_000
"""The largest number of questions or connections at a time that can be allowed."""

HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9a-fA-F:]+")
"""A name or an address of one host, without anything that a driver would read in it."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """The identity provider that signs the tokens of users (OpenID Connect).

    ``keys`` is the address of its public keys, as a JWKS. The claim named by ``principal``
    has the user's name. With ``grants``, the claim at ``groups`` lists the user's groups, which
    decide everything else. Without, the claims named by ``role``, ``datasets`` and ``most`` do.
    """

    issuer: str
    audience: str
    keys: str
    principal: str = "sub"
    role: str = "tacit_role"
    datasets: str = "tacit_datasets"
    most: str = "tacit_most"
    groups: tuple[str, ...] = ("groups",)
    grants: tuple[Grant, ...] = ()
    longest_hours: int = 24
    """Tokens that are valid for longer than this are refused."""


@dataclass(frozen=True, slots=True)
class Notify:
    """The ways to notify owners of locks, freezes, proposals and requests.

    ``command`` is run with three more arguments: what happened, the population, and the number
    of the entry. ``webhook`` is an address, or ``env:NAME`` for one in the environment.
    """

    command: tuple[str, ...] = ()
    webhook: str | None = None


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of a server: numbers of questions that are not answered yet, and of connections.

    A question beyond a limit is refused before it is charged, and can be sent again.
    """

    questions: int = 512
    """Questions in all."""
    questions_of_principal: int = 100
    """Questions of one principal."""
    questions_of_population: int = 256
    """Questions about one population."""
    connections: int = 1000
    """Open connections of clients."""


NUMBERS = tuple(field.name for field in fields(RequestLimits))


@dataclass(frozen=True, slots=True)
class SetupSettings:
    """The settings of the first setup over HTTP, which the operator writes.

    ``allow`` are the hosts and ports of databases that may be connected, as literal texts:
    nothing else is ever connected to. ``owners`` are the principals who may do so when they
    sign in at the identity provider.
    """

    allow: tuple[tuple[str, int], ...]
    owners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Serving:
    """The limits of each client and of each worker process, which never depend on the data.

    With a ``deadline`` in seconds, every charged answer is sent at the deadline. ``time`` is
    the rule for the time of answers; a server does not start without it.
    """

    requests_per_minute: int = 120
    processes: int = 2
    megabytes: int = 8192
    seconds: int = 60
    deadline: float | None = None
    oidc: Issuer | None = None
    on_failure: tuple[str, ...] = ()
    """A command that notifies the owners of a failure, and its first arguments."""
    notify: Notify = Notify()
    time: ServerTime | None = None
    operators: tuple[str, int] | None = None
    """The host and port of the metrics for operators; None if there is no such port."""
    console: ConsoleSettings = field(default_factory=ConsoleSettings)
    limits: RequestLimits = field(default_factory=RequestLimits)
    """The most questions and connections at a time."""
    setup: SetupSettings | None = None
    """The databases that owners may connect over HTTP; None if they may not."""

    @property
    def places(self) -> int:
        """The number of worker processes of each engine.

        With a delay a worker is idle while its answer waits, so that there may be many more
        workers than cores.
        """
        time = self.time
        return self.processes if time is None or time.places is None else time.places


USUAL = Serving()
"""The default settings."""


def serving_of(entry: TomlEntry) -> Serving:
    """Read the section ``[server]``."""
    others = (
        "deadline",
        "oidc",
        "on_failure",
        "notify",
        "time",
        "operators",
        "limits",
        "setup",
    )
    parts = entry.fields(*LARGEST_LIMITS, *others, BEYOND, "console")
    limits = _whole_numbers(parts, LARGEST_LIMITS)
    time = _time(parts, limits.get("seconds", USUAL.seconds))
    deadline = time.deadline if time is not None and time.kind == DEADLINE else None
    oidc = _issuer(parts["oidc"]) if "oidc" in parts else None
    audience = None if oidc is None else oidc.audience
    console = (
        console_of(parts["console"], audience) if "console" in parts else ConsoleSettings()
    )
    command = _command(parts["on_failure"]) if "on_failure" in parts else ()
    notify = _notify(parts["notify"]) if "notify" in parts else Notify()
    requests = parts["limits"].fields(*NUMBERS) if "limits" in parts else {}
    return Serving(
        **limits,
        deadline=deadline,
        oidc=oidc,
        console=console,
        on_failure=command,
        notify=notify,
        time=time,
        operators=_operators(parts),
        limits=RequestLimits(**_whole_numbers(requests, dict.fromkeys(NUMBERS, MOST_REQUESTS))),
        setup=_setup(parts["setup"]) if "setup" in parts else None,
    )


BEYOND = "operators_beyond_loopback"
"""The setting that allows an address of the operators' port that others can reach."""


def _operators(parts: Mapping[str, TomlEntry]) -> tuple[str, int] | None:
    """Read the address of the operators' port, which asks for no token.

    An address that is not loopback is refused unless the file says that it is meant.
    """
    beyond = BEYOND in parts and parts[BEYOND].truth()
    if "operators" not in parts:
        if beyond:
            raise parts[BEYOND].project_error(
                'There is no port of operators. Write its address: operators = "10.0.0.5:9464".'
            )
        return None
    host, port = _address(parts["operators"])
    if not beyond and not _is_loopback(host):
        raise parts["operators"].project_error(
            f"The operators' port asks for no token, and {host!r} is not a loopback address: "
            "anyone who reaches it learns the engine times that delays hide. Write an address "
            'such as "127.0.0.1:9464". If only operators can reach this one, write '
            f"{BEYOND} = true next to it."
        )
    return host, port


def _is_loopback(host: str) -> bool:
    """Return whether only programs of the same machine reach a listener at ``host``."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name, which may mean any address
        return False


def _setup(entry: TomlEntry) -> SetupSettings:
    parts = entry.fields("allow", "owners")
    allow = tuple(
        _address(TomlEntry(each.value, (*entry.path, "allow")))
        for each in entry.part("allow").items('["127.0.0.1:5432"]')
    )
    for host, port in allow:
        if not HOST.fullmatch(host) or not port:
            raise parts["allow"].project_error(
                'Name each database by one host and its port: allow = ["db.internal:5432"].'
            )
    owners = parts["owners"].items('["olga"]') if "owners" in parts else []
    return SetupSettings(allow, tuple(owner.text() for owner in owners))


def _address(entry: TomlEntry) -> tuple[str, int]:
    """Read a host and a port, such as ``127.0.0.1:9464`` or ``[::1]:9464``."""
    host, _, port = entry.text().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    is_port = port.isascii() and port.isdecimal() and int(port) <= LAST_PORT
    if not host or not is_port:
        raise entry.project_error(f'Write a host and a port: {entry.name} = "127.0.0.1:9464".')
    return host, int(port)


def _command(entry: TomlEntry) -> tuple[str, ...]:
    words = tuple(part.text() for part in entry.items('["notify-owner"]'))
    if not words:
        raise entry.project_error(f'Name a command: {entry.name} = ["notify-owner"].')
    return words


def _notify(entry: TomlEntry) -> Notify:
    parts = entry.fields("command", "webhook")
    if not parts:
        raise entry.project_error("Name a command or a webhook that notifies the owners.")
    webhook = parts["webhook"].text() if "webhook" in parts else None
    if webhook is not None and not webhook.startswith(
        ("https://", "http://127.0.0.1:", "env:")
    ):
        raise parts["webhook"].project_error(
            "Owners are notified over TLS: write an https:// address, or env:NAME for one that "
            "is in the environment of the server."
        )
    return Notify(_command(parts["command"]) if "command" in parts else (), webhook)


def _time(parts: dict[str, TomlEntry], seconds: int) -> ServerTime | None:
    """Read the rule for the time of answers, which ``[server] deadline`` says in short."""
    if "deadline" not in parts:
        return server_time_of(parts["time"], seconds) if "time" in parts else None
    if "time" in parts:
        raise parts["deadline"].project_error(
            "Write the deadline in [server.time], which the file has too."
        )
    return ServerTime(
        DEADLINE, deadline=deadline_of(parts["deadline"], seconds), seconds=seconds
    )


def _whole_numbers(
    parts: Mapping[str, TomlEntry], largest: Mapping[str, int]
) -> dict[str, int]:
    """Return the settings that the file has, each from 1 to its ``largest`` value."""
    found = {name: parts[name].whole() for name in largest if name in parts}
    for name, number in found.items():
        if not 1 <= number <= largest[name]:
            raise parts[name].project_error(f"{name} must be from 1 to {largest[name]:,}.")
    return found


def _issuer(entry: TomlEntry) -> Issuer:
    texts = ("issuer", "audience", "keys", "principal", "role", "datasets", "most")
    parts = entry.fields(*texts, "groups", "grants", "longest_hours")
    for name in ("issuer", "audience", "keys"):
        entry.part(name)
    if not parts["keys"].text().startswith(("https://", "http://127.0.0.1:")):
        raise parts["keys"].project_error(
            "Keys must be fetched over TLS: write the https:// address of a JWKS."
        )
    said: dict[str, Any] = {name: parts[name].text() for name in texts if name in parts}
    for name in ("role", "datasets", "most"):
        if name in parts and "grants" in parts:
            raise parts[name].project_error(
                f"Leave out {name}: where there are grants, only groups give access."
            )
    if "groups" in parts and "grants" not in parts:
        raise parts["groups"].project_error(
            "Groups give access by grants, and there is none: add a section "
            "[server.oidc.grants.NAME] for a group of the provider."
        )
    if "groups" in parts:
        said["groups"] = claim_path(parts["groups"])
    if "grants" in parts:
        said["grants"] = grants_of(parts["grants"])
    said |= _whole_numbers(parts, {"longest_hours": 24 * 365})
    return Issuer(**said)


# ------------------------------------------------------------------ project
# The project file as plain values: a catalogue, its engines, and budgets.

FILE = "tacit.toml"
Table = TypeVar("Table", Dataset, PublicTable)

SECTIONS = (
    "populations",
    "engines",
    "datasets",
    "public",
    "store",
    "anchors",
    "server",
    "plugins",
)


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
    anchors: AnchorSettings | None = None
    """The place of the ledger's anchors; None if the file does not name one."""

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
    if serving.oidc is not None:
        check_grants(serving.oidc.grants, names["link"])
    anchors = anchors_of(sections["anchors"]) if "anchors" in sections else None
    project = Project(
        catalog, engines, people, store, serving, plugins=plugins, anchors=anchors
    )
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
