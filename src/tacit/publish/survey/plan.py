"""How many answers a survey needs, before anybody is asked."""

from dataclasses import replace
from fractions import Fraction
from math import ceil
from statistics import NormalDist

from tacit.core.release import ReleasedColumn
from tacit.errors import InvalidValue
from tacit.local.ratio import MOST, epsilon_of
from tacit.local.shares import USUAL
from tacit.local.shuffle import shuffled_epsilon
from tacit.publish.survey.number import Number
from tacit.publish.survey.survey import Question

DELTA = 1e-6
"""Of the epsilon that shuffled reports would have."""


def answers_for(
    question: Question, margin: Fraction, confidence: Fraction = USUAL, *, private: bool = True
) -> int:
    """Answers for a margin of error, whatever people answer.

    The margin is a share, such as 0.03; of a question about a number it is in its own unit.

    Example:
        >>> from tacit.publish.survey.choice import Choice
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
