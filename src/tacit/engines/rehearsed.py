"""Statements that an engine is asked to read before anybody pays for them, each once."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256

from tacit.core.catalog import Catalog
from tacit.engines.ask import statement
from tacit.engines.print.listed import listed
from tacit.engines.print.rows import Rows
from tacit.engines.print.sql_dialect import Dialect
from tacit.errors import InvalidValue
from tacit.plan.bounded import BoundedPlan

MOST = 4096
"""Statements that are remembered."""


class Rehearsed:
    """What was found to be possible, each tried once; the latest are remembered."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def once(self, name: bytes, attempt: Callable[[], object]) -> None:
        """Let ``attempt`` try what is not known by its ``name``; what raises stays unknown."""
        if name in self._known:
            return
        attempt()
        self._known[name] = None
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    def each(self, texts: Sequence[str], attempt: Callable[[str], object]) -> None:
        """The same for statements, by their texts."""
        for text in texts:
            self.once(sha256(text.encode()).digest(), partial(attempt, text))


def statements(
    plan: BoundedPlan, catalog: Catalog, salt: bytes, dialect: Dialect, *, rows: bool
) -> tuple[str, ...]:
    """All statements that `ask` may run for ``plan``, or `ask_rows` where it asks for rows."""
    if rows:
        return (listed(plan, catalog, salt, dialect),)
    text = statement(plan, catalog, salt, dialect)
    if not Rows(plan, catalog, salt, dialect).streamed:
        return (text,)
    return text, statement(plan, catalog, salt, dialect, use_copy=False)


def cannot_run(plan: BoundedPlan) -> InvalidValue:
    """Why a plan is refused that an engine cannot run, by its public size alone."""
    return InvalidValue(
        f"This engine cannot run a question of {len(plan.tallies)} sums over "
        f"{len(plan.keys)} keys, whatever the rows are; ask for fewer columns, or fit fewer "
        "features. Nothing was charged."
    )
