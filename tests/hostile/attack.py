"""What a written attack is: a text, the threat that it belongs to, and what must come of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attack:
    """A text against a catalogue, ``clinic`` or ``hospital``.

    It is refused, or means no more than the plain question ``means``, or one person moves it by
    no more than the plain question ``moves``.
    """

    threat: str
    text: str
    means: str | None = None
    catalog: str = "clinic"
    moves: str | None = None


def refused(threat: str, *texts: str, catalog: str = "clinic") -> tuple[Attack, ...]:
    """Attacks of one class that are all refused."""
    return tuple(Attack(threat, text, catalog=catalog) for text in texts)


def harmless(
    threat: str, plain: str, *texts: str, catalog: str = "clinic"
) -> tuple[Attack, ...]:
    """Texts that look odd, and mean no more than ``plain``."""
    return tuple(Attack(threat, text, means=plain, catalog=catalog) for text in texts)


def answered(
    threat: str, plain: str, *texts: str, catalog: str = "clinic"
) -> tuple[Attack, ...]:
    """Texts that one person moves by no more than ``plain``, and that no row makes fail."""
    return tuple(Attack(threat, text, moves=plain, catalog=catalog) for text in texts)
