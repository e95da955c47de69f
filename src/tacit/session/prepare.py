"""Validated copies of tables, made by an owner: where each one is stored and how it is made."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from platform import node

from tacit.core import Dataset, keeps_order
from tacit.engines import (
    CopyProgress,
    CopyRule,
    Dialect,
    EngineSpec,
    OwnerRequest,
    Preparation,
    Run,
    drop_abandoned_copies,
    path_in,
)
from tacit.engines.registry import BUILT_IN, NO_PLUGINS, engine_spec
from tacit.errors import Conflict, InvalidValue, TacitError, UnknownName
from tacit.project import (
    ENVIRONMENT,
    MAKING_DIGITS,
    PARTS,
    TEXT_BYTES,
    AddressRule,
    CopyPlace,
    CopyPlan,
    Plugins,
    Project,
    ProjectText,
)
from tacit.session.curator import FOLDER, LedgerFolder, fresh_mark, mark_of, salt_of_table
from tacit.session.engines import address_with_secret, read_project, variable_value


def copy_plan(
    project: Project, name: str, where: str | None = None, parts: int | None = None
) -> CopyPlan:
    """Return the plan of a copy of the table ``name``: the table and the copy's place.

    The place is the one given here, or else that of the project file, or else the default.
    """
    known = [table.name for table in project.catalog.tables]
    if name not in known:
        raise UnknownName(f"There is no table {name!r}. The tables are: {', '.join(known)}.")
    before, kind = project.places.get(name), project.engine_of(name).kind
    table = project.catalog.table(name)
    rule = copy_rule(kind, project.plugins)
    if rule.one_table is not None and parts not in {None, 1}:
        raise InvalidValue(rule.one_table)
    ordered = isinstance(table, Dataset) and keeps_order(table)
    usual = PARTS if ordered and rule.one_table is None else 1
    place = before or CopyPlace(rule.usual, usual)
    place = replace(place, where=where or place.where, parts=parts or place.parts)
    if not rule.fits(place.file):
        raise InvalidValue(
            f"Say where to store the copy of {name!r}, with --where: {rule.words}."
        )
    return project.copy_plan(name, place)


def copy_rule(kind: str, plugins: Plugins) -> CopyRule:
    """Return the rule for copies of an engine kind; refuse a kind that has no copies."""
    rule = engine_spec(kind, plugins).copies
    if rule is None:
        raise _no_copies(kind)
    return rule


def _no_copies(kind: str) -> InvalidValue:
    """Return the error for a kind of engine that cannot make copies of its tables."""
    able = ", ".join(spec.kind for spec in BUILT_IN if spec.copies is not None)
    return InvalidValue(
        f"Copies cannot be made in an engine of kind {kind}. The kinds that can make copies "
        f"are: {able}. Store the table in an engine of one of these kinds."
    )


def preparation(
    copied: CopyPlan, order: str, *notes: str, plugins: Plugins = NO_PLUGINS
) -> Preparation:
    """Return the instructions for a copy whose rows are in the order of a salt.

    ``order`` is the mark (a short hash) of that salt, see `tacit.session.curator.mark_of`.

    The ``notes`` are written into the record that is stored with the copy.
    """
    made = copied.final_place(order)
    return Preparation(
        copied.table,
        made.path,
        _dialect(copied, plugins),
        copied.parts,
        made.mark,
        copied.facts(order),
        made.text_bytes,
        copied.linked,
        notes,
    )


def previous_copy(copied: CopyPlan, plugins: Plugins = NO_PLUGINS) -> Preparation:
    """Return the instructions by which the copy that the project file names was made."""
    place, dialect = copied.place, _dialect(copied, plugins)
    return Preparation(copied.table, place.path, dialect, copied.parts, place.mark)


def _dialect(copied: CopyPlan, plugins: Plugins) -> Dialect:
    dialect = engine_spec(copied.engine.kind, plugins).dialect
    if dialect is None:
        raise _no_copies(copied.engine.kind)
    return dialect


def owner_address(
    said: str | None, environment: Mapping[str, str], rule: AddressRule
) -> str | None:
    """Return the address of a role that may create tables, as ``--by`` gives it.

    ``said`` is ``env:VARIABLE``, a variable with the address, or an address without password.
    """
    if said is None:
        return None
    keeper, _, variable = said.partition(":")
    if keeper == ENVIRONMENT:
        return variable_value(variable, "--by", environment)
    refused = rule.refuse(said, secret=False)
    if refused is not None:
        raise InvalidValue(
            f"{refused} For --by, write env:VARIABLE: the variable has the whole address."
        )
    return said


# ------------------------------------------------------------------ prepare
# Prepare: make a validated copy of a table where its owner wants it, and write its place into
# the project file.


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of tables: the project file, and an address with the right to write.

    ``address`` belongs to a PostgreSQL role that may create tables, or to a Spark server other
    than the one that answers. It is given as ``env:VARIABLE``, or without a password.
    """

    file: Path
    address: str | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def prepare(
        self, name: str, where: str | None = None, parts: int | None = None
    ) -> Iterator[CopyProgress]:
        """Make the copy of the table ``name``, part by part; then drop the previous copy.

        The last step has the number of rows that the copy leaves out, and the tables of the
        previous copy that could not be dropped; the new copy is in use all the same. Tables
        left by interrupted runs of this project file are dropped as well.

        Guarantee: rows are stored in the order of the salt by which sessions of this project
        keep them. The project file names a copy only after the whole copy was made and
        checked. The copy's tables have new names, so that no session can have read them.
        """
        project = read_project(self.file)
        copied = copy_plan(project, name, where, parts)
        _needs_copy(copied)
        today = date.today()  # noqa: DTZ011 - this machine's day
        place = copied.place.for_new_copy(today, fresh_mark(MAKING_DIGITS))
        copied = replace(copied, place=place)
        salt = self._salt(project, name)
        order = mark_of(salt)
        plugins = project.plugins
        spec = engine_spec(copied.engine.kind, plugins)
        making = preparation(copied, order, self._note, plugins=plugins)
        with self._writing(copied, plugins) as run:
            yield from _copy_steps(making, salt, run)
            left_out = making.left_out(run)
            if spec.after_copy is not None:
                tables = (making.copy.record, *making.tables)
                address = copied.engine.address
                for statement in spec.after_copy(address, self.environment, tables):
                    run(statement)
        self._say(copied, copied.final_place(order))
        left: tuple[tuple[str, ...], ...] = ()
        before = project.places.get(name)
        if before is not None and before.epoch is not None:
            old = project.copy_plan(name, before)
            try:
                self._drop_old(old, making.tables, plugins)
            except TacitError:  # another role may have made it; the new copy is in use anyway
                stays = previous_copy(old, plugins)
                left = (stays.copy.record, *stays.tables)
            if before.where != copied.place.where:
                elsewhere = replace(copied.place, where=before.where)
                self._drop_abandoned(replace(copied, place=elsewhere), order, plugins)
        self._drop_abandoned(copied, order, plugins)
        yield CopyProgress(copied.parts, copied.parts, left, left_out)

    def drop(self, name: str) -> bool:
        """Drop the copy of the table ``name``; return whether there was one."""
        project = read_project(self.file)
        place = project.places.get(name)
        copy_plan(project, name)
        if place is None or place.epoch is None:
            return False
        copied = project.copy_plan(name, place)
        self._drop_old(copied, (), project.plugins)
        if place.making is not None and place.order is not None:
            self._drop_abandoned(copied, place.order, project.plugins)
        self._say(copied, CopyPlace(place.where, place.parts, text_bytes=place.text_bytes))
        return True

    def _drop_old(
        self, copied: CopyPlan, kept: tuple[tuple[str, ...], ...], plugins: Plugins
    ) -> None:
        """Drop the copy that the file named, unless its tables are among ``kept``."""
        old = previous_copy(copied, plugins)
        if old.tables[0] not in kept:
            with self._writing(copied, plugins) as run:
                old.drop(run)

    def _drop_abandoned(self, copied: CopyPlan, order: str, plugins: Plugins) -> None:
        """Drop tables left by interrupted runs of this file, if tables may be listed."""
        with suppress(TacitError), self._writing(copied, plugins) as run:
            drop_abandoned_copies(preparation(copied, order, self._note, plugins=plugins), run)

    @property
    def _note(self) -> str:
        """A line in the record of each copy that identifies the project file that made it."""
        place = f"{node()}\n{self.file.resolve()}"
        return f"file: {sha256(place.encode()).hexdigest()[:16]}"

    def _writing(self, copied: CopyPlan, plugins: Plugins) -> AbstractContextManager[Run]:
        """Return a context that runs statements in the table's engine, as its owner."""
        spec = engine_spec(copied.engine.kind, plugins)
        writer = owner_address(self.address, self.environment, spec.address)
        folder, file = self.file.parent, copied.place.file
        return writing(copied, folder, file, spec, self.environment, writer)

    def _salt(self, project: Project, name: str) -> bytes:
        home = LedgerFolder.of(project, self.file.parent / FOLDER, self.environment)
        try:
            return salt_of_table(home.states, project.catalog.table(name))
        finally:
            home.store.close()

    def _say(self, copied: CopyPlan, place: CopyPlace) -> None:
        """Write the place of the copy into the project file; comments stay."""
        said: dict[str, object] = {"where": place.where, "parts": copied.parts}
        if place.text_bytes != TEXT_BYTES:
            said["text_bytes"] = place.text_bytes
        for name in ("epoch", "order", "declaration", "made", "making"):
            if getattr(place, name) is not None:
                said[name] = getattr(place, name)
        section = "datasets" if copied.way else "public"
        while True:
            source = ProjectText.at(self.file).with_value(
                (section, copied.table.name, "copy"), said
            )
            try:
                return source.save(self.file)
            except Conflict:
                continue  # the place of another copy was written at the same time


def _copy_steps(making: Preparation, salt: bytes, run: Run) -> Iterator[CopyProgress]:
    """Make a copy; if this is interrupted, try to drop what was made."""
    try:
        yield from making.steps(salt, run)
    except BaseException:
        with suppress(Exception):  # any engine's error: its transaction may have ended
            making.drop(run)
        raise


def _needs_copy(copied: CopyPlan) -> None:
    """Refuse to copy a table that is declared to be read in place."""
    table = copied.table
    if isinstance(table, Dataset) and table.in_place:
        raise InvalidValue(
            f"{table.name!r} is declared in_place, so a copy of it would not be read, and none "
            "was made. To use a copy, remove in_place from the project file and run `tacit "
            "apply`. To keep in_place, do nothing: no copy is needed."
        )


def writing(  # noqa: PLR0913, PLR0917 - a copy, its place, and who makes it
    copied: CopyPlan,
    folder: Path,
    file: str | None,
    spec: EngineSpec,
    environment: Mapping[str, str],
    writer: str | None = None,
) -> AbstractContextManager[Run]:
    """Return a context that runs statements in a table's engine; ``file`` is for the copy.

    Without a ``file`` the copy is stored in the engine itself.
    """
    if spec.owner is None:
        raise _no_copies(spec.kind)
    address = address_with_secret(copied.engine, spec.address, environment, folder)
    request = OwnerRequest(
        path_in(folder, spec.address, address),
        writer,
        copied.table.location.table,
        copied.table.schema.names,
        copied.place.path,
        copied.place.where,
        None if file is None else str(folder / file),
    )
    return spec.owner(request)
