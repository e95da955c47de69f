"""Prepare: an ordered copy of a table, where its owner says, and the project file says so."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from getpass import getuser
from pathlib import Path
from typing import cast
from urllib.parse import unquote, urlsplit

from tacit.engines.duckdb_owner import duckdb_owner
from tacit.engines.postgres_role import readable
from tacit.engines.prepare import Preparation, Progress, Run
from tacit.extras import load
from tacit.project.copies import CopyPlace
from tacit.project.project import read_project
from tacit.project.source import Source
from tacit.session.engines import with_token
from tacit.session.home import FOLDER, Home
from tacit.session.salt import mark_of, salt_of
from tacit.session.to_copy import Declared, chosen, declared, owner_address, worth_it


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
        """Make the copy of the dataset ``name``, part by part; the one before is gone first.

        Guarantee: rows lie in the order of the salt by which sessions of this project keep
        them; the file speaks of a copy only once all of it is there.
        """
        found = declared(Source.at(self.file), name)
        worth_it(found.dataset)
        place = chosen(found, where, parts)
        making = _making(found, place)
        self.drop(name)
        salt = self._salt(found.dataset.population)
        with self._writing(found, place) as run:
            yield from making.steps(salt, run)
            if found.engine.kind == "postgres":
                for statement in readable(self._reader(found), making.tables):
                    run(statement)
        self._say(name, place, {"epoch": found.dataset.epoch.label, "order": mark_of(salt)})

    def drop(self, name: str) -> bool:
        """Drop the copy of the dataset ``name``; whether there was one."""
        found = declared(Source.at(self.file), name)
        place = found.place
        if place is None or place.epoch is None:
            return False
        with self._writing(found, place) as run:
            _making(found, place).drop(run)
        self._say(name, place, {})
        return True

    def _writing(self, found: Declared, place: CopyPlace) -> AbstractContextManager[Run]:
        """Runs statements where the table lives, in the name of its owner."""
        engine, folder = found.engine, self.file.parent
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
        parquet = found.dataset.location.table[-1] if engine.kind == "parquet" else None
        file = None if place.file is None else str(folder / place.file)
        path = str(folder / engine.address)
        return duckdb_owner(path, place.path, file=file, parquet=parquet)

    def _reader(self, found: Declared) -> str:
        """The role that sessions read by; without one in the address, that of the driver."""
        named = urlsplit(found.engine.address).username
        return unquote(named) if named else self.environment.get("PGUSER") or getuser()

    def _salt(self, population: str) -> bytes:
        home = Home.of(read_project(self.file), self.file.parent / FOLDER, self.environment)
        try:
            return salt_of(home.states, population)
        finally:
            home.store.close()

    def _say(self, name: str, place: CopyPlace, made: Mapping[str, str]) -> None:
        """Write into the project file what there is now; comments stay."""
        said = {"where": place.where, "parts": place.parts, **made}
        source = Source.at(self.file).changed(("datasets", name, "copy"), said)
        self.file.write_text(source.text, encoding="utf-8")


def _making(found: Declared, place: CopyPlace) -> Preparation:
    kind = found.engine.kind
    dialect = kind if kind in {"postgres", "spark"} else "duckdb"
    return Preparation(found.dataset, place.path, dialect, place.parts)
