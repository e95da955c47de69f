"""Surveys: the file of a survey, its plan and its form.

`read_survey` reads a survey from a TOML file. `plan_of` computes how many answers it needs, and
`form_of` writes the HTML page that respondents open.
"""

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
    "You answered this in an earlier wave. The same random reply is sent again, and you are "
    "not asked, so that all waves together reveal no more than the first."
)


@dataclass(frozen=True, slots=True)
class Survey:
    """One wave of a survey, as its file declares it."""

    title: str
    wave: str
    population: Population
    epsilon: Fraction
    """Privacy loss of all waves together."""
    questions: tuple[Question, ...]
    fingerprint: str = field(init=False)
    """Hash of the wave, its questions and its privacy parameters."""

    def __post_init__(self) -> None:
        if not self.questions:
            raise InvalidValue(
                "A survey must have at least one question. Add a section [questions.name]."
            )
        if len(self.wave) > LONGEST_NAME or not self.wave.isprintable():
            raise InvalidValue(
                f"A wave must have a name of at most {LONGEST_NAME} characters, all printable."
            )
        if self.loss > self.epsilon:
            raise InvalidValue(
                f"One wave has a loss of ε = {float(self.loss):.3g}, which is more than the "
                f"epsilon of all waves, {plain(self.epsilon)}."
            )
        content = [self.wave, plain(self.epsilon), *map(fingerprint_of, self.questions)]
        object.__setattr__(self, "fingerprint", _hash_json(content))

    @property
    def ratio(self) -> Fraction:
        """The probability ratio of all reports of one wave: the product over its questions."""
        total = Fraction(1)
        for question in self.questions:
            total *= question.ratio
        return total

    @property
    def loss(self) -> Fraction:
        """The epsilon of one wave: the sum over its questions."""
        return sum((epsilon_of(each.ratio) for each in self.questions), Fraction(0))

    @property
    def promise(self) -> str:
        """The guarantee for respondents, in a few sentences."""
        after = percent(self.ratio / (1 + self.ratio))
        return (
            "Your answers never leave this page. Before anything is sent, your own browser "
            "replaces each answer by a random one, with the probabilities that are written "
            "below the question. Suppose that somebody sees everything that was sent, and "
            "thought before that a statement about your answers was true with probability "
            f"50%. Afterwards, that probability is at most {after} "
            f"(ε = {float(self.loss):.3g}). All waves together stay within "
            f"ε = {plain(self.epsilon)}. "
            "It can be seen that you took part."
        )

    def check(self, reports: Any) -> dict[str, list[int]]:
        """Return the reports of one person, and raise unless there is one for each question."""
        names = [question.name for question in self.questions]
        if not isinstance(reports, dict) or sorted(reports) != sorted(names):
            raise InvalidValue(
                f"There must be exactly one report for each question: {', '.join(names)}."
            )
        for question in self.questions:
            report = reports[question.name]
            if not isinstance(report, list) or any(type(part) is not int for part in report):
                raise InvalidValue(
                    f"The report of {question.name!r} must be a list of integers."
                )
            question.check(report)
        return reports


def fingerprint_of(question: Question) -> str:
    """Return the hash of a question and its randomiser, which is the same in every wave."""
    asked = [question.name, question.text, question.shape, question.recipe, question.remember]
    return _hash_json(asked)


def _hash_json(content: list[Any]) -> str:
    return sha256(json.dumps(content).encode()).hexdigest()


def read_survey(path: Path) -> Survey:
    """Return the survey in the file at ``path``; an error names the line of the file."""
    source = ProjectText.at(path)
    try:
        return _survey(source.root())
    except Fault as fault:
        error = source.refusal(fault)
    raise error


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
        expected = "A range must be [lowest, highest]."
        message = str(error) if isinstance(error, TacitError) else expected
        raise entry.project_error(f"{message} (ε = {plain(epsilon)})") from error


# ------------------------------------------------------------------ number of answers

DELTA = 1e-6
"""Delta at which the epsilon of shuffled reports is computed."""


def answers_for(
    question: Question, margin: Fraction, confidence: Fraction = USUAL, *, private: bool = True
) -> int:
    """Return the number of answers that is enough for a margin of error, for all answers.

    The margin is a share, such as 0.03. For a question about a number, it is in the unit of the
    number.

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
        raise InvalidValue(f"A margin of error must be above 0, but {margin} was given.")
    errors = NormalDist().inv_cdf((1 + float(confidence)) / 2)
    return ceil(errors**2 * float(question.variance(private=private) / margin**2))


def plan_of(question: Question, margin: Fraction) -> tuple[ReleasedColumn, ...]:
    """Return the number of answers needed at half, once and twice the epsilon.

    The last column is the epsilon if reports are shuffled, so that nobody knows who sent which
    report. The form alone does not shuffle reports; an independent service between respondents
    and collector would be needed.
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
        ReleasedColumn("epsilon if shuffled", tuple(map(_round_up, shuffled))),
    )


def _round_up(epsilon: float) -> Fraction:
    """Return epsilon rounded up to three decimals."""
    return Fraction(ceil(1000 * epsilon), 1000)


def margin_in(question: Question, margin: Fraction) -> Fraction:
    """Return a margin that is given as a share, in the unit of the question."""
    if isinstance(question, Number):
        return margin * (question.highest - question.lowest)
    return margin


# ------------------------------------------------------------------ form
# The form is one HTML file that loads nothing else and sends only randomised reports.


def form_of(survey: Survey) -> str:
    """Return the HTML page that respondents open.

    Guarantee: a content security policy allows only our scripts, and connections only to the
    server of the page. All texts of the survey are escaped.
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
        # replaced last, because the texts of a survey may look like a placeholder
        ("survey", json.dumps(_survey_json(survey)).replace("<", "\\u003c")),
    ):
        page = page.replace("{{" + place + "}}", text)
    return page


def _survey_json(survey: Survey) -> dict[str, Any]:
    """Return the data that the page needs about the survey."""
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
    """Return the hash that allows a script or a style in a content security policy."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
