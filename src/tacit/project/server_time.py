"""The section ``[server.time]`` of the project file: what the time of an answer may reveal.

Anyone who sees when answers arrive learns something about the data, unless the server prevents
it. An operator chooses one of three rules, and a server does not start without a choice:

* ``delay``: every answer leaves after a random delay, which is charged as a part of the
  question's loss. This is what ``tacit init`` writes. It assumes that one person moves the time
  of a question by at most ``person_ms``, which ``tacit calibrate`` measures.
* ``deadline``: every answer leaves at a fixed time after its start. An answer that is not ready
  by then stops the population until an owner has looked.
* ``open``: answers leave when they are ready. Every guarantee says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tacit.project.document import TomlEntry

DELAY, DEADLINE, OPEN = "delay", "deadline", "open"
"""The three rules."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    DELAY: (
        *("person_ms", "measured", "measured_ms", "expected_ms"),
        *("share", "delta", "floor_ms", "places", "deadline"),
    ),
    DEADLINE: ("deadline", "places"),
    OPEN: ("places",),
}
"""The settings of each rule, besides its ``kind``."""

NANOSECONDS = 10**6
"""Nanoseconds in a millisecond: the finest grid of times."""

LEAST_DEADLINE = 0.01
"""Least deadline in seconds: a late answer stops all charges until an owner looks at it."""

LONGEST_MS = 10**6
MOST_PLACES = 1024

CHOICES = (
    'Add a section [server.time] with kind = "delay", and run `tacit calibrate`. The other '
    'rules are kind = "deadline" with deadline = 5, in seconds and at least four times the '
    'slowest question, and kind = "open", which does not protect the time of answers.'
)
"""The advice to an operator whose project file has no rule."""

DECLARED = "declared, not measured"
"""The words of a guarantee about a ``person_ms`` that no measurement supports."""


@dataclass(frozen=True, slots=True)
class ServerTime:
    """The rule for the time of answers, with its settings.

    Example:
        >>> ServerTime(DELAY).share, ServerTime(DELAY).step_ns
        (Fraction(1, 20), 1000000)
    """

    kind: str
    person_ms: Fraction = Fraction(1)
    """How far one person moves the time from a question's start to the engine's result."""
    measured: str | None = None
    """When, where and how ``measured_ms`` was measured; None if nothing was measured."""
    share: Fraction = Fraction(1, 20)
    """The part of a question's loss that pays for its time."""
    delta: Fraction = Fraction(1, 10**14)
    """The most that the time of one question adds to delta."""
    floor_ms: Fraction = Fraction(20)
    """The constant part of a delay, in which noise is drawn and the answer is encoded."""
    deadline: float | None = None
    """Seconds after which answers leave; under a delay, those of fits."""
    places: int | None = None
    """Worker processes of each engine; None for ``[server] processes``."""
    seconds: int = 60
    """The time limit of a question, ``[server] seconds``."""
    expected_ms: Fraction | None = None
    """The most that questions take on average, from the start to the engine's result.

    If answers take longer, the server warns. Without it there is no such alarm.
    """
    measured_ms: Fraction | None = None
    """The ``person_ms`` that the measurement proposed: a smaller one was not measured."""

    @property
    def evidence(self) -> str:
        """How ``person_ms`` is known, as guarantees say it.

        Guarantee: it is the text of a measurement only if ``person_ms`` is at least what that
        measurement proposed.
        """
        if self.measured is None or self.measured_ms is None:
            return DECLARED
        return self.measured if self.person_ms >= self.measured_ms else DECLARED

    @property
    def step_ns(self) -> int:
        """The step of the grid on which delayed answers leave, in nanoseconds."""
        return int(self.person_ms * NANOSECONDS)

    @property
    def floor_steps(self) -> int:
        """The constant part of a delay in whole steps, rounded up."""
        return -(-self.floor_ms // self.person_ms)


def server_time_of(entry: TomlEntry, seconds: int) -> ServerTime:
    """Read the section ``[server.time]``; a question may take ``seconds`` at most."""
    kind = entry.part("kind")
    if kind.text() not in FIELDS:
        raise kind.project_error(f"kind must be one of: {', '.join(FIELDS)}.")
    parts = entry.fields("kind", *FIELDS[kind.text()])
    exactly = {
        name: _between(parts[name], lowest, highest)
        for name, (lowest, highest) in _RANGES.items()
        if name in parts
    }
    if "person_ms" in exactly and (exactly["person_ms"] * NANOSECONDS).denominator != 1:
        raise parts["person_ms"].project_error(
            "person_ms must be a whole number of nanoseconds: it has at most 6 decimals."
        )
    places = parts["places"].whole() if "places" in parts else None
    if places is not None and not 1 <= places <= MOST_PLACES:
        raise parts["places"].project_error(f"places must be from 1 to {MOST_PLACES}.")
    measured = parts["measured"].text() if "measured" in parts else None
    deadline = deadline_of(parts["deadline"], seconds) if "deadline" in parts else None
    if kind.text() == DEADLINE and deadline is None:
        raise entry.project_error(
            "A deadline is missing. Write deadline = 5, in seconds: at least four times the "
            "slowest question."
        )
    return ServerTime(
        kind.text(),
        measured=measured,
        deadline=deadline,
        places=places,
        seconds=seconds,
        **exactly,
    )


def deadline_of(entry: TomlEntry, seconds: int) -> float:
    """Read a deadline in seconds, which the time limit of a question must allow."""
    deadline = float(entry.number())
    if not LEAST_DEADLINE <= deadline <= seconds:
        raise entry.project_error(
            f"deadline must be at least {LEAST_DEADLINE} seconds, and at most `seconds`. A "
            "shorter one would end before most engines answer."
        )
    return deadline


_RANGES: Mapping[str, tuple[Fraction, Fraction]] = {
    "person_ms": (Fraction(1, 1000), Fraction(LONGEST_MS)),
    "measured_ms": (Fraction(1, 1000), Fraction(LONGEST_MS)),
    "share": (Fraction(1, 1000), Fraction(1, 2)),
    "delta": (Fraction(1, 10**15), Fraction(1, 10**6)),
    "floor_ms": (Fraction(0), Fraction(LONGEST_MS)),
    "expected_ms": (Fraction(1, 1000), Fraction(LONGEST_MS)),
}
"""The least and the largest value of each exact setting."""


def _between(entry: TomlEntry, lowest: Fraction, highest: Fraction) -> Fraction:
    number = entry.number()
    if not lowest <= number <= highest:
        raise entry.project_error(
            f"{entry.name} must be from {float(lowest):g} to {float(highest):g}."
        )
    return number
