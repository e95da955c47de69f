"""The table that accuracy is measured on: people of a town, one row each."""

from fractions import Fraction
from random import Random

import numpy as np

from tacit.choose.keys import choose_keys
from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Bounds, Column, Kind, Schema
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.core.unseal import unseal
from tacit.engines.engine import SecretTable
from tacit.engines.reference import Reference
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.query.intervals import column_of
from tacit.query.paid_work import release
from tacit.query.pricing import price
from tacit.sql.parser import parse

BOUNDS = {"age": (0, 120), "pay": (0, 1000)}


def catalog(max_groups: int = 1) -> Catalog:
    numbers = [
        Column(name, Kind.INTEGER, bounds=Bounds.of(*ends)) for name, ends in BOUNDS.items()
    ]
    schema = Schema((Column("person", Kind.TEXT), *numbers, Column("street", Kind.TEXT)))
    people = Dataset(
        "people",
        "town",
        schema,
        UnitColumn("person"),
        Limits(max_groups=max_groups, max_rows=1),
        Location("here", ("people",)),
        Epoch("1"),
    )
    return Catalog((Population("town", PrivacyUnit("person")),), (people,))


def tables(column: str, rows: int, count: int) -> list[list[int]]:
    """Ages lie around the middle of their bounds; pays near the lower end, with a long tail."""
    luck = Random(f"{column} {rows}")  # noqa: S311 - made-up people
    low, high = BOUNDS[column]
    draw = {"age": lambda: luck.gauss(45, 18), "pay": lambda: luck.lognormvariate(4.5, 0.7)}
    return [
        [min(max(round(draw[column]()), low), high) for _ in range(rows)] for _ in range(count)
    ]


def answers(sql: str, column: str, numbers: list[int], loss: Loss, runs: int) -> list[float]:
    """What Tacit answers, from the text on, so many times: as many groups of one release."""
    declared = catalog()
    quote = price(parse(f"SELECT {sql} FROM people", declared), declared, loss)  # noqa: S608
    rows = [
        {"person": str(place), "age": None, "pay": None, "street": None, column: number}
        for place, number in enumerate(numbers)
    ]
    table = Reference({("people",): rows}).run(quote.bound.plan, declared, b"salt")
    many = tuple(Secret(np.tile(unseal(tally), runs)) for tally in table.tallies)
    _, released = release(quote, SecretTable(None, many), _gateway())
    column_found = column_of("", quote.bound.readings[0], quote, released)
    return [float(value) for value in column_found.values]  # type: ignore[arg-type]


def kept(units: list[int], max_groups: int, loss: Loss, runs: int) -> list[float]:
    """How many streets Tacit releases of those with so many people, with their noisy counts."""
    declared = catalog(max_groups)
    text = "SELECT street, COUNT(DISTINCT person) FROM people GROUP BY street"
    quote = price(parse(text, declared), declared, loss)
    groups = Secret(tuple((str(street),) for street in range(len(units))))
    table = SecretTable(groups, (Secret(np.array(units)),))
    return [float(len(release(quote, table, _gateway())[0])) for _ in range(runs)]


def kept_alone(units: list[int], max_groups: int, loss: Loss, runs: int) -> list[float]:
    """The same without counts, by the selection that Tacit uses where none are asked for."""
    once = Sensitivity(Fraction(max_groups), Norm.L2, Rule("a person counts once in a street"))
    mechanism, people = choose_keys(once, loss).mechanism, Secret(np.array(units))
    drawn = (mechanism.release(people, once, _gateway()) for _ in range(runs))
    return [float((released > 0).sum()) for released in drawn]


def _gateway() -> LiveGateway:
    return LiveGateway(SystemEntropy(b"accuracy"))
