"""Move tables to a new epoch, when their data has changed.

An epoch is the owner's public name for a state of the data. Answers are stored by epoch: within
one epoch, a repeated question returns the same bytes for free. When the data has changed, the
owner moves the table to a new epoch, and questions are answered from the new data and charged
again. Copies of the earlier epoch are not read any more, and are dropped here.

An epoch has a name of its own for ever. If a table returned to an earlier name, the stored
answers of the earlier data would be returned for the new data, so that such a move is refused.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path

from tacit.core import Dataset, DatedEpoch, PublicTable
from tacit.errors import InvalidValue, TacitError
from tacit.ledger import LONGEST_NAME, utc_day
from tacit.plan import Span
from tacit.project import Project, ProjectText, epoch_fact
from tacit.session.changes import OTHER_TABLES, Change
from tacit.session.engines import read_project
from tacit.session.prepare import Owner
from tacit.session.project import apply_project, planned_changes, project_and_ledger
from tacit.session.served_copies import remove_copies
from tacit.stream import covered_until, names_a_time


def epoch_name(span: Span, today: date) -> str:
    """Return the name of the last period of length ``span`` that is over on ``today``.

    Guarantee: `covered_until` of the name is the first day of the period of ``today``.

    Example:
        >>> [epoch_name(span, date(2026, 11, 17)) for span in Span]
        ['2025', '2026-Q3', '2026-10', '2026-W46', '2026-11-16']
    """
    last = span.start(today) - timedelta(days=1)
    match span:
        case Span.YEARS:
            return f"{last.year:04}"
        case Span.QUARTERS:
            return f"{last.year:04}-Q{(last.month + 2) // 3}"
        case Span.MONTHS:
            return f"{last.year:04}-{last.month:02}"
        case Span.WEEKS:
            year, week, _ = last.isocalendar()
            return f"{year:04}-W{week:02}"
        case Span.DAYS:
            return last.isoformat()


def dated_epochs_of(file: Path, names: Sequence[str]) -> tuple[DatedEpoch, ...]:
    """Return the epochs of tables in the project file, with the day they were declared."""
    with project_and_ledger(file) as (project, home):
        times: dict[str, int] = {}
        for population in set(home.ledger.populations()):
            times |= home.ledger.current_book(population).epochs
    found = []
    for name in names:
        table = project.catalog.table(name)
        at = times.get(epoch_fact(table))
        since = None if at is None else utc_day(at)
        found.append(DatedEpoch(name, table.epoch.label, since))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class EpochMove:
    """A move of tables of a project file to the epoch ``label``.

    ``address`` is for an engine in which only another role may drop a copy, as in `Owner`.
    """

    file: Path
    names: tuple[str, ...]
    label: str
    address: str | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def __post_init__(self) -> None:
        label = self.label
        if not 0 < len(label) <= LONGEST_NAME or not label.isprintable() or not label.strip():
            raise InvalidValue(
                f"The name of an epoch must have 1 to {LONGEST_NAME} printable characters, and "
                "not only spaces."
            )
        if names_a_time(label) and covered_until(label) is None:
            raise InvalidValue(
                f"{label!r} has the form of a day, week, month, quarter or year, and there is "
                "none of this name. Check the numbers, as in 2026-11-16 or 2026-W46."
            )

    def save(self) -> tuple[DatedEpoch, ...]:
        """Write the new epoch into the project file; return the epochs that it replaces.

        Tables that are at this epoch already are not among them. Nothing is recorded in the
        ledger.
        """
        before = self._epochs_to_replace()
        if before:
            self._new_text(before).save(self.file)
        return before

    def record(self, by: str) -> tuple[tuple[DatedEpoch, ...], tuple[Change, ...]]:
        """Save the new epoch, and record it in the ledger as an act of the owner ``by``.

        Return the replaced epochs and the recorded changes. Nothing else on which questions
        depend may be waiting to be recorded: an owner must see other changes first. Quotas,
        larger caps and owners that differ from the ledger stay as they are.

        Guarantee: if the epoch is not recorded, the project file is as it was before, except
        after a crash. Then the same call again records the epoch.
        """
        before = self._epochs_to_replace()
        written = self._new_text(before)
        if before:
            written.save(self.file)
        try:
            self._check_alone(planned_changes(self.file, self.environment))
            recorded = apply_project(
                self.file, by=by, environment=self.environment, needed_only=True
            )
        except BaseException:
            if before:
                replace(written, text=written.read or "", read=written.text).save(self.file)
            raise
        return before, recorded

    def drop_copies(self) -> Iterator[tuple[str, bool]]:
        """Drop copies of earlier epochs; yield each table that had one, and if it is dropped.

        A copy stays if this role may not drop it. It is not read any more.
        """
        for name in self.names:
            remove_copies(self.file, name)
            place = read_project(self.file).places.get(name)
            if place is not None and place.epoch not in {None, self.label}:
                try:
                    Owner(self.file, self.address, self.environment).drop(name)
                except TacitError:  # the engine's own text is not shown
                    yield name, False
                else:
                    yield name, True

    def _epochs_to_replace(self) -> tuple[DatedEpoch, ...]:
        """Return the epochs that the move replaces; refuse a name that was used before."""
        before = dated_epochs_of(self.file, self.names)
        moving = tuple(each for each in before if each.label != self.label)
        with project_and_ledger(self.file) as (project, home):
            for population in home.ledger.populations():
                used = home.ledger.current_book(population).epochs_ever
                for each in moving:
                    fact = epoch_fact(self._table_after(project, each.table))
                    if fact in used:
                        raise InvalidValue(
                            f"{each.table!r} had the epoch {self.label!r} before, from "
                            f"{utc_day(used[fact])} on. Answers about that data are stored and "
                            "would be returned for the new data. Choose another name."
                        )
        return moving

    def _table_after(self, project: Project, name: str) -> Dataset | PublicTable:
        table = project.catalog.table(name)
        return replace(table, epoch=replace(table.epoch, label=self.label), copy=None)

    def _new_text(self, before: Sequence[DatedEpoch]) -> ProjectText:
        text = ProjectText.at(self.file)
        private = text.root().value.get("datasets", {})
        for each in before:
            section = "datasets" if each.table in private else "public"
            text = text.with_value((section, each.table, "epoch"), self.label)
        return text

    def _check_alone(self, planned: Sequence[Change]) -> None:
        """Refuse if the file has other changes than those that a new epoch makes."""
        names = tuple(f"{sign} {name}: epoch " for sign in "+-" for name in self.names)
        for change in (each for each in planned if each.stops_questions):
            details = [each for each in change.details if each != OTHER_TABLES]
            if change.declaration is None or not all(
                each.startswith(names) for each in details
            ):
                raise InvalidValue(
                    f"{self.file.name} has other changes that are not in the ledger, so the "
                    "epoch was not moved. Run `tacit apply` first."
                )
