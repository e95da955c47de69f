"""Release what is due: each period once, whoever runs it and however often."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

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


def run(
    publication: Publication, session: Session, today: date, into: Path
) -> Iterator[Published]:
    """Release every period that is over by ``today`` and was not yet, in order.

    Guarantee: two that run at once release each period once, and write the same files. What was
    released and not written, because the machine failed between, is written now.
    """
    stream = publication.stream(session)
    folder = Folder(into / publication.name, publication.periods)
    due = publication.periods.due(today, publication.wait)
    released = stream.released
    for number in range(max(due, released)):
        if number < released and folder.holds(number):
            continue
        table = stream.release(number)
        folder.write(number, table)
        if number >= released:
            yield Published(number, publication.periods.ends(number)[0], table)
    if max(due, released):
        folder.draw(stream, max(due, released))
