"""A clock that only sleeping moves, for tests of waits and deadlines."""


class FakeClock:
    """A stand-in for the module `time`, which starts at 50 seconds."""

    def __init__(self) -> None:
        self.now = 50.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.now += seconds


class TurnedClock:
    """A clock of a ledger, in whole seconds, that stands still until a test turns it."""

    now = 1_000_000

    def __call__(self) -> int:
        return self.now
