"""What a wave found: a table with intervals and a chart for each question."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from tacit.core.release import ReleasedColumn
from tacit.errors import InvalidValue
from tacit.local.shares import USUAL
from tacit.publish.survey.box import Reports
from tacit.publish.survey.survey import Survey
from tacit.render.bars import bars
from tacit.render.fields import fields
from tacit.render.html import html
from tacit.render.text import text

FEWEST = 30
"""Answers from which intervals of means are right."""

STYLE = (
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;"
    "color:#1c2b2a}table{border-collapse:collapse}td,th{padding:.2rem .9rem .2rem 0;"
    "text-align:left}h2{margin:2.5rem 0 .5rem}svg{display:block;max-width:100%;margin:.8rem 0}"
    ".note{color:#57706d}"
)


@dataclass(frozen=True, slots=True)
class Found:
    """The estimates of one wave. They are made of reports alone, so they may be published."""

    survey: Survey
    answers: int
    tables: tuple[tuple[ReleasedColumn, ...], ...]

    def __str__(self) -> str:
        parts = [
            f"{question.text}\n{text(table)}"
            for question, table in zip(self.survey.questions, self.tables, strict=True)
        ]
        return "\n\n".join([self._headline, *parts, self._note])

    def html(self) -> str:
        """A page with a table and a chart for each question; it loads nothing."""
        parts = [
            f"<h2>{escape(question.text)}</h2>{bars(table[:-1], table[-1], low, high)}"
            f"{html(table)}"
            for question, table, (low, high) in zip(
                self.survey.questions, self.tables, self._ranges, strict=True
            )
        ]
        return (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(self.survey.title)}</title><style>{STYLE}</style></head><body>"
            f"<h1>{escape(self.survey.title)}</h1><p>{escape(self._headline)}</p>"
            f'{"".join(parts)}<p class="note">{escape(self._note)}</p></body></html>'
        )

    def to_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "survey": self.survey.title,
            "wave": self.survey.wave,
            "answers": self.answers,
            "questions": {
                question.name: fields(table)
                for question, table in zip(self.survey.questions, self.tables, strict=True)
            },
        }

    @property
    def _headline(self) -> str:
        return f"{self.survey.wave}: {self.answers} answers"

    @property
    def _note(self) -> str:
        return (
            "Intervals hold the true value of all people with 95%, where those who answered "
            "are a random sample of them: the noise and the luck of the sample are both in "
            "them. Values are free of bias, and may lie outside what is possible."
        )

    @property
    def _ranges(self) -> list[tuple[Fraction, Fraction]]:
        """What the chart of each question goes from and to."""
        shapes = [question.shape for question in self.survey.questions]
        return [
            (Fraction(shape.get("lowest", 0)), Fraction(shape.get("highest", 100)))
            for shape in shapes
        ]


def estimate(survey: Survey, kept: Sequence[Reports], confidence: Fraction = USUAL) -> Found:
    """The estimates from all reports: free, since they are made of nothing else."""
    if len(kept) < FEWEST:
        raise InvalidValue(
            f"{len(kept)} answers are too few: intervals are right from {FEWEST} on."
        )
    tables = tuple(
        question.estimate([reports[question.name] for reports in kept], confidence)
        for question in survey.questions
    )
    return Found(survey, len(kept), tables)
