"""The answers that principals were given, and the questions that they saved.

Both are lists for people, which a screen shows. No charge and no guarantee depends on them. The
ledger has hashes of questions only. Here the text of a question is stored sealed, with the key
of sealed states, so that a copy of the store does not say what was asked.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit.errors import Conflict, InvalidValue, LedgerBroken, UnknownName
from tacit.store.sealed_state import States
from tacit.store.store import Store
from tacit.store.tables import given_answers, saved_questions
from tacit.store.unit_of_work import Work

PAGE = 200
"""Number of rows that are read at once."""

TRIES = 5
"""How often an answer is listed again after another writer was first."""

MOST_PAGES = 50
"""Largest number of pages that one search reads."""

_COLUMNS = (
    given_answers.c.principal,
    given_answers.c.release,
    given_answers.c.receipt,
    given_answers.c.population,
    given_answers.c.datasets,
    given_answers.c.question,
    given_answers.c.loss,
    given_answers.c.day,
    given_answers.c.place,
)
_IS_LISTED = select(given_answers.c.place).where(
    given_answers.c.principal == bindparam("who"),
    given_answers.c.release == bindparam("key"),
)
_LIST = upsert(given_answers).on_conflict_do_nothing()
_in_population = select(*_COLUMNS).where(
    given_answers.c.population == bindparam("at"), given_answers.c.place < bindparam("before")
)
_newest = given_answers.c.place.desc(), given_answers.c.release
_OF_ALL = _in_population.order_by(*_newest).limit(PAGE)
_OF_ONE = (
    _in_population.where(given_answers.c.principal == bindparam("who"))
    .order_by(*_newest)
    .limit(PAGE)
)
_WITH_RECEIPT = select(*_COLUMNS).where(given_answers.c.receipt == bindparam("receipt"))
_NEXT_PLACE = (
    select(given_answers.c.place)
    .where(given_answers.c.population == bindparam("at"))
    .order_by(given_answers.c.place.desc())
    .limit(1)
)


# ------------------------------------------------------------------ answers


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer that a principal was given: the question, and where the release is.

    ``loss`` is text that the server encodes, and ``day`` the day of the charge. ``place``
    orders the answers of a population.
    """

    principal: str
    release_key: bytes
    receipt: bytes
    population: str
    datasets: tuple[str, ...]
    question: str
    loss: str
    day: str
    place: int = 0


@dataclass(frozen=True, slots=True)
class GivenAnswers:
    """The answers that a server gave, by principal; ``sealing`` seals their questions."""

    _store: Store
    _sealing: States

    def add(self, *answers: GivenAnswer) -> None:
        """List answers in one transaction; a release is listed once for a principal."""
        wanted = {(each.principal, each.release_key): each for each in answers}
        with self._store.reading() as work:
            new = [
                each
                for (who, key), each in wanted.items()
                if not work.one(_IS_LISTED, {"who": who, "key": key})
            ]
        if not new:
            return
        for last in reversed(range(TRIES)):
            try:
                with self._store.writing() as work:
                    for each in new:
                        self._write(work, each)
            except Conflict:
                if not last:
                    raise
            else:
                return

    def _write(self, work: Work, answer: GivenAnswer) -> None:
        last = work.one(_NEXT_PLACE, {"at": answer.population})
        work.run(
            _LIST,
            {
                "principal": answer.principal,
                "release": answer.release_key,
                "receipt": answer.receipt,
                "population": answer.population,
                "datasets": json.dumps(answer.datasets),
                "question": self._seal(answer),
                "loss": answer.loss,
                "day": answer.day,
                "place": 1 + (last[0] if last else 0),
            },
        )

    def newest(
        self,
        population: str,
        wanted: Callable[[GivenAnswer], bool],
        *,
        principal: str | None = None,
        before: int = 2**62,
    ) -> Iterator[GivenAnswer]:
        """Yield the answers about a population that are ``wanted``, the newest first.

        They are those of one ``principal``, or of all. At most `PAGE` times `MOST_PAGES`
        answers are looked at.
        """
        statement = _OF_ALL if principal is None else _OF_ONE
        for _ in range(MOST_PAGES):
            values: dict[str, object] = {"at": population, "before": before}
            if principal is not None:
                values["who"] = principal
            with self._store.reading() as work:
                rows = [self._open(row) for row in work.all(statement, values)]
            yield from filter(wanted, rows)
            if len(rows) < PAGE:
                return
            before = rows[-1].place

    def with_receipt(self, receipt: bytes) -> tuple[GivenAnswer, ...]:
        """Return the listed answers of the charge with this receipt, one for each principal."""
        with self._store.reading() as work:
            return tuple(map(self._open, work.all(_WITH_RECEIPT, {"receipt": receipt})))

    def _seal(self, answer: GivenAnswer) -> str:
        """Return the sealed question, or no text if the question is not listed."""
        if not answer.question:
            return ""
        return self._sealing.seal_text(answer.question, _place_of(answer))

    def _open(self, row: tuple[object, ...]) -> GivenAnswer:
        """Return the answer in a row; its question is empty if the key is another one now."""
        found = _answer(row)
        if not found.question:
            return found
        try:
            question = self._sealing.open_text(found.question, _place_of(found))
        except LedgerBroken:
            question = ""
        return replace(found, question=question)


def _place_of(answer: GivenAnswer) -> str:
    return json.dumps(["given answer", answer.principal, answer.release_key.hex()])


def _answer(row: tuple[object, ...]) -> GivenAnswer:
    who, release, receipt, population, names, question, loss, day, place = row
    return GivenAnswer(
        str(who),
        bytes(release),  # type: ignore[call-overload]
        bytes(receipt),  # type: ignore[call-overload]
        str(population),
        tuple(json.loads(str(names))),
        str(question),
        str(loss),
        str(day),
        int(place),  # type: ignore[call-overload]
    )


# ------------------------------------------------------------------ saved questions

MOST_SAVED = 200
"""Largest number of questions that one account saves."""

LONGEST_SAVED = 20_000
"""Largest number of characters of a saved question."""

_FIND = select(
    saved_questions.c.name,
    saved_questions.c.question,
    saved_questions.c.within,
    saved_questions.c.place,
).where(saved_questions.c.account == bindparam("of"))
_new = upsert(saved_questions)
_SAVE = _new.on_conflict_do_update(
    index_elements=[saved_questions.c.account, saved_questions.c.name],
    set_={"question": _new.excluded.question, "within": _new.excluded.within},
)
_REMOVE = delete(saved_questions).where(
    saved_questions.c.account == bindparam("of"), saved_questions.c.name == bindparam("called")
)


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A question that was saved under a name, and the margin of error to ask it within."""

    name: str
    question: str
    within: str = ""


class SavedQuestions:
    """The saved questions of one account, which no other account sees.

    An account is a principal with a role and the populations of a token. Owners of other
    populations can issue tokens in anybody's name, and must not read what is saved under it.
    """

    def __init__(self, store: Store, sealing: States, account: str) -> None:
        self._store = store
        self._sealing = sealing
        self._account = account

    def all(self) -> tuple[SavedQuestion, ...]:
        """Return the saved questions in the order of their names."""
        with self._store.reading() as work:
            rows = work.all(_FIND, {"of": self._account})
        return tuple(
            SavedQuestion(name, self._sealing.open_text(question, self._place(name)), within)
            for name, question, within, _ in sorted(rows)
        )

    def _place(self, name: str) -> str:
        return json.dumps(["saved question", self._account, name])

    def __getitem__(self, name: str) -> SavedQuestion:
        found = {each.name: each for each in self.all()}
        if name not in found:
            raise UnknownName("You have not saved a question under this name.")
        return found[name]

    def save(self, saved: SavedQuestion) -> None:
        """Save a question, or replace the one of this name."""
        if not 0 < len(saved.question) <= LONGEST_SAVED:
            raise InvalidValue(f"A saved question has 1 to {LONGEST_SAVED} characters.")
        with self._store.writing() as work:
            rows = work.all(_FIND, {"of": self._account})
            names = {row[0] for row in rows}
            if saved.name not in names and len(names) >= MOST_SAVED:
                raise InvalidValue(
                    f"You have {MOST_SAVED} saved questions, which is the most. Remove one, "
                    "and save this one again."
                )
            values = {
                "account": self._account,
                "name": saved.name,
                "question": self._sealing.seal_text(saved.question, self._place(saved.name)),
                "within": saved.within,
                "place": 1 + max((row[3] for row in rows), default=0),
            }
            work.run(_SAVE, values)

    def remove(self, name: str) -> None:
        """Remove the question of this name; raise `UnknownName` if there is none."""
        with self._store.writing() as work:
            if not work.run(_REMOVE, {"of": self._account, "called": name}):
                raise UnknownName("You have not saved a question under this name.")
