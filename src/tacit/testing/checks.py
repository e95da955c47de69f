"""The function by which a contract runs its checks, so that a check cannot stop the others."""

from collections.abc import Callable, Iterable

Check = Callable[[], Iterable[str]]
"""One check of a contract: it returns or yields a sentence for each violation."""


def run_checks(*checks: Check) -> list[str]:
    """Return the violations of all checks; a check that raises an error is a violation.

    The sentence about an error names the check, the type of the error and its text. A contract
    runs on synthetic tables only, so the text reveals nothing about a person.

    Example:
        >>> def divided():
        ...     yield "The first sentence."
        ...     1 / 0
        >>> for sentence in run_checks(divided):
        ...     print(sentence)
        The first sentence.
        The check divided cannot be finished: it raises ZeroDivisionError: division by zero
    """
    found: list[str] = []
    for check in checks:
        try:
            found.extend(check())  # the sentences before an error are kept
        except Exception as error:  # noqa: BLE001 - any error is a violation
            name = getattr(check, "__name__", type(check).__name__)
            found.append(
                f"The check {name} cannot be finished: it raises {type(error).__name__}: "
                f"{error}"
            )
    return found
