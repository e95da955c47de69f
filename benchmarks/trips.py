"""The question that speed is measured by, what its owner declares, and how long it takes."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Bounds, Column, Kind, Schema
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.engines.engine import Engine
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.query.paid_work import release
from tacit.query.pricing import price
from tacit.sql.parser import parse

TURNS = 5
SALT = b"bench"
TEXT = "SELECT g, COUNT(*), SUM(v), AVG(v) FROM trips GROUP BY g"


@dataclass(frozen=True, slots=True)
class Case:
    """An engine, what is declared of its table, and the same question without privacy."""

    engine: Engine
    dataset: Dataset
    bare: Callable[[], object]
    text: str = TEXT

    def ratio(self, turns: int = TURNS) -> tuple[float, float, float]:
        """Seconds of an answer over the bare engine's, medians taken in turns; and both."""
        _, times = self.times(turns)
        ours, bare = (median(column) for column in zip(*times, strict=True))
        return ours / bare, ours, bare

    def times(self, turns: int) -> tuple[int, list[tuple[float, float]]]:
        """The number of groups released, and the seconds of an answer and of the bare engine's.

        An answer is asked for, its groups are selected, and noise is added; its price was
        known before.
        """
        people = Population("people", PrivacyUnit("person", Neighbours.ADD_REMOVE))
        catalog = Catalog((people,), (self.dataset,))
        quote = price(parse(self.text, catalog), catalog, Loss.zcdp("0.1", "1e-6"))

        def answer() -> int:
            found = self.engine.run(quote.bound.plan, catalog, SALT)
            groups, _ = release(quote, found, LiveGateway(SystemEntropy(b"bench")))
            return len(groups)

        groups = answer()
        assert groups > 0  # and everything is warm
        self.bare()
        return groups, [(_seconds(answer), _seconds(self.bare)) for _ in range(turns)]


def trips(
    *,
    table: str = "trips",
    one_row: bool = False,
    limits: Limits | None = None,
    column: str = "g",
) -> Dataset:
    """What the owner declares."""
    columns = (
        Column("row_id", Kind.INTEGER),
        Column("person", Kind.INTEGER),
        Column(column, Kind.INTEGER),
        Column("v", Kind.FLOAT, bounds=Bounds.of(0, 50)),
    )
    return Dataset(
        name="trips",
        population="people",
        schema=Schema(columns),
        unit=UnitColumn("person", one_row=one_row),
        limits=limits or Limits(max_groups=3, max_rows=1, max_rows_in_all=3),
        location=Location("here", (table,)),
        epoch=Epoch("1"),
        row_key="row_id",
    )


def _seconds(way: Callable[[], object]) -> float:
    began = perf_counter()
    way()
    return perf_counter() - began
