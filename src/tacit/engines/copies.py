"""Whether the ordered copies of a catalogue are where they are said to be; no row is read."""

from collections.abc import Callable
from dataclasses import replace

from tacit.core.catalog import Catalog
from tacit.engines.print.bounded_rows import with_table
from tacit.engines.print.join import columns
from tacit.errors import InvalidValue


def check_copies(
    catalog: Catalog, dialect: str, look: Callable[[str], object], failure: type[Exception]
) -> None:
    """Refuse a copy that is not there, before a question is paid for that would read it."""
    for dataset in catalog.datasets:
        for table in dataset.copy.tables if dataset.copy else ():
            part = with_table(replace(catalog, public=()), dataset.name, table)
            try:
                look(columns(dataset.name, part, dialect))
            except failure as error:
                raise InvalidValue(
                    f"The ordered copy of {dataset.name!r} is not here with the columns "
                    "declared, or its role may not read it; make it anew: "
                    f"tacit prepare {dataset.name}"
                ) from error
