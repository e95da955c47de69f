"""A question whose every part is bounded: what an engine runs, and what a proof speaks of."""

from dataclasses import dataclass

from tacit.core.column import Kind
from tacit.core.keys import Key, Keys
from tacit.plan.calendar import Span
from tacit.plan.fold import Fold
from tacit.plan.source import Source
from tacit.plan.steps import ColumnSteps, Condition, Steps
from tacit.plan.tally import Tally


@dataclass(frozen=True, slots=True)
class ColumnKey:
    """Groups by the values of a column; those that are not public are not there, nor is NULL.

    Where ``keys`` is None the values are secret, until a selection releases some.
    """

    name: str
    column: str
    kind: Kind
    keys: Keys | None


@dataclass(frozen=True, slots=True)
class CaseKey:
    """Groups by the first condition that holds: the question itself names them."""

    name: str
    whens: tuple[tuple[Condition, Key], ...]
    otherwise: Key | None
    keys: Keys


@dataclass(frozen=True, slots=True)
class PeriodKey:
    """Groups by the period of a clamped day; each is named by the day that it starts on.

    Where ``keys`` is None the periods are secret, until a selection releases some.
    """

    name: str
    day: ColumnSteps
    span: Span
    keys: Keys | None


@dataclass(frozen=True, slots=True)
class StepsKey:
    """Groups by a whole number of a row: those listed; a row of another number is in none."""

    name: str
    steps: Steps
    keys: Keys


BoundedKey = ColumnKey | CaseKey | PeriodKey | StepsKey


@dataclass(frozen=True, slots=True)
class FirstPeriods:
    """Rows of the period ``now`` count, of units that have it among their first ``most``.

    The periods of a unit are those in which it has rows that meet the condition.

    Guarantee: asked again for every period, a unit counts in at most ``most`` of them, as long
    as no row of a period before is taken away or changed. Rows that come late only use up
    periods: what was answered before them stands.
    """

    period: PeriodKey
    now: str
    most: int


@dataclass(frozen=True, slots=True)
class BoundedPlan:
    """One bounded relation that feeds all tallies and the selection of keys.

    Rows where the unit is NULL or not in the fold, or where the condition is not true, are
    dropped, and those that are not of a unit's ``first_periods``, where these are said. Then
    each unit keeps at most ``max_rows_in_all`` rows, where that is said; of these, rows where a
    key is NULL or not public are dropped, and it keeps at most ``max_groups`` groups, and in a
    group at most ``max_rows`` rows where a tally keeps rows. Which ones is a function of the
    unit's own rows and a salt.
    """

    source: Source
    condition: Condition
    keys: tuple[BoundedKey, ...]
    max_groups: int
    max_rows: int
    tallies: tuple[Tally, ...]
    max_rows_in_all: int | None = None
    first_periods: FirstPeriods | None = None
    fold: Fold | None = None
