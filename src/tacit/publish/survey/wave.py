"""The waves of a survey: the charge, the stored reports and the estimates.

`open_wave` charges a wave before the first report is accepted. `Box` stores reports durably,
one line each. `estimate` computes shares and means from the reports, which costs nothing.
"""

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

from tacit.core import Budget, Composed, Loss, ReleasedColumn, loss_text
from tacit.errors import BudgetExceeded, InvalidValue, StoreFailed
from tacit.ledger import AnyDeclaration, Charge, ChargeRequest, Declaration, Ledger, Target
from tacit.local import USUAL, epsilon_of, event_of
from tacit.numeric import plain
from tacit.publish.survey.survey import Question as Asked
from tacit.publish.survey.survey import Survey, fingerprint_of
from tacit.render import bars, fields, html, spell, text

POLICY = "survey 1"
"""Name of the rule by which waves are charged. A new rule gets a new name."""

LEASE_MS = 5_000


def open_wave(survey: Survey, ledger: Ledger, *, by: str) -> None:
    """Charge the loss of one respondent in this wave, question by question, once.

    A question that browsers remember is charged only in the first wave, because its later
    reports are copies. All other questions are charged in every wave, and again if the form
    was changed.

    Guarantee: when this returns, the charges are durable and within the budget. If they do not
    fit into the budget, nothing is charged, unless another process charges the same budget at
    the same moment.
    """
    people = survey.population
    ledger = ledger.under(AnyDeclaration())  # no table is read, so no declaration matters
    if people.name not in ledger.populations():
        with ledger.governing(by=by) as acts:
            acts.open_budget(people, Budget(Loss.pure(survey.epsilon)), (by,))
            acts.declare({people.name: Declaration()})
    _check_promise(survey, ledger.status(people.name).total)
    asked = [_charge_request(survey, question, by) for question in survey.questions]
    new = [each for each in asked if not _is_paid(ledger, each)]
    events = Composed(tuple(each.targets[0].event for each in new))
    status = ledger.status(people.name, by)
    if new and not status.questions_like(events):
        loss = Loss.pure(sum((each.loss.amount for each in new), Fraction(0)))
        left = min((status.left, *status.quotas), key=lambda each: each.amount)
        raise BudgetExceeded(
            f"The wave {survey.wave!r} needs {loss_text(loss)}, but {by} can spend only "
            f"{loss_text(left, down=True)} more of the budget of {people.name!r}. Ask fewer "
            "questions, use a smaller epsilon, or let browsers remember."
        )
    for each in new:
        charge = ledger.reserve(each, lease_ms=LEASE_MS)
        if isinstance(charge, Charge):
            ledger.keep(charge, b"A wave of reports, each made by a respondent's own browser.")


def _check_promise(survey: Survey, total: Loss) -> None:
    """Raise for a form that promises a smaller loss than the budget allows."""
    if total.amount > survey.epsilon:
        raise InvalidValue(
            f"The form promises epsilon {plain(survey.epsilon)} for all waves, but the budget "
            f"of {survey.population.name!r} allows {loss_text(total)}. Write that value as the "
            "epsilon of the survey."
        )


def _is_paid(ledger: Ledger, question: ChargeRequest) -> bool:
    """Return whether a question is charged, also by a process that died before it stored it."""
    (people,) = question.populations
    return (
        ledger.was_charged(question.principal, people, question.release_key)
        or ledger.find_release(question) is not None
    )


def _charge_request(survey: Survey, question: Asked, by: str) -> ChargeRequest:
    """Return the charge of a question.

    For a remembered question it is the same in every wave. For others it is a new one for each
    form: browsers draw new replies for a form that differs in any way, so it is charged again.
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


# ------------------------------------------------------------------ ballot box

ID = re.compile("[0-9a-f]{32}")
"""Form of a random id. Other forms are refused, because they might carry information."""

Reports = dict[str, list[int]]
"""The reports of one person, by the name of the question."""


class Box:
    """The file with the reports of one wave; each is stored once, and durable after `put`.

    A line holds an id and the reports. A report that is sent twice has the same id and counts
    once. No time, address or true answer is stored. Concurrent writers share one fsync.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            whole = _whole_lines(path)
            os.ftruncate(self._file, len(whole))  # an incomplete line was never acknowledged
        except OSError as error:
            raise StoreFailed(
                f"{path} cannot be written, or another server has locked it. Stop the other "
                "server, or correct the permissions of the file."
            ) from error
        self._ids = {id_ for id_, _ in map(json.loads, whole.splitlines())}
        self._length = len(whole)
        self._writing, self._syncing = Lock(), Lock()
        self._synced = self._length

    def put(self, id_: str, reports: Reports) -> None:
        """Store the reports of one person; an id that is already stored is ignored."""
        if not ID.fullmatch(id_):
            raise InvalidValue("An id must have 32 hexadecimal digits.")
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
        """Close the file, which releases its lock."""
        os.close(self._file)

    def _append(self, line: bytes) -> None:
        """Append the whole line, or nothing."""
        if os.write(self._file, line) != len(line):
            os.ftruncate(self._file, self._length)
            raise StoreFailed(
                "The disk is full, so this reply was not stored. Free some space, and send it "
                "again."
            )
        self._length += len(line)


def reports_in(path: Path) -> list[Reports]:
    """Return all reports so far, also while a server is writing more."""
    if not path.exists():
        return []
    return [reports for _, reports in map(json.loads, _whole_lines(path).splitlines())]


def _whole_lines(path: Path) -> bytes:
    text = path.read_bytes()
    return text[: text.rfind(b"\n") + 1]


# ------------------------------------------------------------------ estimates

FEWEST = 30
"""Minimum number of answers for which the confidence intervals of means are valid."""

STYLE = (
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;"
    "color:#1c2b2a}table{border-collapse:collapse}td,th{padding:.2rem .9rem .2rem 0;"
    "text-align:left}h2{margin:2.5rem 0 .5rem}svg{display:block;max-width:100%;margin:.8rem 0}"
    ".note{color:#57706d}"
)


@dataclass(frozen=True, slots=True)
class Found:
    """The estimates of one wave. They are computed from reports only, so they can be public."""

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
        """Return a page with a table and a chart for each question, which loads nothing."""
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
        """Return the estimates as plain values for JSON."""
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
        return f"{self.survey.wave}: {spell(self.answers, 'answer')}"

    @property
    def _note(self) -> str:
        return (
            "The 95% intervals contain the true value of the whole population with probability "
            "95%, if those who answered are a random sample of it. They cover the noise and "
            "the sampling error. Estimates are unbiased, so they may be outside of the "
            "possible range."
        )

    @property
    def _ranges(self) -> list[tuple[Fraction, Fraction]]:
        """The range of the chart of each question."""
        shapes = [question.shape for question in self.survey.questions]
        return [
            (Fraction(shape.get("lowest", 0)), Fraction(shape.get("highest", 100)))
            for shape in shapes
        ]


def estimate(survey: Survey, kept: Sequence[Reports], confidence: Fraction = USUAL) -> Found:
    """Return the estimates from all reports, which cost nothing."""
    if len(kept) < FEWEST:
        raise InvalidValue(
            f"{spell(len(kept), 'answer is', 'answers are')} too few: confidence intervals "
            f"need at least {FEWEST}."
        )
    tables = tuple(
        question.estimate([reports[question.name] for reports in kept], confidence)
        for question in survey.questions
    )
    return Found(survey, len(kept), tables)
