"""The publications of a ledger: declared once, sealed beside it, and never changed."""

import json

from tacit.errors import Conflict, InvalidValue, UnknownName
from tacit.publish.publication import Publication
from tacit.session.session import Session
from tacit.store.states import States

NAME = "publications"


class Publications:
    """What was declared, by name.

    Guarantee: what is listed is charged, for its whole horizon. A name stands for one
    declaration for ever: another under the same name is refused, and the same again is free.
    """

    def __init__(self, states: States) -> None:
        self._states = states

    def all(self) -> tuple[Publication, ...]:
        """Every publication, in the order of declaration."""
        found = self._states.find(NAME)
        told = json.loads(found.value) if found.version else []
        return tuple(Publication.from_dict(each) for each in told)

    def __getitem__(self, name: str) -> Publication:
        known = {each.name: each for each in self.all()}
        if name not in known:
            listed = ", ".join(known) or "none yet"
            raise UnknownName(f"There is no publication {name!r}; there are: {listed}.")
        return known[name]

    def declare(self, publication: Publication, session: Session) -> None:
        """Charge the whole horizon of ``publication``, and list it."""
        while True:
            found, known = self._states.find(NAME), self.all()
            same = [each for each in known if each.name == publication.name]
            if same and same != [publication]:
                raise InvalidValue(
                    f"{publication.name!r} is another publication, and stays what it is; "
                    "declare this one under a new name."
                )
            publication.stream(session).start()
            if same:
                return
            told = json.dumps([each.to_dict() for each in (*known, publication)])
            try:
                self._states.change(NAME, found, told.encode())
            except Conflict:  # another was declared at the same moment
                continue
            return
