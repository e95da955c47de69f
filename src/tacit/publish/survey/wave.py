"""A wave is an entry in the ledger, made before the first report is taken."""

import fcntl
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from pathlib import Path
from threading import Lock
from typing import Any

from tacit.core import Budget, Composed, Loss, ReleasedColumn
from tacit.errors import BudgetExceeded, InvalidValue, StoreFailed
from tacit.ledger import AnyDeclaration, Charge, ChargeRequest, Declaration, Ledger, Target
from tacit.local import USUAL, epsilon_of, event_of
from tacit.numeric import plain
from tacit.publish.survey.survey import Question as Asked
from tacit.publish.survey.survey import Survey, fingerprint_of
from tacit.render import bars, fields, html, text

POLICY = "survey 1"
"""How waves are charged; another way gets another name."""

LEASE_MS = 5_000


def open_wave(survey: Survey, ledger: Ledger, *, by: str) -> None:
    """Charge what one respondent of this wave loses, question by question, once.

    A question that browsers remember is the same in every wave: it is charged in the first,
    since its later reports are copies. All others are charged in every wave, and again where
    anything that respondents read was changed.

    Guarantee: when this returns, the charges are durable and within the budget. Where they do
    not fit into it nothing is charged, but for what others charge at the same moment.
    """
    people = survey.population
    ledger = ledger.under(AnyDeclaration())  # no table is read, so none has a part in the price
    if people.name not in ledger.populations():
        with ledger.governing(by=by) as acts:
            acts.open_budget(people, Budget(Loss.pure(survey.epsilon)), (by,))
            acts.declare({people.name: Declaration()})
    _check_promise(survey, ledger.status(people.name).total)
    asked = [_charged(survey, question, by) for question in survey.questions]
    new = [each for each in asked if not _paid(ledger, each)]
    events = Composed(tuple(each.targets[0].event for each in new))
    if new and not ledger.status(people.name).questions_like(events):
        loss = float(sum((each.loss.amount for each in new), Fraction(0)))
        raise BudgetExceeded(
            f"The wave {survey.wave!r} loses ε = {loss:.3g}, which does not fit into what is "
            f"left of the budget of {people.name!r}: {ledger.status(people.name).left}. Ask "
            "fewer questions, at a smaller epsilon, or let browsers remember."
        )
    for each in new:
        charge = ledger.reserve(each, lease_ms=LEASE_MS)
        if isinstance(charge, Charge):
            ledger.keep(charge, b"A wave of reports, each made by a respondent's own browser.")


def _check_promise(survey: Survey, total: Loss) -> None:
    """Refuse a form that promises less than what the ledger allows to be lost."""
    if total.amount > survey.epsilon:
        raise InvalidValue(
            f"The form promises ε = {plain(survey.epsilon)} for all waves, and the budget of "
            f"{survey.population.name!r} allows {total}. Write that as epsilon."
        )


def _paid(ledger: Ledger, question: ChargeRequest) -> bool:
    """Whether it is charged, be it by somebody else or by one who died before it was kept."""
    (people,) = question.populations
    return (
        ledger.was_charged(question.principal, people, question.release_key)
        or ledger.released(question) is not None
    )


def _charged(survey: Survey, question: Asked, by: str) -> ChargeRequest:
    """The same in every wave for what is remembered, and else a new one for each form.

    Browsers draw anew for a form that is not the same to the letter, so it is charged anew.
    """
    fingerprint = fingerprint_of(question)
    return ChargeRequest(
        targets=(Target(survey.population, event_of(question.ratio)),),
        principal=by,
        request=f"survey {survey.fingerprint} {fingerprint}",
        plan=bytes.fromhex(fingerprint),
        loss=Loss.pure(epsilon_of(question.ratio)),
        policy=POLICY,
        epochs=() if question.remember else (survey.fingerprint,),
    )


# ------------------------------------------------------------------ box
# The ballot box of a wave: reports in a file, a line each, and nothing else.

ID = re.compile("[0-9a-f]{32}")
"""What browsers draw; a text of another shape might tell something."""

Reports = dict[str, list[int]]
"""What one person sent: a report for each question, by its name."""


class Box:
    """Takes the reports of one wave: each is kept once, and durable when `put` returns.

    A line holds an id, by which a report that is sent twice is counted once, and the reports:
    no time, no address, no answer. Writers at once share the wait for the disk.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            whole = _whole_lines(path)
            os.ftruncate(self._file, len(whole))  # what a crash cut off was never taken
        except OSError as error:
            raise StoreFailed(f"{path} cannot be written, or another server has it.") from error
        self._ids = {id_ for id_, _ in map(json.loads, whole.splitlines())}
        self._length = len(whole)
        self._writing, self._syncing = Lock(), Lock()
        self._synced = self._length

    def put(self, id_: str, reports: Reports) -> None:
        """Keep what one person sent; sent again, it is there already."""
        if not ID.fullmatch(id_):
            raise InvalidValue("An id has 32 hexadecimal digits.")
        line = json.dumps([id_, reports], sort_keys=True, separators=(",", ":")) + "\n"
        with self._writing:
            if id_ not in self._ids:
                self._append(line.encode())
                self._ids.add(id_)
            mine = self._length
        with self._syncing:
            if self._synced < mine:
                reached = self._length
                os.fsync(self._file)
                self._synced = reached

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _append(self, line: bytes) -> None:
        """The whole line, or nothing of it."""
        if os.write(self._file, line) != len(line):
            os.ftruncate(self._file, self._length)
            raise StoreFailed("The disk is full.")
        self._length += len(line)


def reports_in(path: Path) -> list[Reports]:
    """All reports that were taken so far, also while a server takes more."""
    if not path.exists():
        return []
    return [reports for _, reports in map(json.loads, _whole_lines(path).splitlines())]


def _whole_lines(path: Path) -> bytes:
    text = path.read_bytes()
    return text[: text.rfind(b"\n") + 1]


# ------------------------------------------------------------------ estimate
# What a wave found: a table with intervals and a chart for each question.

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
