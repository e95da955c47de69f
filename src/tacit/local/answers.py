"""Answers as integers from 0 up, and what is refused."""

from tacit.errors import InvalidValue
from tacit.noise.integers import Integers

MOST_CHOICES = 2**20


def valid_choices(choices: int) -> int:
    """The number of answers, refused where there is nothing to choose.

    Example:
        >>> valid_choices(2)
        2
    """
    if not 2 <= choices <= MOST_CHOICES:  # noqa: PLR2004 - fewer is no question
        raise InvalidValue(
            f"A question has 2 to {MOST_CHOICES} answers, and {choices} were given."
        )
    return choices


def valid_answers(answers: Integers, choices: int) -> Integers:
    """The answers themselves, refused where one is not below ``choices``.

    Example:
        >>> import numpy as np
        >>> valid_answers(np.array([0, 1]), 2).tolist()
        [0, 1]
    """
    if answers.size and not 0 <= int(answers.min()) <= int(answers.max()) < choices:
        raise InvalidValue(f"Answers lie from 0 to {choices - 1}, and one does not.")
    return answers
