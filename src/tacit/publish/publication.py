"""Publications: streams with a name, and the list of them that is sealed in the store."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from tacit.core import Loss, Measure
from tacit.errors import Conflict, InvalidValue, UnknownName
from tacit.plan import Span
from tacit.query import FreeQuestion, Withdrawn
from tacit.session import Session
from tacit.store import States
from tacit.stream import Guard, OpenStream, Periods, Window


@dataclass(frozen=True, slots=True)
class Publication:
    """A question with its periods, its loss and its window, under a name.

    Each period is released ``wait`` days after its end. Rows that arrive within these days are
    included, and later rows are not.
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
                "The name of a publication must consist of letters, digits and _, but "
                f"{self.name!r} was given. Its files have the same name."
            )
        if self.wait < 0:
            raise InvalidValue(f"wait must be 0 days or more, but {self.wait} were given.")

    def stream(self, session: Session) -> OpenStream:
        """Return the stream of the publication, in a session over its tables."""
        question = session.sql(self.sql)
        if isinstance(question, FreeQuestion):
            raise InvalidValue(
                "A publication needs a question about data, such as SELECT COUNT(*) FROM "
                "visits."
            )
        return session.stream(
            question,
            self.loss,
            self.periods,
            window=self.window,
            max_steps=self.max_steps,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
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
        """Return the publication from the values of `to_dict`."""
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


# ------------------------------------------------------------------ list of publications
# A publication is charged when it is declared, under the declarations that it uses at that
# time. These declarations are stored with it. While they do not change, it keeps its charge and
# its files, whatever else is declared. If they change, the publication stops, because its price
# and its noise depend on the old ones. The owner then withdraws it, or undoes the change.

NAME = "publications"


@dataclass(frozen=True, slots=True)
class ListedPublication:
    """A publication in the list, with the declarations under which it was charged.

    A publication from version 0.1.0 has no ``policy`` until it is first opened.
    """

    publication: Publication
    policy: str | None = None
    facts: tuple[str, ...] = ()
    withdrawn: bool = False
    withdrawn_by: str = ""
    """The name in which it was withdrawn; empty if it was not, or by an earlier version."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        more = {"policy": self.policy, "facts": self.facts, "withdrawn": self.withdrawn}
        by = {"withdrawn_by": self.withdrawn_by} if self.withdrawn_by else {}
        return {**self.publication.to_dict(), **more, **by}

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "ListedPublication":
        """Return the publication from the values of `to_dict`, or from those of 0.1.0."""
        return cls(
            Publication.from_dict(told),
            told.get("policy"),
            tuple(told.get("facts", ())),
            told.get("withdrawn", False),
            told.get("withdrawn_by", ""),
        )


Listing = tuple[ListedPublication, ...]

_WITHDRAWN = (
    "The publication {!r} was withdrawn: its published tables stay, and nothing more is "
    "released. Declare a new publication under a new name."
)


class Publications:
    """The publications of a ledger, by name.

    Guarantee: a listed publication is charged for its whole horizon. A name stands for one
    publication forever: another one under the same name is refused, and the same one again is
    free. Only `declare` charges anything.
    """

    def __init__(self, states: States) -> None:
        self._states = states

    def all(self) -> tuple[Publication, ...]:
        """Return every publication that was not withdrawn, in the order of declaration."""
        return tuple(each.publication for each in self.listing() if not each.withdrawn)

    def listing(self) -> Listing:
        """Return every publication, withdrawn ones too."""
        found = self._states.find(NAME)
        return _listing(found.value) if found.version else ()

    def __getitem__(self, name: str) -> Publication:
        return self._find(name).publication

    def declare(self, publication: Publication, session: Session) -> None:
        """Charge the whole horizon of ``publication``, and list it."""
        same = [each for each in self.listing() if each.publication.name == publication.name]
        if same and (same[0].withdrawn or same[0].publication != publication):
            was = "was withdrawn" if same[0].withdrawn else "is another publication"
            raise InvalidValue(
                f"{publication.name!r} {was} and cannot be changed. Declare this one under a "
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
                raise InvalidValue(
                    f"Another process has just declared {publication.name!r}. Declare this "
                    "publication under a new name."
                )
            return known if named else (*known, made)

        self._change(add)

    def open(self, name: str, session: Session) -> OpenStream:
        """Return the stream of a publication as it was charged; nothing is charged here.

        Raises:
            InvalidValue: A declaration that the publication uses has changed since its charge.
        """
        listed = self._find(name)
        stream = listed.publication.stream(session)
        if listed.policy is None:
            if not stream.charged:
                raise _changed_error(name, (), ())
            pinned = replace(listed, policy=stream.policy, facts=stream.facts)
            self._replace(pinned)
            return stream.with_guard(self._guard(name))
        if listed.facts != stream.facts:
            raise _changed_error(name, listed.facts, stream.facts)
        return stream.under(listed.policy).with_guard(self._guard(name))

    def _guard(self, name: str) -> Guard:
        """Return the guard that refuses further steps once a publication is withdrawn."""

        def check(stored: bytes) -> None:
            for each in _listing(stored):
                if each.publication.name == name and each.withdrawn:
                    raise Withdrawn(_WITHDRAWN.format(name))

        return Guard(self._states, NAME, check)

    def withdraw(self, name: str, *, by: str = "") -> None:
        """End a publication, in the name of ``by``, so that no further period is released.

        Its published tables and its charge stay.

        Guarantee: after this returns, no step is stored, also by a process that is computing
        one at that moment.
        """
        self._replace(replace(self._find(name), withdrawn=True, withdrawn_by=by))

    def _find(self, name: str) -> ListedPublication:
        known = {each.publication.name: each for each in self.listing()}
        if name not in known:
            names = ", ".join(known) or "none yet"
            raise UnknownName(
                f"There is no publication {name!r}. The publications are: {names}."
            )
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
        """Apply ``edit`` to the newest list and store the result; retry after a conflict."""
        while True:
            found, known = self._states.find(NAME), self.listing()
            edited = json.dumps([each.to_dict() for each in edit(known)])
            try:
                self._states.change(NAME, found, edited.encode())
            except Conflict:  # another process changed the list at the same moment
                continue
            return


def _listing(stored: bytes) -> Listing:
    return tuple(map(ListedPublication.from_dict, json.loads(stored)))


def _changed_error(name: str, before: tuple[str, ...], now: tuple[str, ...]) -> InvalidValue:
    gone = [f"- {fact}" for fact in before if fact not in now]
    new = [f"+ {fact}" for fact in now if fact not in before]
    differences = "\n  ".join(("", *gone, *new))
    return InvalidValue(
        f"The declarations that {name!r} uses have changed since it was charged.{differences}\n"
        "Its published tables stay, and nothing is charged again. Undo the change, or end this "
        f"publication with `tacit publish withdraw {name}` and declare a new one under a new "
        "name, which is charged."
    )
