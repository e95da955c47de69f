"""A survey: its questions, the people it asks, and what all its waves may lose."""

import json
from base64 import b64encode
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from html import escape
from math import ceil
from pathlib import Path
from statistics import NormalDist
from typing import Any

from tacit.core import Neighbours, Population, PrivacyUnit, ReleasedColumn
from tacit.errors import InvalidValue, TacitError
from tacit.local import MOST, USUAL, epsilon_of, shuffled_epsilon
from tacit.local.browser import script
from tacit.numeric import plain
from tacit.project import Fault, ProjectText, TomlEntry
from tacit.publish.survey.questions import Choice, Number, percent

Question = Choice | Number

LONGEST_NAME = 60
AGAIN = (
    "You answered this in an earlier wave. The reply that was drawn then is sent again, and "
    "nothing is asked, so that all waves together tell no more than the first."
)


@dataclass(frozen=True, slots=True)
class Survey:
    """One wave of a survey, as its file says it."""

    title: str
    wave: str
    population: Population
    epsilon: Fraction
    """What all waves together may lose."""
    questions: tuple[Question, ...]
    fingerprint: str = field(init=False)
    """Of all that a respondent is asked and promised in this wave."""

    def __post_init__(self) -> None:
        if not self.questions:
            raise InvalidValue("A survey has a question or more: [questions.name]")
        if len(self.wave) > LONGEST_NAME or not self.wave.isprintable():
            raise InvalidValue(f"A wave has a name of up to {LONGEST_NAME} characters.")
        if self.loss > self.epsilon:
            raise InvalidValue(
                f"One wave loses ε = {float(self.loss):.3g}, which does not fit into the "
                f"epsilon of all waves, {plain(self.epsilon)}."
            )
        told = [self.wave, plain(self.epsilon), *map(fingerprint_of, self.questions)]
        object.__setattr__(self, "fingerprint", _hashed(told))

    @property
    def ratio(self) -> Fraction:
        """How much all reports of one wave together can tell of one person."""
        total = Fraction(1)
        for question in self.questions:
            total *= question.ratio
        return total

    @property
    def loss(self) -> Fraction:
        """The epsilon of one wave: the sum of those of its questions."""
        return sum((epsilon_of(each.ratio) for each in self.questions), Fraction(0))

    @property
    def promise(self) -> str:
        """What each respondent is promised, in a few sentences."""
        after = percent(self.ratio / (1 + self.ratio))
        return (
            "Your answers never leave this page. Before anything is sent, your own browser "
            "replaces each of them by a random one, with the odds that stand below the "
            "question. Whoever sees all that was sent, and thought something about your "
            f"answers to be as likely as not, can then be at most {after} sure of it "
            f"(ε = {float(self.loss):.3g}). All waves together stay within "
            f"ε = {plain(self.epsilon)}. "
            "That you took part can be seen."
        )

    def check(self, reports: Any) -> dict[str, list[int]]:
        """The reports of one person, one for each question; anything else is refused."""
        names = [question.name for question in self.questions]
        if not isinstance(reports, dict) or sorted(reports) != sorted(names):
            raise InvalidValue(f"There is one report for each of: {', '.join(names)}.")
        for question in self.questions:
            report = reports[question.name]
            if not isinstance(report, list) or any(type(part) is not int for part in report):
                raise InvalidValue(f"The report of {question.name!r} is a list of integers.")
            question.check(report)
        return reports


def fingerprint_of(question: Question) -> str:
    """Of what a question asks and how it is randomised: the same for the same in every wave."""
    asked = [question.name, question.text, question.shape, question.recipe, question.remember]
    return _hashed(asked)


def _hashed(told: list[Any]) -> str:
    return sha256(json.dumps(told).encode()).hexdigest()


def read_survey(path: Path) -> Survey:
    """The survey in the file at ``path``; what is wrong in it is told with its line."""
    source = ProjectText.at(path)
    try:
        return _survey(source.root())
    except Fault as fault:
        told = source.refusal(fault)
    raise told


def _survey(root: TomlEntry) -> Survey:
    root.fields("title", "wave", "population", "unit", "epsilon", "questions")
    unit = PrivacyUnit(root.part("unit").text(), Neighbours.REPLACE_ONE)
    try:
        return Survey(
            root.part("title").text(),
            root.part("wave").text(),
            Population(root.part("population").text(), unit),
            root.part("epsilon").number(),
            tuple(_read_question(part) for _, part in root.part("questions").parts()),
        )
    except TacitError as error:
        raise Fault(("questions",), str(error)) from error


def _read_question(entry: TomlEntry) -> Question:
    parts = entry.fields("text", "options", "range", "epsilon", "remember")
    text, epsilon = entry.part("text").text(), entry.part("epsilon").number()
    remember = parts["remember"].truth() if "remember" in parts else False
    try:
        if "range" in parts:
            lowest, highest = (part.whole() for part in parts["range"].items())
            return Number(entry.name, text, lowest, highest, epsilon, remember)
        options = tuple(option.text() for option in entry.part("options").items())
        return Choice(entry.name, text, options, epsilon, remember)
    except (ValueError, TacitError) as error:
        told = str(error) if isinstance(error, TacitError) else "A range is [lowest, highest]."
        raise entry.fault(f"{told} (ε = {plain(epsilon)})") from error


# ------------------------------------------------------------------ plan
# How many answers a survey needs, before anybody is asked.

DELTA = 1e-6
"""Of the epsilon that shuffled reports would have."""


def answers_for(
    question: Question, margin: Fraction, confidence: Fraction = USUAL, *, private: bool = True
) -> int:
    """Answers for a margin of error, whatever people answer.

    The margin is a share, such as 0.03; of a question about a number it is in its own unit.

    Example:
        >>> from tacit.publish.survey.questions import Choice
        >>> copied = Choice("copied", "Ever copied?", ("no", "yes"), Fraction(1))
        >>> (
        ...     answers_for(copied, Fraction("0.03")),
        ...     answers_for(copied, Fraction("0.03"), private=False),
        ... )
        (4997, 1068)
    """
    if margin <= 0:
        raise InvalidValue(f"A margin is above 0, and {margin} was given.")
    errors = NormalDist().inv_cdf((1 + float(confidence)) / 2)
    return ceil(errors**2 * float(question.variance(private=private) / margin**2))


def plan_of(question: Question, margin: Fraction) -> tuple[ReleasedColumn, ...]:
    """Half, once and twice the epsilon: the answers that are needed, and what a shuffle leaves.

    Shuffled means that nobody can tell who sent which report, which the form alone does not
    give: it is what an independent mailbox in between would add.
    """
    most = epsilon_of(Fraction(MOST))
    tried = [question.epsilon * factor for factor in (Fraction(1, 2), 1, 2)]
    same = [replace(question, epsilon=each) for each in tried if each < most]
    needed = [answers_for(each, margin) for each in same]
    shuffled = [
        shuffled_epsilon(each.ratio, 1 / each.ratio, people, DELTA)
        for each, people in zip(same, needed, strict=True)
    ]
    plain = answers_for(question, margin, private=False)
    return (
        ReleasedColumn("epsilon", tuple(each.epsilon for each in same)),
        ReleasedColumn("answers needed", tuple(map(Fraction, needed))),
        ReleasedColumn("without privacy", (Fraction(plain),) * len(same)),
        ReleasedColumn("epsilon if shuffled", tuple(map(_shown, shuffled))),
    )


def _shown(epsilon: float) -> Fraction:
    """Rounded up to three digits after the point."""
    return Fraction(ceil(1000 * epsilon), 1000)


def margin_in(question: Question, margin: Fraction) -> Fraction:
    """The margin of a share, in the unit of the question."""
    if isinstance(question, Number):
        return margin * (question.highest - question.lowest)
    return margin


# ------------------------------------------------------------------ form
# The form of a survey: one HTML file that loads nothing and sends reports alone.


def form_of(survey: Survey) -> str:
    """The page that respondents open.

    Guarantee: the browser is told to run no other script than ours, and to connect to nobody
    but where the page came from. Texts of the survey are text to it, whatever is written in
    them.
    """
    style, randomise, form = map(script, ("form.css", "randomise.js", "form.js"))
    policy = (
        f"default-src 'none'; script-src {_hash(randomise)} {_hash(form)}; "
        f"style-src {_hash(style)}; connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    page = script("form.html")
    for place, text in (
        ("title", escape(survey.title)),
        ("wave", escape(survey.wave)),
        ("promise", escape(survey.promise)),
        ("policy", policy),
        ("style", style),
        ("randomise", randomise),
        ("form", form),
        # last, since what people wrote may look like one of the places
        ("survey", json.dumps(_told(survey)).replace("<", "\\u003c")),
    ):
        page = page.replace("{{" + place + "}}", text)
    return page


def _told(survey: Survey) -> dict[str, Any]:
    """What the page must know of the survey."""
    return {
        "survey": survey.fingerprint,
        "key": f"tacit wave {survey.fingerprint}",
        "again": AGAIN,
        "questions": [_question_json(question) for question in survey.questions],
    }


def _question_json(question: Question) -> dict[str, Any]:
    return {
        "name": question.name,
        "text": question.text,
        "key": f"tacit question {fingerprint_of(question)}",
        "remember": question.remember,
        "recipe": question.recipe,
        "promise": question.promise,
        **question.shape,
    }


def _hash(text: str) -> str:
    """What a browser is told about a script or a style that it may use."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
