"""A picture of what models explain by rows and epsilon, a panel each, as an SVG."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log10

WIDTH, HEIGHT, TOP, BOTTOM = 260, 300, 64, 250
LEFT, RIGHT = 40, 228
COLOURS = "#8a8a8a", "#173f6c", "#2a6fbb", "#a9c9ea"

Curves = Mapping[str, Sequence[float]]


def plotted(panels: Mapping[str, Curves], sizes: Sequence[int]) -> str:
    """For each model and each of its curves the share explained at each size, from 0 to 1."""
    drawn = [f'<rect width="{WIDTH * len(panels)}" height="{HEIGHT}" fill="#fff"/>']
    for place, (title, curves) in enumerate(panels.items()):
        inside = "\n".join(_panel(title, curves, sizes))
        drawn.append(f'<g transform="translate({WIDTH * place} 0)">\n{inside}\n</g>')
    names = next(iter(panels.values()))
    for place, (name, colour) in enumerate(zip(names, COLOURS, strict=True)):
        left = LEFT + 130 * place
        drawn.append(_line((left, 20), (left + 24, 20), colour, 2.5))
        drawn.append(_text(left + 30, 24, name, "start"))
    size = f'width="{WIDTH * len(panels)}" height="{HEIGHT}"'
    box = f'viewBox="0 0 {WIDTH * len(panels)} {HEIGHT}"'
    look = 'font-family="sans-serif" font-size="12"'
    body = "\n".join(drawn)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} {look}>\n{body}\n</svg>\n'


def _panel(title: str, curves: Curves, sizes: Sequence[int]) -> list[str]:
    across = {
        n: LEFT + log10(n / sizes[0]) / log10(sizes[-1] / sizes[0]) * (RIGHT - LEFT)
        for n in sizes
    }
    drawn = [_text((LEFT + RIGHT) / 2, TOP - 14, title, "middle")]
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        drawn.append(_line((LEFT, _down(part)), (RIGHT, _down(part)), "#e4e4e4", 1))
        drawn.append(_text(LEFT - 6, _down(part) + 4, f"{part:g}", "end"))
    tens = [n for n in sizes if log10(n).is_integer()]
    drawn += [_text(across[n], BOTTOM + 20, f"{n:,}", "middle") for n in tens]
    drawn.append(_text((LEFT + RIGHT) / 2, BOTTOM + 38, "rows", "middle"))
    for (name, shares), colour in zip(curves.items(), COLOURS, strict=True):
        places = [(across[n], _down(share)) for n, share in zip(sizes, shares, strict=True)]
        drawn += [_line(one, other, colour, 2.5) for one, other in pairwise(places)]
        drawn += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">'
            f"<title>{title}, {name}, {n:,} rows: {share:.3f}</title></circle>"
            for (x, y), n, share in zip(places, sizes, shares, strict=True)
        ]
    return drawn


def _down(share: float) -> float:
    """What is below 0, worse than a guess, stands at 0."""
    return BOTTOM - max(0.0, share) * (BOTTOM - TOP)


def _line(start: tuple[float, float], end: tuple[float, float], look: str, wide: float) -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="{look}" stroke-width="{wide}"/>'


def _text(x: float, y: float, said: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="#333" text-anchor="{anchor}">{said}</text>'
