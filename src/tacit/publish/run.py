"""Release what is due: each period once, whoever runs it and however often.

What was published is compared with the ledger before anything is released. A period that is
published and that the ledger does not know of says that the ledger is an old copy: it would
draw that period again, with new noise, and both draws together tell more than was paid for. No
noise can be made that is both fresh and the same, so the publication stops.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Protocol

from tacit.errors import InvalidValue, LedgerBroken
from tacit.publish.declared import Publications
from tacit.publish.publication import Publication
from tacit.publish.write import Folder
from tacit.session.session import Session
from tacit.stream.open_stream import OpenStream
from tacit.stream.table import StreamRelease


@dataclass(frozen=True, slots=True)
class Published:
    """A step that was released and written."""

    number: int
    period: date
    table: StreamRelease


class Shelf(Protocol):
    """Where the tables of a publication lie, a part for each step."""

    def there(self) -> frozenset[date]:
        """Return the first days of all periods that lie here, of this ledger or not."""
        ...

    def agrees(self, number: int, table: StreamRelease) -> bool:
        """Whether the part of a step, which is there, holds the values of ``table``."""
        ...

    def write(self, number: int, table: StreamRelease) -> None:
        """Put it there, whole or not at all; what is there already is not overwritten."""
        ...


def run(
    publication: Publication, session: Session, today: date, into: Path, *more: Shelf
) -> Iterator[Published]:
    """Release every period that is over by ``today`` and was not yet, in order.

    Guarantee: two that run at once release each period once, and write the same tables. What
    was released and not written, because the machine failed between, is written now. Nothing
    is released where something is published that the ledger does not know of, or that differs
    from what it keeps; no published table is overwritten, and nothing is charged.
    """
    now = session.ledger.today()
    if today > now:
        raise InvalidValue(
            f"{today} is in the future: today is {now}. The data of a period that is not over "
            "is not complete, and what is released of it is final."
        )
    stream = Publications(session.states).open(publication.name, session)
    periods = publication.periods
    folder = Folder(into / publication.name, periods)
    shelves: tuple[Shelf, ...] = (folder, *more)
    # looked at before the ledger: what others publish meanwhile is in the ledger first
    found = [shelf.there() for shelf in shelves]
    released = stream.released
    check_published(publication, stream, shelves, found, released)
    due = periods.due(today, publication.wait)
    for number in range(max(due, released)):
        new, day = number >= released, periods.ends(number)[0]
        missing = [
            shelf for shelf, there in zip(shelves, found, strict=True) if day not in there
        ]
        if not missing:
            continue
        table = stream.release(number)
        for shelf in missing:
            shelf.write(number, table)
        if new:
            yield Published(number, day, table)
    if max(due, released):
        folder.draw(stream, max(due, released))


def check_published(
    publication: Publication,
    stream: OpenStream,
    shelves: tuple[Shelf, ...],
    found: list[frozenset[date]],
    released: int,
) -> None:
    """Refuse to go on where what is published is not what the ledger keeps."""
    name = publication.name
    known = {publication.periods.ends(number)[0]: number for number in range(released)}
    for shelf, there in zip(shelves, found, strict=True):
        unknown = sorted(there - known.keys())
        if unknown:
            raise LedgerBroken(
                f"{unknown[0]} of {name!r} is published, and the ledger does not know that it "
                "was released: this ledger is an old copy, or another one. Releasing it again "
                "would draw new noise for a period that is out already. Put back the newest "
                "ledger. Where it is lost, keep what is published, end this publication by "
                f"`tacit publish withdraw {name}`, and declare a new one under a new name, for "
                "the periods after the last one that is published."
            )
        for day in sorted(there):
            if not shelf.agrees(known[day], stream.release(known[day])):
                raise LedgerBroken(
                    f"{day} of {name!r} is published with other values than the ledger keeps: "
                    "it was changed, or released by another ledger. It is not overwritten. "
                    "Put the right ledger back, or move away what is published, and what this "
                    "ledger keeps is written again."
                )
