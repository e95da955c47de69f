"""How a question is answered, in a sentence: from public facts, like the choice itself."""

from tacit.core.catalog import Catalog
from tacit.core.dataset import UnitColumn
from tacit.engines.print.form import copy_to_read, row_by_row
from tacit.plan.bounded import BoundedPlan
from tacit.plan.source import one_row


def explained(plan: BoundedPlan, catalog: Catalog) -> str:
    """Which form answers ``plan``, and what would make it faster."""
    source, name = plan.source, plan.source.dataset
    if one_row(source, catalog):
        had = "Each unit has one row"
        if source.gathered:
            had = "The rows of each unit are gathered into one"
        return f"{had}; nothing is bounded."
    by_row = row_by_row(plan, catalog)
    copy = copy_to_read(plan, catalog)
    if copy is not None:
        how = "Row by row" if by_row else "Rows grouped by unit,"
        return f"{how} from the ordered copy of epoch {copy.epoch.label}."
    alone = not (source.gathered or source.beside)
    owned = isinstance(catalog.dataset(name).unit, UnitColumn)
    if plan.max_rows_in_all is None:
        more = f"max_rows_in_all of {name} would let a copy be read"
        how = "Rows grouped by unit first"
    else:
        more = f"tacit prepare {name} would make it a pass"
        how = "A window over the table" + ("" if by_row else ", then rows grouped by unit")
    if not (alone and owned):
        more = "a copy is read where a question asks one table that names its unit"
    return f"{how}; {more}."
