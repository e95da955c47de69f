"""Release what is due: each period once, whoever runs it and however often."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Protocol

from tacit.publish.publication import Publication
from tacit.publish.write import Folder
from tacit.session.session import Session
from tacit.stream.table import StreamRelease


@dataclass(frozen=True, slots=True)
class Published:
    """A step that was released and written."""

    number: int
    period: date
    table: StreamRelease


class Shelf(Protocol):
    """Where the tables of a publication lie, a part for each step."""

    def holds(self, number: int) -> bool:
        """Whether the part of a step is there."""
        ...

    def write(self, number: int, table: StreamRelease) -> None:
        """Put it there, whole or not at all."""
        ...


def run(
    publication: Publication, session: Session, today: date, into: Path, *more: Shelf
) -> Iterator[Published]:
    """Release every period that is over by ``today`` and was not yet, in order.

    Guarantee: two that run at once release each period once, and write the same tables. What
    was released and not written, because the machine failed between, is written now.
    """
    stream = publication.stream(session)
    folder = Folder(into / publication.name, publication.periods)
    due = publication.periods.due(today, publication.wait)
    released = stream.released
    for number in range(max(due, released)):
        new = number >= released
        shelves = [each for each in (folder, *more) if new or not each.holds(number)]
        if not shelves:
            continue
        table = stream.release(number)
        for shelf in shelves:
            shelf.write(number, table)
        if new:
            yield Published(number, publication.periods.ends(number)[0], table)
    if max(due, released):
        folder.draw(stream, max(due, released))
