"""The first setup of a population: connect a database, declare its tables, and apply.

A `SetupDraft` is what an owner has declared so far, as sections that will be added to the
project file. It is changed by the same functions as `tacit protect`, `domain` and `budget` use
(`tacit.project.declaring`), and it is applied as `tacit apply` does. So the project file that
a browser makes is one that the commands could have made.

Guarantee: a draft only adds an engine, a population and its tables. Sections of other owners
stay as they are. Only an address that the operator allows is connected to, and the password is
in no text but the file of the secret.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tacit.core import Catalog, Column, Kind
from tacit.engines.registry import POSTGRES_SPEC
from tacit.errors import Conflict, InvalidValue, TacitError, UnknownName
from tacit.ledger import ActSigner, Ledger
from tacit.project import (
    DELAY,
    NAME,
    SECRET_FILE,
    SECRETS,
    EngineAddress,
    Project,
    ProjectText,
    RowRules,
    SecretPlace,
    SetupSettings,
    dataset_lines,
    declare_domain,
    engine_lines,
    population_lines,
    protect_dataset,
    set_budget,
)
from tacit.session import found_tables
from tacit.session.changes import Change, changes
from tacit.session.curator import private_folder
from tacit.session.engines import open_engines, project_of
from tacit.session.project import apply_project
from tacit.session.served_time import check_time_rule
from tacit.session.table_checks import check_computed, check_declared, tables_of
from tacit.store import fresh_bytes


@dataclass(frozen=True, slots=True)
class SetupDraft:
    """The declarations so far about a population whose database was connected."""

    owner: str
    population: str
    engine: EngineAddress
    secret: str = field(repr=False)
    tables: tuple[found_tables.FoundTable, ...]
    base: ProjectText = field(repr=False)
    """The project file as it was when the draft began."""
    added: ProjectText
    """The sections that will be added to it."""

    @property
    def final(self) -> ProjectText:
        """The project file with the additions; it never contains the secret."""
        before = self.base.text + ("" if self.base.text.endswith("\n") else "\n")
        return ProjectText(self.base.name, f"{before}\n{self.added.text}", self.base.read)

    @property
    def declared(self) -> Mapping[str, Any]:
        """The sections of the protected tables, by name."""
        found: Mapping[str, Any] = self.added.root().value.get("datasets", {})
        return found

    @property
    def budget(self) -> Mapping[str, Any] | None:
        """The budget as it was declared; None if there is none yet."""
        found: Mapping[str, Any] | None
        found = self.added.root().value["populations"][self.population].get("budget")
        return found

    def table(self, name: str) -> found_tables.FoundTable:
        """Return the table of the database with this name; raise `UnknownName` without one."""
        for each in self.tables:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.tables)
        raise UnknownName(f"There is no table {name!r} in this database; there are: {known}.")

    def protect(self, name: str, rules: RowRules) -> "SetupDraft":
        """Return the draft in which a table has these rules, and is served in place."""
        table, added = self.table(name), self.added
        if table.why is not None:
            raise InvalidValue(table.why)
        if name not in self.declared:
            lines = dataset_lines(self.engine.name, self.population, table.found, name)
            added = replace(added, text="\n".join((added.text, *lines, "")))
        added = protect_dataset(added, name, replace(rules, in_place=True))
        return replace(self, added=added)

    def leave_out(self, name: str) -> "SetupDraft":
        """Return the draft without a table."""
        self.table(name)
        if name not in self.declared:
            return self
        added = self.added.without(("datasets", name))
        if not added.root().value.get("datasets", True):
            added = added.without(("datasets",))
        return replace(self, added=added)

    def declare(
        self,
        name: str,
        column: str,
        found: Mapping[str, Any],
        provenance: str,
        max_total: str | None = None,
    ) -> "SetupDraft":
        """Return the draft in which a column has bounds or keys, with their provenance."""
        added = declare_domain(self.added, name, column, found, provenance, max_total)
        return replace(self, added=added)

    def spend(self, epsilon: str, delta: str | None) -> "SetupDraft":
        """Return the draft with this budget of the population."""
        return replace(self, added=set_budget(self.added, self.population, epsilon, delta))

    def missing(self) -> list[dict[str, str]]:
        """Return what must still be declared: the step, what is missing, and what to do."""
        found = []
        if not self.declared:
            found.append(_step("people", "No table is protected yet.", "Choose its person."))
        for name, section in self.declared.items():
            parent = section.get("link", {}).get("parent")
            if parent is not None and parent not in self.declared:
                what = f"{name} leads to rows of {parent}, which is not protected."
                found.append(_step("people", what, f"Choose the person of {parent}, too."))
        if self.budget is None:
            found.append(_step("budget", "There is no budget yet.", "Choose the odds."))
        if not found:
            try:
                self.project()
            except TacitError as error:
                found.append(_step("people", _without_line(str(error)), "Correct the table."))
        return found

    def advice(self) -> list[dict[str, str]]:
        """Return what may be declared too, and what is refused without it."""
        return [
            _step("bounds", f"{name}.{column} has no {what}.", why)
            for name in self.declared
            for column, what, why in self._open_columns(name)
        ]

    def _open_columns(self, name: str) -> Iterator[tuple[str, str, str]]:
        for column in self.table(name).columns:
            facts = self.declared[name]["columns"].get(column.name)
            what = self.takes(name, column)
            if what is None or (isinstance(facts, dict) and {"bounds", "keys"} & facts.keys()):
                continue
            if what == "keys":
                yield column.name, what, "Answers are not grouped by it for free."
            else:
                yield column.name, what, "Sums and averages of it are refused."

    def takes(self, name: str, column: Column) -> str | None:
        """Return what may be declared of a column of a table: ``keys``, ``bounds`` or nothing.

        Columns that name the person or link tables take nothing, nor does a table left out.
        """
        section = self.declared.get(name)
        if section is None or column.kind is Kind.BOOLEAN:
            return None
        named = {section.get("unit"), (section.get("link") or {}).get("column")}
        linked = {
            each["link"]["parent_column"]
            for each in self.declared.values()
            if each.get("link", {}).get("parent") == name
        }
        if column.name in named | linked:
            return None
        return "keys" if column.kind is Kind.TEXT else "bounds"

    def project(self) -> Project:
        """Return the project that the file with the additions describes.

        Guarantee: everything that the file had before is in it as before.
        """
        before, after = self.base.root().value, self.final.root().value
        own = {
            "engines": {self.engine.name},
            "populations": {self.population},
            "datasets": set(self.declared),
        }
        for section in before.keys() | after.keys():
            was, now = before.get(section, {}), after.get(section, {})
            names = own.get(section, set())
            kept = {name: each for name, each in now.items() if name not in names}
            if kept != was or names & was.keys() or not names <= now.keys():
                raise InvalidValue(f"{self.base.name} cannot be added to. Inform an operator.")
        return project_of(self.final)


def _step(step: str, what: str, after: str) -> dict[str, str]:
    return {"step": step, "what": what, "next": after}


def _without_line(message: str) -> str:
    """Return an error of a project file without the number of its line."""
    head, _, rest = message.partition(": ")
    return rest if head.rpartition(":")[2].isdecimal() else message


# ------------------------------------------------------------------ connect


def connect_database(  # noqa: PLR0913 - a database, whose people it has, and where to declare
    file: Path,
    settings: SetupSettings,
    database: found_tables.DatabasePlace,
    *,
    population: str,
    owner: str,
    ledger: Ledger,
    environment: Mapping[str, str] = os.environ,
) -> SetupDraft:
    """Return a draft for the tables of a database. No row is read, and nothing is written.

    The errors of drivers are replaced by words of ours, because they may contain the password.
    """
    database.check(settings)
    base = ProjectText.at(file)
    _check_population(base, population, ledger)
    found_tables.probe(database.host, database.port)
    secret = SecretPlace(SECRET_FILE, (f"{population}-{fresh_bytes(4).hex()}",))
    engine = EngineAddress(population, POSTGRES_SPEC.kind, database.address, secret)
    tables = found_tables.find_tables(engine, database, base, file.parent, environment)
    lines = [
        *engine_lines(engine, POSTGRES_SPEC.address),
        "",
        *population_lines(population, owner),
        "",
    ]
    added = ProjectText(base.name, "\n".join(lines))
    return SetupDraft(owner, population, engine, database.password, tables, base, added)


def _check_population(base: ProjectText, population: str, ledger: Ledger) -> None:
    """Refuse a name that the file or the ledger has, and a server that delays its answers."""
    if not NAME.fullmatch(population) or len(population) > found_tables.LONGEST_PART:
        raise InvalidValue(
            "The name of the people must have at most 63 letters, digits, dots and dashes, "
            "such as patients."
        )
    root = base.root().value
    known = {*root.get("populations", {}), *root.get("engines", {}), *ledger.populations()}
    if population in known:
        raise InvalidValue(f"There is already something called {population!r}. Choose another.")
    time = project_of(base).serving.time
    if time is not None and time.kind == DELAY:
        raise InvalidValue(
            "This server delays its answers, and no delay hides the plans of PostgreSQL, which "
            'depend on the data. Ask the operator to choose kind = "deadline" in '
            "[server.time]."
        )


# ------------------------------------------------------------------ apply


def plan_draft(
    draft: SetupDraft,
    file: Path,
    ledger: Ledger,
    environment: Mapping[str, str] = os.environ,
) -> tuple[Change, ...]:
    """Return the changes that applying a draft would record; nothing is written.

    Raise an error if the file has changed since the draft began, if the server could not serve
    the tables, or if a change of the same owner would be recorded that is not in the draft.
    """
    if ProjectText.at(file).text != draft.base.text:
        raise _refuse_changed_file(file)
    project = draft.project()
    check_time_rule(project)
    own = tuple(
        found_tables.from_variable(each) if each.name == draft.engine.name else each
        for each in project.engines
    )
    opened = replace(project, engines=own)
    given = {**environment, found_tables.VARIABLE: draft.secret}
    with ExitStack() as closing:
        engines = open_engines(opened, file.parent, closing, given, reads=False)
        mine = {draft.engine.name: engines[draft.engine.name]}
        people = [each for each in project.catalog.populations if each.name == draft.population]
        named = [each for each in project.catalog.datasets if each.name in draft.declared]
        catalog = Catalog(tuple(people), tuple(named))
        check_declared(catalog, mine)
        check_computed(catalog, mine)
        engines[draft.engine.name].check(catalog)
        found = changes(project, ledger, tables_of(project.catalog, engines))
    others = {each.population for each in found if each.population != draft.population}
    if any(
        name in ledger.populations() and draft.owner in ledger.owners(name) for name in others
    ):
        raise InvalidValue(
            f"{file.name} has other changes that are not recorded. Run `tacit apply` first."
        )
    return tuple(each for each in found if each.population == draft.population)


def apply_draft(
    draft: SetupDraft,
    file: Path,
    ledger: Ledger,
    environment: Mapping[str, str] = os.environ,
    signer: ActSigner | None = None,
) -> tuple[Change, ...]:
    """Write the secret and the project file, record the changes, and return them.

    Guarantee: if nothing is recorded, the project file is as it was, and there is no secret.
    """
    plan_draft(draft, file, ledger, environment)
    secret = write_secret(
        file.parent, str(draft.engine.password).partition(":")[2], draft.secret
    )
    final = draft.final
    try:
        _save(final, file)
        return apply_project(file, by=draft.owner, environment=environment, signer=signer)
    except BaseException:
        if draft.population not in ledger.populations():
            with suppress(OSError):
                secret.unlink()
            with suppress(Conflict):  # a file that another wrote stays as it is
                ProjectText(file.name, draft.base.text, final.text).save(file)
        raise


def _save(text: ProjectText, file: Path) -> None:
    """Write the project file, unless another writer was first."""
    try:
        text.save(file)
    except Conflict:
        refusal = _refuse_changed_file(file)
    else:
        return
    raise refusal


def _refuse_changed_file(file: Path) -> InvalidValue:
    return InvalidValue(
        f"{file.name} has changed since this setup began, and nothing was recorded. Download "
        "what you declared, and start the setup again."
    )


def write_secret(folder: Path, name: str, secret: str) -> Path:
    """Write a secret into a new file that only this user can read, and return the file."""
    place = folder / SECRETS
    private_folder(place.parent)
    file = private_folder(place) / name
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8") as new:
            new.write(secret)
            new.flush()
            os.fsync(new.fileno())
    except OSError as error:
        failed = error.strerror
    else:
        return file
    raise InvalidValue(f"The password cannot be stored: {failed}. Nothing was changed.")
