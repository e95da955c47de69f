"""A clinic in which everybody and everything has a hostile name, and its harmless twin.

`hostile_clinic` puts 300 texts where a text can be: keys of groups, columns, tables, people,
populations, quotas, reasons, sources, questions and saved questions. With harmless words in
their places, all else is the same: the two clinics have the same pages.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from urllib.parse import quote

import duckdb
from hostile_texts import FAMILIES, Text, fitted, made_texts, printable
from serving import OPEN_TIME, Server, serving

from tacit.core import Loss
from tacit.plan import Span
from tacit.publish import Publication, Publications
from tacit.session import Session
from tacit.session.project import apply_project
from tacit.stream import EACH, Periods

__all__ = ["HostileClinic", "as_harmless", "as_hostile", "hostile_clinic"]

OWNER = "olga"
SAVED, ASKED, WISHES, COLUMNS = 150, 30, 24, 100
"""How many texts are names of saved questions, are asked for at once, are reasons, and are
columns of one table."""

Worded = Callable[[Text], str]


def as_hostile(text: Text) -> str:
    """Return the text itself."""
    return text.raw


def as_harmless(text: Text) -> str:
    """Return a word in the place of a hostile text; a slash is in both or in none."""
    return f"word {text.number}" + ("/" if "/" in text.raw else "")


@dataclass
class HostileClinic:
    """A server over the clinic, and which texts stand where."""

    people: tuple[str, ...]
    """The names of people, each with a quota and a token."""
    populations: tuple[str, str]
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    tables: tuple[str, ...]
    saved: tuple[str, ...]
    reasons: tuple[str, ...]
    sources: tuple[str, ...]
    answers: tuple[str, str]
    """The questions whose answers have every second key, and the others."""
    asked: tuple[str, ...] = ()
    """Keys in the questions that were asked, as they are written there."""
    receipt: str = ""
    _server: Server | None = field(default=None, repr=False)

    @property
    def server(self) -> Server:
        """The server, which runs."""
        assert self._server is not None
        return self._server


def identifier(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def basic(text: str) -> str:
    """Return a text as TOML writes it, with escapes for all but plain letters and digits."""
    escaped = (
        each if each.isascii() and each.isalnum() else f"\\U{ord(each):08x}" for each in text
    )
    return f'"{"".join(escaped)}"'


@contextmanager
def hostile_clinic(folder: Path, worded: Worded = as_hostile) -> Iterator[HostileClinic]:
    """A server over a new clinic whose texts are those that ``worded`` returns."""
    texts = made_texts()
    names = [fitted(worded(each)) for each in texts]
    whole = [each for each in names if "/" not in each]  # no path of the API has a slash
    firsts = [next(each for each in texts if each.family == family) for family in FAMILIES]
    keys = tuple(worded(each) for each in texts)
    people = tuple(printable(worded(each)) for each in texts)
    tables = tuple(fitted(worded(each), 40) for each in firsts)
    made = HostileClinic(
        people=people,
        populations=(whole[0], whole[-1]),
        keys=keys,
        columns=tuple(names),
        tables=tables,
        saved=tuple(_short(each.replace("/", "|"), 100) for each in people[-SAVED:]),
        reasons=tuple(_short(each, 200) for each in people[:WISHES]),
        sources=keys[:: len(keys) // len(tables)],
        answers=(_count_by("a", tables[0]), _count_by("b", tables[0])),
    )
    file = _project(folder, made)
    with serving(file) as server:
        made._server = server
        _live(made)
        yield made


def _count_by(column: str, table: str) -> str:
    return f"SELECT {column}, COUNT(*) AS n FROM {identifier(table)} GROUP BY {column}"  # noqa: S608


def _project(folder: Path, made: HostileClinic) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    keyed, *others = made.tables
    wide = [f"wide {place}" for place in range(len(made.columns) // COLUMNS)]
    with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
        owner.execute(
            f"CREATE TABLE {identifier(keyed)} AS SELECT 'p' || range AS person, "  # noqa: S608
            f"DATE '2026-01-06' AS day, 'x' AS a, 'x' AS b FROM range(90)"
        )
        for name in others:
            owner.execute(
                f"CREATE TABLE {identifier(name)} AS SELECT 'p' || range AS person "  # noqa: S608
                "FROM range(9)"
            )
        for place, name in enumerate(wide):
            columns = made.columns[place * COLUMNS : (place + 1) * COLUMNS]
            listed = ", ".join(f"1::BIGINT AS {identifier(each)}" for each in columns)
            owner.execute(
                f"CREATE TABLE {identifier(name)} AS SELECT 'p' || range AS person, "  # noqa: S608
                f"{listed} FROM range(9)"
            )
    parts = [OPEN_TIME, '[engines.clinic]\nkind = "duckdb"\npath = "clinic.duckdb"\n']
    parts += [
        f'[populations.{basic(name)}]\nunit = "person"\nowners = ["{OWNER}"]\n'
        'budget = { epsilon = 50, delta = "1e-6" }\n'
        for name in made.populations
    ]
    parts.append(f"[populations.{basic(made.populations[0])}.quotas]\n")
    parts += [f'{basic(each)} = {{ epsilon = 1, delta = "1e-9" }}\n' for each in made.people]
    parts.append(_dataset(keyed, made.populations[0], made.sources[0]))
    parts.append('day = { kind = "date", bounds = [2026-01-01, 2026-12-31], ')
    parts.append('provenance = "public" }\n')
    for column, keys in (("a", made.keys[::2]), ("b", made.keys[1::2])):
        listed = ", ".join(basic(each) for each in keys)
        parts.append(
            f'{column} = {{ kind = "text", keys = [{listed}], provenance = "public" }}\n'
        )
    for place, name in enumerate(others, 1):
        parts.append(_dataset(name, made.populations[place % 2], made.sources[place]))
    for place, name in enumerate(wide):
        parts.append(_dataset(name, made.populations[1], "a rule"))
        parts += [
            f'{basic(each)} = {{ kind = "integer", bounds = [0, 9], provenance = "policy" }}\n'
            for each in made.columns[place * COLUMNS : (place + 1) * COLUMNS]
        ]
    file = folder / "tacit.toml"
    file.write_text("".join(parts), encoding="utf-8")
    apply_project(file, by=OWNER)
    return file


def _dataset(name: str, population: str, source: str) -> str:
    return (
        f"[datasets.{basic(name)}]\npopulation = {basic(population)}\n"
        'engine = "clinic"\nepoch = "1"\nunit = "person"\nmax_groups = 1\nmax_rows = 2\n'
        f"most_rows = {{ rows = 2, source = {basic(source)} }}\n"
        f'[datasets.{basic(name)}.columns]\nperson = "text"\n'
    )


def _live(made: HostileClinic) -> None:
    """Let people ask, save, wish and publish, as their names say."""
    server, table = made.server, identifier(made.tables[0])
    tokens = [server.token(each) for each in made.people]
    ann = server.token("ann")
    for sql in reversed(made.answers):
        answer = server.ask(ann, sql, epsilon="0.1")
        assert answer.status_code == 200, answer.text
    listed = server.call("GET", "/v1/answers", ann).json()["answers"]
    made.receipt = listed[0]["receipt"]
    asked = list[str]()
    for place in range(0, len(made.keys), len(made.keys) // ASKED):
        some = made.keys[place : place + len(made.keys) // ASKED]
        keys = [each.replace("\0", "") for each in some if len(each) < 1000]
        sql = f"SELECT COUNT(*) AS n FROM {table} WHERE a IN ({_list_of(keys)})"  # noqa: S608
        answer = server.ask(tokens[place], sql, epsilon="0.001")
        assert answer.status_code == 200, (answer.text, sql)
        asked += [literal(each) for each in keys]
    made.asked = tuple(asked)
    for name in made.saved:
        sent = {"sql": made.answers[0]}
        path = f"/v1/questions/{_quoted(name)}"
        answer = server.call("PUT", path, ann, json=sent)
        assert answer.status_code == 200, (name, answer.text)
    path = f"/v1/ledger/{_quoted(made.populations[0])}/requests"
    for token, reason in zip(tokens[: len(made.reasons)], made.reasons, strict=True):
        sent = {"epsilon": "2", "delta": "1e-9", "reason": reason}
        answer = server.call("POST", path, token, json=sent)
        assert answer.status_code < 300, answer.text
    session = Session(server.curator.asked_by(OWNER))
    weeks = Periods("day", Span.WEEKS, date(2026, 1, 5), 2)
    found = Publications(session.states)
    found.declare(
        Publication("weekly", made.answers[0], weeks, Loss.zcdp("0.001"), EACH), session
    )
    found.open("weekly", session).release(0)


def _short(text: str, longest: int) -> str:
    """A text that is cut before its number, and not its number."""
    return text if len(text) <= longest else f"{text[: longest - 8]}{text[-8:]}"


def _quoted(name: str) -> str:
    return quote(name, safe="")


def _list_of(keys: Sequence[str]) -> str:
    return ", ".join(literal(each) for each in keys)
