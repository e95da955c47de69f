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


@dataclass(frozen=True, slots=True)
class Join:
    """Rows of ``source``, each beside those of ``dataset`` that belong to it.

    ``left`` is a column of ``source``, as dataset.column, and ``right`` one of ``dataset``.
    They are the two ends of a declared link, or both name the unit: a row belongs to one unit
    before and after.
    """

    source: "Relation"
    dataset: str
    left: str
    right: str


Relation = Scan | Filter | Join


def datasets(relation: Relation) -> tuple[str, ...]:
    """The names of the datasets that ``relation`` reads, in order.

    Example:
        >>> datasets(Filter(Join(Scan("visits"), "patients", "visits.patient", "id"), True))
        ('visits', 'patients')
    """
    match relation:
        case Scan(dataset):
            return (dataset,)
        case Filter(source, _):
            return datasets(source)
        case Join(source, dataset, _, _):
            return (*datasets(source), dataset)
