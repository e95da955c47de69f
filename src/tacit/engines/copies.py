"""Whether the ordered copies of a catalogue are what they are said to be; no row is read."""

from collections.abc import Callable, Sequence

from tacit.core.catalog import Catalog
from tacit.core.dataset import Dataset
from tacit.engines.physical_types import Types, check_types
from tacit.engines.print.bounded_rows import with_table
from tacit.engines.print.join import columns
from tacit.errors import InvalidValue

Look = Callable[[str], Sequence[str]]
"""Runs a statement that finds no row, and gives the types of its columns."""


def check_copies(
    catalog: Catalog, dialect: str, look: Look, types: Types, failure: type[Exception]
) -> tuple[Dataset, ...]:
    """Refuse a copy that is not there, or is of other types, before a question is paid for.

    What was found is given as datasets of its own, each table of a copy one.
    """
    found = []
    for dataset in catalog.datasets:
        for table in dataset.copy.tables if dataset.copy else ():
            beside = with_table(catalog, dataset.name, table)
            part = beside.dataset(dataset.name)
            try:
                seen = look(columns(dataset.name, beside, dialect))
                check_types(part, dict(zip(part.schema.names, seen, strict=True)), types)
            except (failure, InvalidValue) as error:
                raise InvalidValue(
                    f"The ordered copy of {dataset.name!r} is not here with the columns "
                    "declared, or its role may not read it; make it anew: "
                    f"tacit prepare {dataset.name}"
                ) from error
            found.append(part)
    return tuple(found)
