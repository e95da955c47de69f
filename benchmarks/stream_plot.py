"""A picture of the error of totals by the number of steps, as an SVG that any page shows."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log10

WIDTH, HEIGHT, EDGE = 640, 360, 60
COLOURS = ("#8a8a8a", "#c2562d", "#2a6fbb", "#3a9a5b")

Points = Sequence[tuple[int, float]]


def plotted(lines: Mapping[str, Points]) -> str:
    """Deviations by steps, both axes by powers of ten."""
    steps = [step for points in lines.values() for step, _ in points]
    errors = [error for points in lines.values() for _, error in points]
    left, right, top = log10(min(steps)), log10(max(steps)), log10(max(errors))

    def place(point: tuple[int, float]) -> tuple[float, float]:
        across = (log10(point[0]) - left) / (right - left)
        up = log10(point[1]) / top
        return EDGE + across * (WIDTH - 3 * EDGE), HEIGHT - EDGE - up * (HEIGHT - 2 * EDGE)

    title = "Greatest error of a total, by the steps of the horizon, at ρ = 1/2"
    drawn = [_text(WIDTH / 2 - EDGE / 2, 24, title)]
    for ten in range(int(top) + 1):
        x, y = place((min(steps), 10**ten))
        drawn.append(_line((x, y), (WIDTH - 2 * EDGE, y), 'stroke="#e4e4e4"'))
        drawn.append(_text(EDGE - 20, y + 4, f"{10**ten}"))
    drawn += [
        _text(place((n, 1))[0], HEIGHT - EDGE + 24, f"{n:,}") for n in (100, 1000, 10**4, 10**5)
    ]
    above = 0.0
    for colour, (name, points) in zip(COLOURS, lines.items(), strict=True):
        placed = [place(point) for point in points]
        look = f'stroke="{colour}" stroke-width="2.5"'
        drawn += [_line(one, other, look) for one, other in pairwise(placed)]
        above = max(placed[-1][1] + 4, above + 14)  # names stand below each other
        drawn.append(_text(placed[-1][0] + 55, above, name))
    body = "\n".join(drawn)
    font = 'font-family="sans-serif" font-size="12" text-anchor="middle"'
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    space = 'xmlns="http://www.w3.org/2000/svg"'
    white = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    return f"<svg {space} {size} {font}>\n{white}\n{body}\n</svg>\n"


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{words}</text>'


def _line(one: tuple[float, float], other: tuple[float, float], look: str) -> str:
    (x, y), (u, v) = one, other
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}" {look}/>'
