"""A picture of growth, both axes by powers of ten, as an SVG that any page shows."""

from collections.abc import Mapping
from itertools import pairwise
from math import log10

WIDTH, HEIGHT, EDGE = 640, 360, 60
COLOURS = {"bare": "#8a8a8a", "prepared": "#2a6fbb", "unprepared": "#c2562d"}

Grown = Mapping[tuple[str, int], Mapping[str, float]]


def plotted(grown: Grown) -> str:
    """Seconds by rows: bare, prepared and not."""
    lines = {
        form: [(rows, each["ours"]) for (own, rows), each in grown.items() if own == form]
        for form in ("prepared", "unprepared")
    }
    bare = [(rows, each["bare"]) for (own, rows), each in grown.items() if own == "prepared"]
    lines = {"bare": bare} | lines
    tens = [log10(seconds) for points in lines.values() for _, seconds in points]
    low, high = int(min(tens) // 1), int(-(-max(tens) // 1))
    sizes = [rows for rows, _ in bare]

    def across(rows: float) -> float:
        part = log10(rows / sizes[0]) / log10(sizes[-1] / sizes[0])
        return EDGE + part * (WIDTH - 3 * EDGE)

    def down(seconds: float) -> float:
        part = (log10(seconds) - low) / (high - low)
        return HEIGHT - EDGE - part * (HEIGHT - 2 * EDGE)

    drawn = [_text(WIDTH / 2 - EDGE, 24, "Seconds of one question on DuckDB, two cores")]
    for ten in range(low, high + 1):
        at = down(10**ten)
        drawn.append(_line((EDGE, at), (WIDTH - 2 * EDGE, at), 'stroke="#e4e4e4"'))
        drawn.append(_text(EDGE - 30, at + 4, f"{10**ten:g} s"))
    drawn += [_text(across(rows), HEIGHT - EDGE + 24, f"{rows:,} rows") for rows in sizes]
    for name, points in lines.items():
        placed = [(across(rows), down(seconds)) for rows, seconds in points]
        look = f'stroke="{COLOURS[name]}" stroke-width="2.5"'
        drawn += [_line(one, other, look) for one, other in pairwise(placed)]
        for (x, y), (_, seconds) in zip(placed, points, strict=True):
            drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[name]}"/>')
            # the lowest line has its numbers below it, where no other line runs
            drawn.append(_text(x, y + 20 if name == "bare" else y - 10, f"{seconds:.2g}"))
        x, y = placed[-1]
        drawn.append(_text(x + 50, y + 4, name))
    body = "\n".join(drawn)
    font = 'font-family="sans-serif" font-size="12" text-anchor="middle"'
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>\n{body}\n</svg>\n'


def _line(start: tuple[float, float], end: tuple[float, float], look: str) -> str:
    (left, top), (right, bottom) = start, end
    ends = f'x1="{left:.1f}" y1="{top:.1f}" x2="{right:.1f}" y2="{bottom:.1f}"'
    return f"<line {ends} {look}/>"


def _text(x: float, y: float, said: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="#333">{said}</text>'
