"""What is to be copied, where to, and by whom: from the project file and the owner's words."""

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
from tacit.engines.registry import NO_PLUGINS, engine_spec
from tacit.errors import Conflict, InvalidValue, TacitError, UnknownName
from tacit.project import (
    ENVIRONMENT,
    MAKING_DIGITS,
    PARTS,
    TEXT_BYTES,
    AddressRule,
    Copied,
    CopyPlace,
    Plugins,
    Project,
    ProjectText,
)
from tacit.session.curator import FOLDER, LedgerFolder, fresh_mark, mark_of, salt_of_table
from tacit.session.engines import addressed, held, read_project


def to_copy(
    project: Project, name: str, where: str | None = None, parts: int | None = None
) -> Copied:
    """The table ``name`` of a project, and where its copy shall lie.

    That is where the owner says now, or where the file says, or the usual place.
    """
    known = [table.name for table in project.catalog.tables]
    if name not in known:
        raise UnknownName(f"There is no table {name!r}; there are: {', '.join(known)}.")
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
            f"Say where the copy of {name!r} shall lie, by --where: {rule.words}."
        )
    return project.copied(name, place)


def copy_rule(kind: str, plugins: Plugins) -> CopyRule:
    """Where copies of tables of an engine lie; refused for an engine that has none."""
    rule = engine_spec(kind, plugins).copies
    if rule is None:
        raise InvalidValue(f"Copies cannot be made in an engine of kind {kind}.")
    return rule


def preparation(
    copied: Copied, order: str, *notes: str, plugins: Plugins = NO_PLUGINS
) -> Preparation:
    """How a copy is made by the ledger whose salt has the mark ``order``.

    The ``notes`` on its making are written beside it.
    """
    made = copied.made(order)
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


def made_before(copied: Copied, plugins: Plugins = NO_PLUGINS) -> Preparation:
    """The same of the copy that the project file speaks of, whatever it was made by."""
    place, dialect = copied.place, _dialect(copied, plugins)
    return Preparation(copied.table, place.path, dialect, copied.parts, place.mark)


def _dialect(copied: Copied, plugins: Plugins) -> Dialect:
    dialect = engine_spec(copied.engine.kind, plugins).dialect
    if dialect is None:
        raise InvalidValue(f"An engine of kind {copied.engine.kind} prints no SQL.")
    return dialect


def owner_address(
    said: str | None, environment: Mapping[str, str], rule: AddressRule
) -> str | None:
    """The address of whoever may create tables: from a variable, or without a password."""
    if said is None:
        return None
    keeper, _, variable = said.partition(":")
    if keeper == ENVIRONMENT:
        return held(variable, "--by", environment)
    refused = rule.refuse(said, secret=False)
    if refused is not None:
        raise InvalidValue(f"{refused} For --by: env:VARIABLE holds the whole address.")
    return said


# ------------------------------------------------------------------ prepare
# Prepare: a validated copy of a table, where its owner says, and the project file says so.


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose tables they are: the project file, and what may write where they live.

    An ``address`` is that of a PostgreSQL role that may create tables, or of another Spark than
    the one that is asked; it is named as ``env:VARIABLE``, or written without a password.
    """

    file: Path
    address: str | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def prepare(
        self, name: str, where: str | None = None, parts: int | None = None
    ) -> Iterator[CopyProgress]:
        """Make the copy of the table ``name``, part by part; then the one before is dropped.

        The last step counts the rows that the copy leaves out, and names what of the copy
        before could not be dropped: the new one is in use. Tables that are left of makings of
        this project file which were ended in the midst of it are dropped as well.

        Guarantee: rows lie in the order of the salt by which sessions of this project keep
        them; the file speaks of a copy only once all of it is there and was looked at; and its
        tables have names that no table had before, so that nobody can have read them.
        """
        project = read_project(self.file)
        copied = to_copy(project, name, where, parts)
        _needs_copy(copied)
        today = date.today()  # noqa: DTZ011 - this machine's day
        place = copied.place.anew(today, fresh_mark(MAKING_DIGITS))
        copied = replace(copied, place=place)
        salt = self._salt(project, name)
        order = mark_of(salt)
        plugins = project.plugins
        spec = engine_spec(copied.engine.kind, plugins)
        making = preparation(copied, order, self._note, plugins=plugins)
        with self._writing(copied, plugins) as run:
            yield from _made(making, salt, run)
            left_out = making.left_out(run)
            if spec.after_copy is not None:
                tables = (making.copy.record, *making.tables)
                address = copied.engine.address
                for statement in spec.after_copy(address, self.environment, tables):
                    run(statement)
        self._say(copied, copied.made(order))
        left: tuple[tuple[str, ...], ...] = ()
        before = project.places.get(name)
        if before is not None and before.epoch is not None:
            old = project.copied(name, before)
            try:
                self._drop_old(old, making.tables, plugins)
            except TacitError:  # another role may have made it; the new one is in use
                stays = made_before(old, plugins)
                left = (stays.copy.record, *stays.tables)
            if before.where != copied.place.where:
                elsewhere = replace(copied.place, where=before.where)
                self._drop_left(replace(copied, place=elsewhere), order, plugins)
        self._drop_left(copied, order, plugins)
        yield CopyProgress(copied.parts, copied.parts, left, left_out)

    def drop(self, name: str) -> bool:
        """Drop the copy of the table ``name``; whether there was one."""
        project = read_project(self.file)
        place = project.places.get(name)
        to_copy(project, name)
        if place is None or place.epoch is None:
            return False
        copied = project.copied(name, place)
        self._drop_old(copied, (), project.plugins)
        if place.making is not None and place.order is not None:
            self._drop_left(copied, place.order, project.plugins)
        self._say(copied, CopyPlace(place.where, place.parts, text_bytes=place.text_bytes))
        return True

    def _drop_old(
        self, copied: Copied, kept: tuple[tuple[str, ...], ...], plugins: Plugins
    ) -> None:
        """Drop the copy that the file spoke of, unless it is the one that was made."""
        old = made_before(copied, plugins)
        if old.tables[0] not in kept:
            with self._writing(copied, plugins) as run:
                old.drop(run)

    def _drop_left(self, copied: Copied, order: str, plugins: Plugins) -> None:
        """Drop what makings of this file left behind, where tables may be listed."""
        with suppress(TacitError), self._writing(copied, plugins) as run:
            drop_abandoned_copies(preparation(copied, order, self._note, plugins=plugins), run)

    @property
    def _note(self) -> str:
        """What is written beside copies that this project file makes, and no other."""
        place = f"{node()}\n{self.file.resolve()}"
        return f"file: {sha256(place.encode()).hexdigest()[:16]}"

    def _writing(self, copied: Copied, plugins: Plugins) -> AbstractContextManager[Run]:
        """Runs statements where the table lives, in the name of its owner."""
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

    def _say(self, copied: Copied, place: CopyPlace) -> None:
        """Write into the project file what there is now; comments stay."""
        said: dict[str, object] = {"where": place.where, "parts": copied.parts}
        if place.text_bytes != TEXT_BYTES:
            said["text_bytes"] = place.text_bytes
        for name in ("epoch", "order", "declaration", "made", "making"):
            if getattr(place, name) is not None:
                said[name] = getattr(place, name)
        section = "datasets" if copied.way else "public"
        while True:
            source = ProjectText.at(self.file).changed(
                (section, copied.table.name, "copy"), said
            )
            try:
                return source.save(self.file)
            except Conflict:
                continue  # another copy was made at the same time, and is spoken of now


def _made(making: Preparation, salt: bytes, run: Run) -> Iterator[CopyProgress]:
    """Make a copy; where that ends before its time, nothing of it is left, if it can be."""
    try:
        yield from making.steps(salt, run)
    except BaseException:
        with suppress(Exception):  # of any engine, whose transaction may have ended
            making.drop(run)
        raise


def _needs_copy(copied: Copied) -> None:
    """Refuse to copy a table that is declared to be read where it is."""
    table = copied.table
    if isinstance(table, Dataset) and table.in_place:
        raise InvalidValue(
            f"{table.name!r} is declared in_place, and a copy of it would not be read; nothing "
            "was made. Take in_place out of the project file and `tacit apply` to have a copy, "
            "or keep in_place: no copy is needed."
        )


def writing(  # noqa: PLR0913, PLR0917 - a copy, where it lies, and by whom it is made
    copied: Copied,
    folder: Path,
    file: str | None,
    spec: EngineSpec,
    environment: Mapping[str, str],
    writer: str | None = None,
) -> AbstractContextManager[Run]:
    """Runs statements where a table lives; the copy lies there, or in ``file``."""
    if spec.owner is None:
        raise InvalidValue(f"Copies cannot be made in an engine of kind {spec.kind}.")
    address = addressed(copied.engine, spec.address, environment)
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
