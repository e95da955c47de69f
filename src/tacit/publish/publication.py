"""A publication: a question, its periods and its price, under a name."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from tacit.core import Loss, Measure
from tacit.errors import Conflict, InvalidValue, UnknownName
from tacit.plan import Span
from tacit.query import Withdrawn
from tacit.session import Session
from tacit.store import States
from tacit.stream import Guard, OpenStream, Periods, Window


@dataclass(frozen=True, slots=True)
class Publication:
    """What is published, of which periods, and how many days after the end of each.

    Rows that come within ``wait`` days after a period count in it, and later ones do not.
    """

    name: str
    sql: str
    periods: Periods
    loss: Loss
    window: Window
    max_steps: int | None = None
    wait: int = 0

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise InvalidValue(
                f"A publication is named by letters, digits and _, and {self.name!r} is not: "
                "its files are called by its name."
            )
        if self.wait < 0:
            raise InvalidValue(f"Waiting takes 0 days or more, and {self.wait} were given.")

    def stream(self, session: Session) -> OpenStream:
        """The stream that is released, in a session over its tables."""
        return session.stream(
            session.sql(self.sql),
            self.loss,
            self.periods,
            window=self.window,
            max_steps=self.max_steps,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        loss, periods = self.loss, self.periods
        return {
            "name": self.name,
            "sql": self.sql,
            "day": periods.day,
            "every": periods.span.value,
            "first": periods.first.isoformat(),
            "steps": periods.horizon,
            "loss": [loss.measure.value, str(loss.amount), str(loss.delta)],
            "window": self.window.steps,
            "max_steps": self.max_steps,
            "wait": self.wait,
        }

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "Publication":
        """The publication that `to_dict` told."""
        measure, amount, delta = told["loss"]
        first = date.fromisoformat(told["first"])
        return cls(
            told["name"],
            told["sql"],
            Periods(told["day"], Span(told["every"]), first, told["steps"]),
            Loss(Measure(measure), Fraction(amount), Fraction(delta)),
            Window(told["window"]),
            told["max_steps"],
            told["wait"],
        )


# ------------------------------------------------------------------ declared
# The publications of a ledger: declared once, sealed beside it, and never changed.
#
# A publication is charged when it is declared, under the declarations that it uses at that
# time. They are written down with it. While they stay as they were it keeps its charge and
# its files, whatever else is declared; once they differ it stops, because its price and its
# noise rest on the old ones. It is then withdrawn, or the change is undone.

NAME = "publications"


@dataclass(frozen=True, slots=True)
class ListedPublication:
    """A publication in the list, and the declarations under which it was charged.

    Those that version 0.1.0 listed have no ``policy`` until they are first opened.
    """

    publication: Publication
    policy: str | None = None
    facts: tuple[str, ...] = ()
    withdrawn: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        more = {"policy": self.policy, "facts": self.facts, "withdrawn": self.withdrawn}
        return {**self.publication.to_dict(), **more}

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "ListedPublication":
        """Return the publication that `to_dict` told, or version 0.1.0."""
        return cls(
            Publication.from_dict(told),
            told.get("policy"),
            tuple(told.get("facts", ())),
            told.get("withdrawn", False),
        )


Listing = tuple[ListedPublication, ...]

_WITHDRAWN = (
    "The publication {!r} was withdrawn: what was published of it stays, and nothing more is "
    "released. Declare a new one under a new name."
)


class Publications:
    """What was declared, by name.

    Guarantee: what is listed is charged, for its whole horizon. A name stands for one
    declaration for ever: another under the same name is refused, and the same again is free.
    Only `declare` charges anything.
    """

    def __init__(self, states: States) -> None:
        self._states = states

    def all(self) -> tuple[Publication, ...]:
        """Return every publication that was not withdrawn, in the order of declaration."""
        return tuple(each.publication for each in self.listed() if not each.withdrawn)

    def listed(self) -> Listing:
        """Return every publication, withdrawn ones too."""
        found = self._states.find(NAME)
        return _listing(found.value) if found.version else ()

    def __getitem__(self, name: str) -> Publication:
        return self._named(name).publication

    def declare(self, publication: Publication, session: Session) -> None:
        """Charge the whole horizon of ``publication``, and list it."""
        same = [each for each in self.listed() if each.publication.name == publication.name]
        if same and (same[0].withdrawn or same[0].publication != publication):
            was = "was withdrawn" if same[0].withdrawn else "is another publication"
            raise InvalidValue(
                f"{publication.name!r} {was}, and stays what it is; declare this one under a "
                "new name."
            )
        if same:
            self.open(publication.name, session)
            return
        stream = publication.stream(session)
        stream.start()
        made = ListedPublication(publication, stream.policy, stream.facts)

        def add(known: Listing) -> Listing:
            named = [each for each in known if each.publication.name == publication.name]
            if named and named[0].publication != publication:
                raise InvalidValue(f"{publication.name!r} was declared by another just now.")
            return known if named else (*known, made)

        self._change(add)

    def open(self, name: str, session: Session) -> OpenStream:
        """Return the stream of a publication as it was charged; nothing is charged here.

        Refused where the declarations that it uses are not those of its charge.
        """
        listed = self._named(name)
        stream = listed.publication.stream(session)
        if listed.policy is None:
            if not stream.charged:
                raise _changed(name, (), ())
            pinned = replace(listed, policy=stream.policy, facts=stream.facts)
            self._replace(pinned)
            return stream.guarded(self._guard(name))
        if listed.facts != stream.facts:
            raise _changed(name, listed.facts, stream.facts)
        return stream.under(listed.policy).guarded(self._guard(name))

    def _guard(self, name: str) -> Guard:
        """What ends the steps of a publication once it is withdrawn."""

        def check(told: bytes) -> None:
            for each in _listing(told):
                if each.publication.name == name and each.withdrawn:
                    raise Withdrawn(_WITHDRAWN.format(name))

        return Guard(self._states, NAME, check)

    def withdraw(self, name: str) -> None:
        """End a publication: no period of it is released any more.

        What was published stays, and so does the charge.

        Guarantee: once this returns, no step is stored, whoever is at one at that moment.
        """
        self._replace(replace(self._named(name), withdrawn=True))

    def _named(self, name: str) -> ListedPublication:
        known = {each.publication.name: each for each in self.listed()}
        if name not in known:
            there = ", ".join(known) or "none yet"
            raise UnknownName(f"There is no publication {name!r}; there are: {there}.")
        if known[name].withdrawn:
            raise InvalidValue(_WITHDRAWN.format(name))
        return known[name]

    def _replace(self, one: ListedPublication) -> None:
        name = one.publication.name
        self._change(
            lambda known: tuple(
                one if each.publication.name == name else each for each in known
            )
        )

    def _change(self, edit: Callable[[Listing], Listing]) -> None:
        """Write the list as ``edit`` makes it from the newest one."""
        while True:
            found, known = self._states.find(NAME), self.listed()
            told = json.dumps([each.to_dict() for each in edit(known)])
            try:
                self._states.change(NAME, found, told.encode())
            except Conflict:  # another changed the list at the same moment
                continue
            return


def _listing(told: bytes) -> Listing:
    return tuple(map(ListedPublication.from_dict, json.loads(told)))


def _changed(name: str, before: tuple[str, ...], now: tuple[str, ...]) -> InvalidValue:
    gone = [f"- {fact}" for fact in before if fact not in now]
    new = [f"+ {fact}" for fact in now if fact not in before]
    told = "\n  ".join(("", *gone, *new))
    return InvalidValue(
        f"The declarations that {name!r} uses have changed since it was charged.{told}\n"
        "What was published stays, and nothing is charged again. Undo the change, or end this "
        f"publication by `tacit publish withdraw {name}` and declare a new one under a new "
        "name, which is charged."
    )
