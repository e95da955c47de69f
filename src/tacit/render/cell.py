"""One value as text: no more digits than mean something, and nothing that a terminal obeys."""

from fractions import Fraction

from tacit.render.column import Range, Value

MOST_DECIMALS = 12
PLAIN_DIGITS = 6
LONGEST_KEY = 80
NOTHING = ""


def safe(text: str) -> str:
    r"""``text`` without what a terminal, a log or a reader's eye would take for a command.

    Example:
        >>> safe("north\x1b[2J\u202e")
        'north\\x1b[2J\\u202e'
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def cell(value: Value, around: Range = None) -> str:
    """A value, to as many digits as the range around it has a use for.

    Example:
        >>> cell(Fraction(100, 3), (Fraction(31), Fraction(36)))
        '33.3'
    """
    if value is None:
        return NOTHING
    if isinstance(value, str):
        shown = safe(value)
        return shown if len(shown) <= LONGEST_KEY else f"{shown[: LONGEST_KEY - 1]}…"
    if Fraction(value).denominator == 1:
        return str(value)
    decimals = _decimals(around)
    if decimals is None:
        return f"{float(value):.{PLAIN_DIGITS}g}"
    return _fixed(round(value * 10**decimals), decimals)


def interval(around: Range) -> str:
    """A range, rounded outward.

    Example:
        >>> interval((Fraction(313, 10), Fraction(3577, 100)))
        '[31.3, 35.8]'
    """
    if around is None:
        return NOTHING
    low, high = around
    whole = low.denominator == high.denominator == 1
    decimals = 0 if whole else _decimals(around) or 0
    unit = 10**decimals
    ends = (low * unit).__floor__(), (high * unit).__ceil__()
    return f"[{', '.join(_fixed(end, decimals) for end in ends)}]"


def _decimals(around: Range) -> int | None:
    """Digits after the point, so that half of the range has two."""
    if around is None or around[0] == around[1]:
        return None
    half, decimals = (around[1] - around[0]) / 2, 0
    while half < 10 and decimals < MOST_DECIMALS:  # noqa: PLR2004 - two digits
        half, decimals = half * 10, decimals + 1
    return decimals


def _fixed(units: int, decimals: int) -> str:
    """``units`` of the last digit, written out."""
    if not decimals:
        return str(units)
    digits = str(abs(units)).rjust(decimals + 1, "0")
    sign = "-" if units < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"
