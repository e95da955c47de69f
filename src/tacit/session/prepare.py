"""Prepare: a validated copy of a table, where its owner says, and the project file says so."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from getpass import getuser
from hashlib import sha256
from pathlib import Path
from platform import node
from typing import cast
from urllib.parse import unquote, urlsplit

from tacit.core.dataset import Dataset
from tacit.engines.duckdb_owner import duckdb_owner
from tacit.engines.left_copies import drop_left
from tacit.engines.postgres_role import readable
from tacit.engines.prepare import Preparation, Progress, Run
from tacit.errors import Conflict, InvalidValue, TacitError
from tacit.extras import load
from tacit.project.copies import MAKING_DIGITS, TEXT_BYTES, Copied, CopyPlace
from tacit.project.project import Project, read_project
from tacit.project.source import Source
from tacit.session.engines import with_token
from tacit.session.home import FOLDER, Home
from tacit.session.salt import fresh_mark, mark_of, salt_of_table
from tacit.session.to_copy import made_before, owner_address, preparation, to_copy


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
    ) -> Iterator[Progress]:
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
        making = preparation(copied, order, self._note)
        with self._writing(copied) as run:
            yield from _made(making, salt, run)
            left_out = making.left_out(run)
            if copied.engine.kind == "postgres":
                tables = (making.copy.record, *making.tables)
                for statement in readable(self._reader(copied), tables):
                    run(statement)
        self._say(copied, copied.made(order))
        left: tuple[tuple[str, ...], ...] = ()
        before = project.places.get(name)
        if before is not None and before.epoch is not None:
            old = project.copied(name, before)
            try:
                self._drop_old(old, making.tables)
            except TacitError:  # another role may have made it; the new one is in use
                stays = made_before(old)
                left = (stays.copy.record, *stays.tables)
            if before.where != copied.place.where:
                elsewhere = replace(copied.place, where=before.where)
                self._drop_left(replace(copied, place=elsewhere), order)
        self._drop_left(copied, order)
        yield Progress(copied.parts, copied.parts, left, left_out)

    def drop(self, name: str) -> bool:
        """Drop the copy of the table ``name``; whether there was one."""
        project = read_project(self.file)
        place = project.places.get(name)
        to_copy(project, name)
        if place is None or place.epoch is None:
            return False
        copied = project.copied(name, place)
        self._drop_old(copied, ())
        if place.making is not None and place.order is not None:
            self._drop_left(copied, place.order)
        self._say(copied, CopyPlace(place.where, place.parts, text_bytes=place.text_bytes))
        return True

    def _drop_old(self, copied: Copied, kept: tuple[tuple[str, ...], ...]) -> None:
        """Drop the copy that the file spoke of, unless it is the one that was made."""
        old = made_before(copied)
        if old.tables[0] not in kept:
            with self._writing(copied) as run:
                old.drop(run)

    def _drop_left(self, copied: Copied, order: str) -> None:
        """Drop what makings of this file left behind, where tables may be listed."""
        with suppress(TacitError), self._writing(copied) as run:
            drop_left(preparation(copied, order, self._note), run)

    @property
    def _note(self) -> str:
        """What is written beside copies that this project file makes, and no other."""
        place = f"{node()}\n{self.file.resolve()}"
        return f"file: {sha256(place.encode()).hexdigest()[:16]}"

    def _writing(self, copied: Copied) -> AbstractContextManager[Run]:
        """Runs statements where the table lives, in the name of its owner."""
        engine, place, folder = copied.engine, copied.place, self.file.parent
        if engine.kind == "postgres":
            owner = load("tacit.engines.postgres_owner", extra="postgres").postgres_owner
            address = owner_address(self.address, self.environment)
            return cast("AbstractContextManager[Run]", owner(address, place.where))
        if engine.kind == "spark":
            owner = load("tacit.engines.spark_owner", extra="spark").spark_owner
            address = with_token(engine, self.environment)
            if self.address is not None:
                address = owner_address(self.address, self.environment, spark=True)
            return cast("AbstractContextManager[Run]", owner(address, place.where))
        return writing_duckdb(copied, folder, place.file)

    def _reader(self, copied: Copied) -> str:
        """The role that sessions read by; without one in the address, that of the driver."""
        named = urlsplit(copied.engine.address).username
        return unquote(named) if named else self.environment.get("PGUSER") or getuser()

    def _salt(self, project: Project, name: str) -> bytes:
        home = Home.of(project, self.file.parent / FOLDER, self.environment)
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
            source = Source.at(self.file).changed((section, copied.table.name, "copy"), said)
            try:
                return source.save(self.file)
            except Conflict:
                continue  # another copy was made at the same time, and is spoken of now


def _made(making: Preparation, salt: bytes, run: Run) -> Iterator[Progress]:
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


def writing_duckdb(
    copied: Copied, folder: Path, file: str | None
) -> AbstractContextManager[Run]:
    """Runs statements over a DuckDB or Parquet file; the copy lies there, or in ``file``."""
    engine = copied.engine
    parquet = copied.table.location.table[-1] if engine.kind == "parquet" else None
    path = str(folder / engine.address)
    into = None if file is None else str(folder / file)
    names = copied.table.schema.names
    return duckdb_owner(path, copied.place.path, file=into, parquet=parquet, columns=names)
