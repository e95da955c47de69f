"""What a written attack is: a text, the threat that it belongs to, and what must come of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attack:
    """A text against a catalogue, ``clinic`` or ``hospital``.

    It is refused, or means no more than the plain question ``means``.
    """

    threat: str
    text: str
    means: str | None = None
    catalog: str = "clinic"


def refused(threat: str, *texts: str, catalog: str = "clinic") -> tuple[Attack, ...]:
    """Attacks of one class that are all refused."""
    return tuple(Attack(threat, text, catalog=catalog) for text in texts)


def harmless(threat: str, plain: str, *texts: str) -> tuple[Attack, ...]:
    """Texts that look odd, and mean no more than ``plain``."""
    return tuple(Attack(threat, text, means=plain) for text in texts)
