"""The files that run in a respondent's browser: the survey form and the randomiser."""

from importlib.resources import files


def script(name: str) -> str:
    """Return the text of a file of this package.

    Example:
        >>> "crypto.getRandomValues" in script("randomise.js")
        True
    """
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
