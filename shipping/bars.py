"""Print measured figures next to what is wanted, one line each, as all recipes do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """A measured figure, what is wanted of it, and whether the figure is good enough."""

    name: str
    measured: str
    wanted: str
    ok: bool

    def __str__(self) -> str:
        verdict = "ok" if self.ok else "short"
        return f"bar {self.name}: {self.measured} (wanted {self.wanted}) {verdict}"


def at_most(name: str, measured: float, most: float) -> Bar:
    """Build the bar of a figure that must not exceed ``most``."""
    return Bar(name, f"{measured:g}", f"at most {most:g}" if most else "0", measured <= most)


def between(name: str, measured: float, least: float, most: float) -> Bar:
    """Build the bar of a figure that must lie between ``least`` and ``most``."""
    return Bar(name, f"{measured:g}", f"{least:g} to {most:g}", least <= measured <= most)


def show(bars: list[Bar]) -> int:
    """Print the bars, and return the exit code of the recipe: 1 where a bar is short."""
    for bar in bars:
        print(bar)
    return 0 if all(bar.ok for bar in bars) else 1
