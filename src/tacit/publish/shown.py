"""Publications as people look at them: what there is, and what was released so far.

Nothing is released, charged or changed here: only steps that the ledger has stored are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tacit.core import encode_loss
from tacit.errors import TacitError, UnknownName
from tacit.plan import datasets
from tacit.publish.publication import ListedPublication, Publications
from tacit.session import Question, Session
from tacit.stream import OpenStream


@dataclass(frozen=True, slots=True)
class ShownPublication:
    """A publication about tables of a session, and the tables that it reads."""

    listed: ListedPublication
    population: str
    datasets: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what was declared, as plain values for JSON."""
        publication = self.listed.publication
        periods = publication.periods
        return {
            "name": publication.name,
            "population": self.population,
            "datasets": list(self.datasets),
            "sql": publication.sql,
            "every": periods.span.value,
            "first": periods.first.isoformat(),
            "periods": periods.horizon,
            "loss": encode_loss(publication.loss),
            "withdrawn": self.listed.withdrawn,
        }


def shown_publications(session: Session) -> Iterator[ShownPublication]:
    """Yield the publications whose tables are in the catalogue of ``session``."""
    for listed in Publications(session.states).listing():
        try:
            question = session.sql(listed.publication.sql)
        except TacitError:
            continue  # it is about tables of others, or about tables that are gone
        if isinstance(question, Question):
            name = question.status().population
            yield ShownPublication(listed, name, tuple(datasets(question.plan.source)))


def shown_publication(session: Session, name: str) -> ShownPublication:
    """Return the publication with this name; raise `UnknownName` if it may not be seen."""
    for each in shown_publications(session):
        if each.listed.publication.name == name:
            return each
    raise UnknownName("There is no publication with this name that you may read.")


def released_periods(
    session: Session, shown: ShownPublication, after: int, most: int
) -> list[dict[str, Any]]:
    """Return stored releases of a publication, each with its period, from number ``after``.

    They are none if the declarations that the publication uses have changed since its charge.

    Guarantee: nothing is charged, and no data is read.
    """
    listed = shown.listed
    stream = listed.publication.stream(session)
    if listed.policy is not None and listed.facts == stream.facts:
        stream = stream.under(listed.policy)
    if not stream.charged:
        return []
    last = min(stream.released, after + most)
    return [_period(listed, stream, number) for number in range(after, last)]


def _period(listed: ListedPublication, stream: OpenStream, number: int) -> dict[str, Any]:
    first, after = listed.publication.periods.ends(number)
    told = stream.release(number).to_dict()  # it is stored, so that it is only read
    until = after - timedelta(days=1)
    return {"number": number, "from": first.isoformat(), "until": until.isoformat()} | told
