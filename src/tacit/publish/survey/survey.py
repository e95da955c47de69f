"""A survey: its questions, the people it asks, and what all its waves may lose."""

import json
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from tacit.core.population import Population
from tacit.core.unit import Neighbours, PrivacyUnit
from tacit.errors import InvalidValue, TacitError
from tacit.local.ratio import epsilon_of
from tacit.numeric.exact import plain
from tacit.project.entry import Entry, Fault
from tacit.project.source import Source
from tacit.publish.survey.choice import Choice
from tacit.publish.survey.number import Number
from tacit.publish.survey.percent import percent

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
    source = Source.at(path)
    try:
        return _survey(source.root())
    except Fault as fault:
        told = source.refusal(fault)
    raise told


def _survey(root: Entry) -> Survey:
    root.fields("title", "wave", "population", "unit", "epsilon", "questions")
    unit = PrivacyUnit(root.part("unit").text(), Neighbours.REPLACE_ONE)
    try:
        return Survey(
            root.part("title").text(),
            root.part("wave").text(),
            Population(root.part("population").text(), unit),
            root.part("epsilon").number(),
            tuple(_question(part) for _, part in root.part("questions").parts()),
        )
    except TacitError as error:
        raise Fault(("questions",), str(error)) from error


def _question(entry: Entry) -> Question:
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
