"""Findings as bars, drawn in the page itself: no script, no network."""

from collections.abc import Sequence
from html import escape

from tacit.attacks.finding import Finding

WIDTH, LEFT, ROW = 760, 330, 26
INK, GOOD, BAD, LIMIT = "#444", "#3b7d5c", "#b4443c", "#20639b"


def chart(findings: Sequence[Finding]) -> str:
    """A bar for each finding, with its interval, a tick where chance is, and one for the limit.

    Example:
        >>> from tacit.attacks.measured import Measured
        >>> told = Finding("averaging", "anew", "is Bob in?", Measured.share(9, 10), 0.5)
        >>> chart([told]).startswith("<svg")
        True
    """
    height = ROW * len(findings) + 34
    lines = ['<rect width="100%" height="100%" fill="#fff"/>', _axis(len(findings))]
    lines += [_bar(finding, ROW * place + 6) for place, finding in enumerate(findings)]
    label = "What each attacker learned: bars from 0 to 100 of 100"
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}" '
        f'width="{WIDTH}" font-family="sans-serif" font-size="12">{"".join(lines)}</svg>'
    )


def _axis(rows: int) -> str:
    bottom = ROW * rows + 4
    ticks = "".join(
        f'<line x1="{_x(share)}" x2="{_x(share)}" y1="0" y2="{bottom}" stroke="#ddd"/>'
        f'<text x="{_x(share)}" y="{bottom + 16}" text-anchor="middle" fill="{INK}">'
        f"{100 * share:.0f}%</text>"
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    return f"<g>{ticks}</g>"


def _bar(finding: Finding, top: int) -> str:
    success, middle = finding.success, top + 9
    wide, low, high = _x(success.value) - _x(0), _x(success.low), _x(success.high)
    colour = GOOD if finding.verdict.good else BAD
    name = escape(f"{finding.attack}: {finding.system}")
    parts = [
        f"<title>{escape(str(finding))}</title>",
        f'<text x="{LEFT - 8}" y="{top + 13}" text-anchor="end" fill="{INK}">{name}</text>',
        f'<rect x="{_x(0)}" y="{top}" width="{wide:.1f}" height="18" fill="{colour}"/>',
        f'<line x1="{low}" x2="{high}" y1="{middle}" y2="{middle}" stroke="#111"/>',
        _tick(finding.chance, top, INK, "2 2"),
    ]
    if finding.allowed is not None:
        parts.append(_tick(finding.allowed, top, LIMIT, ""))
    return f"<g>{''.join(parts)}</g>"


def _tick(share: float, top: int, colour: str, dashes: str) -> str:
    return (
        f'<line x1="{_x(share)}" x2="{_x(share)}" y1="{top - 2}" y2="{top + 20}" '
        f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'
    )


def _x(share: float) -> float:
    return round(LEFT + share * (WIDTH - LEFT - 30), 1)
