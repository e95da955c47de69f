"""Where rows come from. Every relation below the top carries the unit of its rows."""

from dataclasses import dataclass

from tacit.plan.expression import Expression


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of a dataset."""

    dataset: str


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which a condition holds."""

    source: "Relation"
    condition: Expression


Relation = Scan | Filter


def datasets(relation: Relation) -> tuple[str, ...]:
    """The names of the datasets that ``relation`` reads, in order.

    Example:
        >>> datasets(Scan("visits"))
        ('visits',)
    """
    match relation:
        case Scan(dataset):
            return (dataset,)
        case Filter(source, _):
            return datasets(source)
