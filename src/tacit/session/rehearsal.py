"""Made-up questions, taken up to where data would be touched.

A child that rehearsed them answers its first real question as quickly as the next ones, so that
it does not miss a short deadline because it is new.
"""

from tacit.core.bounds import Bounds
from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.keys import Keys
from tacit.core.loss import Loss
from tacit.core.population import Population
from tacit.core.schema import Schema
from tacit.core.unit import PrivacyUnit
from tacit.engines.ask import statement
from tacit.engines.print.sql_dialect import Dialect
from tacit.query.price import price
from tacit.sql.parse import parse

QUESTIONS = (
    "SELECT COUNT(*) AS n, SUM(pay) AS s, AVG(pay) AS a, VARIANCE(pay) AS v FROM people",
    "SELECT city, MEDIAN(pay) AS m, MIN(pay) AS l FROM people WHERE pay > 1 GROUP BY city",
)

_people = Dataset(
    name="people",
    population="people",
    schema=Schema(
        (
            Column("person", Kind.TEXT),
            Column("city", Kind.TEXT, keys=Keys(("Bern", "Ulm"))),
            Column("pay", Kind.INTEGER, bounds=Bounds.of(0, 100)),
        )
    ),
    unit=UnitColumn("person"),
    limits=Limits(max_groups=1, max_rows=2),
    location=Location("nowhere", ("people",)),
    epoch=Epoch("1"),
)
_catalog = Catalog((Population("people", PrivacyUnit("person")),), (_people,))


def rehearse(dialect: Dialect | None) -> None:
    """Price made-up questions, and print their statements in the engine's own dialect."""
    for sql in QUESTIONS:
        quote = price(parse(sql, _catalog), _catalog, Loss.zcdp("0.1"))
        if dialect is not None:
            statement(quote.bound.plan, _catalog, bytes(16), dialect)
