"""Ordered copies of the project file: where each lies, and of which epoch it is."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tacit.core.dataset import Dataset, Epoch, OrderedCopy
from tacit.errors import TacitError
from tacit.project.entry import Entry, Fault

FILES = (".duckdb", ".db")
PARTS = 2


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """Where an owner wants a copy: in a schema, or in a DuckDB file beside the project.

    One without an ``epoch`` is not made yet. The ``order`` is a mark of the salt of a ledger.

    Example:
        >>> CopyPlace("copies.duckdb").path
        ('copies.duckdb', 'main')
    """

    where: str
    parts: int = PARTS
    epoch: str | None = None
    order: str | None = None

    @property
    def file(self) -> str | None:
        """The file that it lies in, where that is one of its own."""
        return self.where if self.where.endswith(FILES) else None

    @property
    def path(self) -> tuple[str, ...]:
        """What stands before the names of its tables; a file is called by its own name."""
        return (self.where,) if self.file is None else (self.where, "main")


def place_of(entry: Entry) -> CopyPlace:
    """``copy = { where = "main", parts = 2, epoch = "1", order = "5eed" }`` of a dataset."""
    parts = entry.fields("where", "parts", "epoch", "order")
    return CopyPlace(
        entry.part("where").text(),
        parts["parts"].whole() if "parts" in parts else PARTS,
        parts["epoch"].text() if "epoch" in parts else None,
        parts["order"].text() if "order" in parts else None,
    )


def with_copy(dataset: Dataset, entry: Entry) -> Dataset:
    """The dataset with the copy that the file says was made; an old one is refused."""
    place = place_of(entry)
    if place.epoch is None:
        return dataset
    try:
        made = OrderedCopy.of(dataset.name, place.path, place.parts, Epoch(place.epoch))
        entry.part("order")
        return replace(dataset, copy=replace(made, order=place.order))
    except TacitError as error:
        raise entry.fault(str(error)) from error


def told_apart(datasets: Iterable[Dataset]) -> None:
    """Refuse copies whose tables an engine without upper case would take for one another."""
    found: dict[tuple[str, ...], str] = {}
    for dataset in datasets:
        for table in dataset.copy.tables if dataset.copy else ():
            place = (dataset.location.engine, *(part.casefold() for part in table))
            if place in found:
                raise Fault(
                    ("datasets", dataset.name, "copy"),
                    f"The copies of {found[place]!r} and {dataset.name!r} would be one table; "
                    "say another where.",
                )
            found[place] = dataset.name
