"""The report of an attack: as text, as JSON, and as one HTML page with bar charts.

The charts are SVG inside of the page, which needs no script and no network.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tacit.attacks.finding import Finding

WIDTH, LEFT, ROW = 760, 330, 26
INK, GOOD, BAD, LIMIT = "#444", "#3b7d5c", "#b4443c", "#20639b"


def chart(findings: Sequence[Finding]) -> str:
    """Return a bar chart with the interval, the chance level and the limit of each finding.

    Example:
        >>> from tacit.attacks.finding import Measured
        >>> found = Finding("averaging", "exact", "is Bob in?", Measured.share(9, 10), 0.5)
        >>> chart([found]).startswith("<svg")
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


# ------------------------------------------------------------------ report

WARNING = (
    "This report was computed from exact data and is not private. Protect it as you protect "
    "the tables."
)
LEGEND = (
    "A bar shows how often the attacker is right. The line in it is the 99.99% confidence "
    "interval. The dashed line is a guess without any data. The blue line is a limit: the "
    "guarantee allows no attacker more. A success is measurably above a guess or its limit if "
    "its whole interval is above it."
)
HEADINGS = ("attack", "on", "learns", "right", "a guess", "allowed", "verdict")
STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-size:14px}td,th{text-align:left;padding:.3rem .7rem;"
    "border-bottom:1px solid #ddd;vertical-align:top}.good{color:#2b6a4b}.bad{color:#a0332c}"
    ".warning{border-left:4px solid #b4443c;padding:.3rem 1rem;background:#fbf1f0}"
    "h2{font-size:1.05rem}td:nth-child(4),th{white-space:nowrap}svg{max-width:100%;height:auto}code{overflow-wrap:anywhere}"
)


@dataclass(frozen=True, slots=True)
class AttackedItem:
    """A question, a table or a story that was attacked, with its findings."""

    title: str
    findings: tuple[Finding, ...]
    about: str = ""
    """One sentence that explains what is attacked, where the title does not say it."""


@dataclass(frozen=True, slots=True)
class AttackReport:
    """All findings of an attack, with exact answers and with Tacit at a stated loss."""

    subject: str
    loss: str
    parts: tuple[AttackedItem, ...]
    notes: tuple[str, ...] = ()
    warning: str = WARNING

    @property
    def heading(self) -> str:
        """The first line of the report: what was attacked, and at which privacy loss."""
        return f"Attacks on {self.subject}, through Tacit at {self.loss} in all."

    def __str__(self) -> str:
        lines = [self.heading, self.warning]
        for part in self.parts:
            title = f"{part.title}: {part.about}" if part.about else part.title
            lines += ["", title, *(f"  {finding}" for finding in part.findings)]
        return "\n".join([*lines, *(("", *self.notes) if self.notes else ())])

    def to_json(self) -> str:
        """Return the report as JSON."""
        content = {
            "subject": self.subject,
            "loss": self.loss,
            "warning": self.warning,
            "parts": [
                {
                    "title": part.title,
                    "about": part.about,
                    "findings": [each.to_dict() for each in part.findings],
                }
                for part in self.parts
            ],
            "notes": list(self.notes),
        }
        return json.dumps(content, ensure_ascii=False, indent=2)

    def html(self) -> str:
        """Return one HTML page that needs no other file and no network.

        Guarantee: names, questions and keys are escaped, so that a browser shows them as text.
        """
        body = "".join(_section(part) for part in self.parts)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        title = f"Attacks on {escape(self.subject)}"
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{STYLE}</style></head><body><h1>{title}</h1>"
            f'<p class="warning">{escape(self.warning)}</p>'
            f"<p>Through Tacit: {escape(self.loss)} in all. {escape(LEGEND)}</p>"
            f"{body}{notes}</body></html>\n"
        )


def _section(part: AttackedItem) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
    rows = "".join(finding.html_row() for finding in part.findings)
    about = f"<p>{escape(part.about)}</p>" if part.about else ""
    return (
        f"<h2><code>{escape(part.title)}</code></h2>{about}{chart(part.findings)}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def count_of(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural if the count is not 1.

    Example:
        >>> count_of(1, "question"), count_of(2, "question")
        ('1 question', '2 questions')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def side_by_side(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings grouped by attack, in the order in which attacks first appear."""
    first = {finding.attack: place for place, finding in reversed(list(enumerate(findings)))}
    return tuple(sorted(findings, key=lambda finding: first[finding.attack]))
