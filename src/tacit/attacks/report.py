"""The report of an attack: as text, as JSON, and as one HTML page with bar charts.

The charts are SVG inside of the page, which needs no script and no network.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version

from tacit.attacks.finding import AttackVerdict, Finding, Tone

WIDTH, LEFT, ROW = 760, 330, 26
INK, LIMIT = "#444", "#20639b"
COLOURS = {
    Tone.GREEN: "#3b7d5c",
    Tone.AMBER: "#c08a1e",
    Tone.GREY: "#8a8a8a",
    Tone.RED: "#b4443c",
}


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
    colour = COLOURS[finding.verdict.tone]
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
    "A bar shows how often the attacker is right. For secrets, it is the mean over the values "
    "of the secret, so that a rare value counts as much as a frequent one. The line in it is "
    "the 99.99% confidence interval. The dashed line is a guess without any data. The blue "
    "line is a limit: the guarantee allows no attacker more. A success is measurably above its "
    "limit if its whole interval is above it. A bar is green only if no more than a guess was "
    "learned: a blind guess is taken for more once in 10,000 times at most. It is amber if "
    "more was learned within the limit, or if that is true with or without the person; grey if "
    "there are too few people to decide; and red if people are revealed."
)
HEADINGS = ("attack", "on", "learns", "right", "a guess", "allowed", "verdict")
STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-size:14px}td,th{text-align:left;padding:.3rem .7rem;"
    "border-bottom:1px solid #ddd;vertical-align:top}.good{color:#2b6a4b}.bad{color:#a0332c}"
    ".noted{color:#7a5200}.unclear{color:#5a5a5a}"
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
    population: str = ""
    """The population of the people who were attacked; empty if they are synthetic."""


@dataclass(frozen=True, slots=True)
class AttackReport:
    """All findings of an attack, with exact answers and with Tacit at a stated loss.

    ``made`` is the time in UTC, and ``version`` that of Tacit.
    """

    subject: str
    loss: str
    parts: tuple[AttackedItem, ...]
    notes: tuple[str, ...] = ()
    warning: str = WARNING
    made: str = ""
    version: str = ""

    @classmethod
    def of_now(
        cls,
        subject: str,
        loss: str,
        parts: Sequence[AttackedItem],
        notes: Sequence[str] = (),
        warning: str = WARNING,
    ) -> "AttackReport":
        """Return a report of these parts with the current time and version."""
        made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return cls(subject, loss, tuple(parts), tuple(notes), warning, made, version("tacit"))

    @property
    def heading(self) -> str:
        """The first line of the report: what was attacked, and at which privacy loss."""
        return f"Attacks on {self.subject}, through Tacit at {self.loss} in all."

    @property
    def populations(self) -> tuple[str, ...]:
        """The populations of the attacked people, each once."""
        named = (part.population for part in self.parts if part.population)
        return tuple(dict.fromkeys(named))

    @property
    def origin(self) -> str:
        """The time, the version and the populations, in one sentence."""
        people = ", ".join(self.populations)
        about = f" about the population {people}" if people else ""
        if len(self.populations) > 1:
            about = f" about the populations {people}"
        return f"Made on {self.made} by Tacit {self.version}{about}." if self.made else ""

    def __str__(self) -> str:
        lines = [self.heading, *([self.origin] if self.origin else []), self.warning]
        for part in self.parts:
            title = f"{part.title}: {part.about}" if part.about else part.title
            lines += ["", title, *(f"  {finding}" for finding in part.findings)]
        return "\n".join([*lines, *(("", *self.notes) if self.notes else ())])

    def to_json(self) -> str:
        """Return the report as JSON."""
        content = {
            "subject": self.subject,
            "made": self.made,
            "tacit": self.version,
            "populations": list(self.populations),
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
        origin = f"<p>{escape(self.origin)}</p>" if self.origin else ""
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{STYLE}</style></head><body><h1>{title}</h1>{origin}"
            f'<p class="warning">{escape(self.warning)}</p>'
            f"<p>Through Tacit: {escape(self.loss)} in all. {escape(LEGEND)}</p>"
            f"{body}{notes}</body></html>\n"
        )


# ------------------------------------------------------------------ next steps

STEPS = {
    AttackVerdict.BROKEN: (
        "An attack came measurably above its limit. Run it again; if it happens again, freeze "
        "the population with `tacit freeze`, release nothing, and report it as SECURITY.md "
        "says."
    ),
    AttackVerdict.TOLD: (
        "{revealed} would reveal people. Do not publish them. Ask the questions through Tacit, "
        "or publish less."
    ),
    AttackVerdict.LEAKS: (
        "{revealed} would reveal people. Do not publish them. Ask the questions through Tacit, "
        "or publish less."
    ),
    AttackVerdict.UNCLEAR: (
        "Some attacks were on too few people to distinguish a leak from luck. Treat them as "
        "leaks, or attack a table with more people."
    ),
    AttackVerdict.HELD: (
        "Answers of Tacit tell more than a guess here, within the limit of the stated loss. If "
        "that is too much, choose a smaller budget: see the page `Choose a budget`."
    ),
    AttackVerdict.FACT: (
        "Some secrets follow from facts about everybody, whether or not a person took part. If "
        "these facts must stay hidden, do not ask the question at all."
    ),
    AttackVerdict.GUESS: (
        "No attack learned measurably more than a guess. This does not show that none can; the "
        "limit holds for all attacks. Keep the total budget small enough for it."
    ),
}
"""The next step for each verdict, in the order of their urgency."""


def next_steps(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return what to do next, the most urgent first.

    Example:
        >>> from tacit.attacks.finding import Measured
        >>> found = Finding("averaging", "exact", "is Bob in?", Measured.share(9, 10), 0.5)
        >>> next_steps([found])[0].startswith("Next: some attacks were on too few")
        True
    """
    verdicts = [each.verdict for each in findings]
    red = {AttackVerdict.TOLD, AttackVerdict.LEAKS}
    named = dict.fromkeys(each.system for each in findings if each.verdict in red)
    revealed = _join_names(list(named))
    said = [STEPS[each].format(revealed=revealed) for each in STEPS if each in verdicts]
    if len(set(verdicts)) > 1 and AttackVerdict.GUESS in verdicts:
        said.remove(STEPS[AttackVerdict.GUESS])
    steps = list(dict.fromkeys(said))
    return tuple(f"Next: {each[0].lower() + each[1:]}" for each in steps)


def _join_names(names: list[str]) -> str:
    """Return names with commas and "and", the first in upper case."""
    text = " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return text[:1].upper() + text[1:]


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
