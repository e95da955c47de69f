"""What runs in a respondent's browser, as text: the randomiser, and the form around it."""

from importlib.resources import files


def script(name: str) -> str:
    """The text of a file of this package.

    Example:
        >>> "crypto.getRandomValues" in script("randomise.js")
        True
    """
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
