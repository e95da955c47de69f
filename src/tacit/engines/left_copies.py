"""Tables that are left of copies whose making was ended in the midst of it.

Where an engine has no transactions, a process that is killed leaves tables behind. They hold
people's rows, and nobody reads them. A making writes first who makes what, into a table beside
the copy; so the next making of the same table by the same project file knows which tables are
its own, and drops them. Copies of other project files stay, also where these share the ledger.
"""

import re
from collections.abc import Iterable

from tacit.core.dataset import ValidatedCopy
from tacit.engines.prepare import Preparation, Run
from tacit.engines.print.copy import dropped, facts_in, tables_in

WHOSE = ("table: ", "maker: ")
"""How the lines beside a copy begin that say of which table it is, and by which ledger."""


def drop_left(making: Preparation, run: Run) -> None:
    """Drop the tables of other makings of the same table by the same file and ledger.

    Guarantee: what is dropped has a record of its own, which says that this file made it.
    """
    listed = [making.dialect.listed_table(row) for row in run(_listing(making))]
    whose = {fact for fact in making.facts if fact.startswith(WHOSE)} | set(making.notes)
    for record in _records(making.copy, map(str, listed)):
        written = {
            str(fact) for (fact,) in run(facts_in((*making.where, record), making.dialect))
        }
        if making.notes and whose <= written:
            _drop(making, record, run, listed)


def _listing(making: Preparation) -> str:
    return tables_in(making.where, making.dialect)


def _records(copy: ValidatedCopy, listed: Iterable[str]) -> list[str]:
    """Names of records beside other copies of the same name and ledger, by their form alone."""
    mine = copy.record[-1]
    known = re.fullmatch(r"(tacit_.+_)[0-9a-f]{8}([0-9a-f]{8})[0-9a-f]{12}", mine)
    if known is None:
        return []
    stem, order = map(re.escape, known.groups())
    form = re.compile(f"{stem}[0-9a-f]{{8}}{order}[0-9a-f]{{12}}")
    return [name for name in listed if form.fullmatch(name) and name != mine]


def _drop(making: Preparation, record: str, run: Run, listed: Iterable[str]) -> None:
    """Drop the parts of a making, and its record at last."""
    parts = [name for name in listed if re.fullmatch(re.escape(record) + r"_\d+", name)]
    for name in (*parts, record):
        run(dropped((*making.where, name), making.dialect))
