"""All findings of one owner's attack: as text, as one page, and for machines."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tacit.attacks.chart import chart
from tacit.attacks.finding import Finding

WARNING = (
    "Made on the owner's side, from exact data: nothing in it is private. Keep it as you keep "
    "the tables."
)
LEGEND = (
    "A bar is how often the attacker is right; the line in it holds the truth in 9,999 of "
    "10,000 cases. Dashed: whoever sees nothing. Blue: the most that the guarantee allows."
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
class Part:
    """One thing that was attacked: a question or a table, and what was found."""

    title: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What each attacker learns, raw and through Tacit at a stated loss, side by side."""

    subject: str
    loss: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"Attacks on {self.subject}, through Tacit at {self.loss} in all.", WARNING]
        for part in self.parts:
            lines += ["", part.title, *(f"  {finding}" for finding in part.findings)]
        return "\n".join([*lines, *(("", *self.notes) if self.notes else ())])

    def to_json(self) -> str:
        """For machines."""
        told = {
            "subject": self.subject,
            "loss": self.loss,
            "warning": WARNING,
            "parts": [
                {"title": part.title, "findings": [each.to_dict() for each in part.findings]}
                for part in self.parts
            ],
            "notes": list(self.notes),
        }
        return json.dumps(told, ensure_ascii=False, indent=2)

    def html(self) -> str:
        """One page that needs no other file and no network.

        Guarantee: names, questions and keys are text to a browser, whatever stands in them.
        """
        body = "".join(_section(part) for part in self.parts)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        title = f"Attacks on {escape(self.subject)}"
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{STYLE}</style></head><body><h1>{title}</h1>"
            f'<p class="warning">{escape(WARNING)}</p>'
            f"<p>Through Tacit: {escape(self.loss)} in all. {escape(LEGEND)}</p>"
            f"{body}{notes}</body></html>\n"
        )


def _section(part: Part) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
    rows = "".join(finding.html_row() for finding in part.findings)
    return (
        f"<h2><code>{escape(part.title)}</code></h2>{chart(part.findings)}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def side_by_side(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings of one attack next to each other, in the order in which attacks first appear."""
    first = {finding.attack: place for place, finding in reversed(list(enumerate(findings)))}
    return tuple(sorted(findings, key=lambda finding: first[finding.attack]))
