"""Errors of a mean and of a robust location against privacy and size, and their picture.

Everything is computed from the laws of the noise, on made-up values from a fixed seed: the same
figures come out on every machine.
"""

from functools import cache
from itertools import pairwise
from math import log10, sqrt

import numpy as np

from tacit.core.domain import Bounds
from tacit.core.loss import Loss
from tacit.robust.influence import location
from tacit.robust.location import Huber, RobustLocation

SIZES = 100, 300, 1000, 3000, 10_000
EPSILONS = 0.1, 1.0
POISON = {"clean": 0.0, "poisoned": 0.05}
REACH = 50
RUNS = 12
WIDTH, HEIGHT, EDGE = 720, 360, 56
COLOURS = "#8a8a8a", "#e3a18a", "#c2562d", "#8fb4dd", "#2a6fbb"
Curves = dict[str, list[float]]


@cache
def curves(story: str) -> Curves:
    """By name the root mean squared error for each size; the truth is 0, the deviation 1."""
    found: Curves = {"Huber, exact": []}
    found |= {f"mean, ε = {epsilon:g}": [] for epsilon in EPSILONS}
    found |= {f"Huber, ε = {epsilon:g}": [] for epsilon in EPSILONS}
    for size in SIZES:
        rng = np.random.default_rng(size)
        data = rng.normal(0, 1, (RUNS, size))
        data[:, : round(POISON[story] * size)] = 1e6
        exact = [location(each, Huber()).for_the_owner for each in data]
        found["Huber, exact"].append(sqrt(np.mean(np.square(exact))))
        off = np.mean(np.clip(data, -REACH, REACH).mean(axis=1) ** 2)
        lengths = [_where().lengths(each) for each in data]
        for epsilon in EPSILONS:
            noise = 2 * (2 * REACH / (epsilon * size)) ** 2
            found[f"mean, ε = {epsilon:g}"].append(sqrt(off + noise))
            squares = [_square(each, epsilon) for each in lengths]
            found[f"Huber, ε = {epsilon:g}"].append(sqrt(np.mean(squares)))
    return found


def _where() -> RobustLocation:
    return RobustLocation(Bounds.of(-REACH, REACH), Huber(), 1.0, Loss.pure(1), points=8001)


def _square(lengths: np.ndarray, epsilon: float) -> float:
    """The mean square of what the exponential mechanism chooses."""
    weights = np.exp(-epsilon / 2 * (lengths - lengths.min()))
    points = np.linspace(-REACH, REACH, lengths.size)
    return float(weights @ points**2 / weights.sum())


def drawn(story: str) -> str:
    """The curves as an SVG, both axes by powers of ten."""
    shown = curves(story)
    lines = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    for ten in (-2, -1, 0, 1):
        lines.append(_line((EDGE, _down(10**ten)), (WIDTH - 170, _down(10**ten)), "#e4e4e4", 1))
        lines.append(_text(EDGE - 8, _down(10**ten) + 4, f"{10**ten:g}", "end"))
    lines += [_text(_across(n), HEIGHT - EDGE + 22, f"n = {n:,}", "middle") for n in SIZES]
    lines.append(_text(EDGE, 20, "root mean squared error; one value deviates by 1", "start"))
    for (name, errors), colour in zip(shown.items(), COLOURS, strict=True):
        places = [(_across(n), _down(e)) for n, e in zip(SIZES, errors, strict=True)]
        lines += [_line(one, other, colour, 2.5) for one, other in pairwise(places)]
        lines += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">'
            f"<title>{name}, n = {n}: {error:.3g}</title></circle>"
            for (x, y), n, error in zip(places, SIZES, errors, strict=True)
        ]
    names = sorted(zip(shown, COLOURS, strict=True), key=lambda each: shown[each[0]][-1])
    for place, (name, colour) in enumerate(reversed(names)):
        top = 60 + 24 * place
        lines.append(_line((WIDTH - 150, top), (WIDTH - 126, top), colour, 2.5))
        lines.append(_text(WIDTH - 118, top + 4, name, "start"))
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    font = 'font-family="sans-serif" font-size="12"'
    body = "\n".join(lines)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>\n{body}\n</svg>\n'


def _across(size: int) -> float:
    return EDGE + 30 + log10(size / SIZES[0]) / 2 * (WIDTH - 250 - EDGE)


def _down(error: float) -> float:
    return HEIGHT - EDGE - (log10(max(error, 0.005)) + 2.3) / 4.3 * (HEIGHT - 1.6 * EDGE)


def _line(start: tuple[float, float], end: tuple[float, float], look: str, wide: float) -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="{look}" stroke-width="{wide}"/>'


def _text(x: float, y: float, said: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="#333" text-anchor="{anchor}">{said}</text>'
