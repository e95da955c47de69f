"""How long an answer is waited for, and how often a request is sent again."""

from dataclasses import dataclass

from tacit.errors import InvalidValue

LONGEST_PAUSE = 10.0


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds for one reply, how often to send a request, and the first pause between.

    Example:
        >>> [Patience(pause=1.0).before(again) for again in range(1, 6)]
        [1.0, 2.0, 4.0, 8.0, 10.0]
    """

    reply: float = 300.0
    tries: int = 6
    pause: float = 0.25

    def __post_init__(self) -> None:
        if self.reply <= 0 or self.tries < 1 or self.pause < 0:
            raise InvalidValue(
                f"A reply is waited for, once or more: reply={self.reply}, tries={self.tries} "
                f"and pause={self.pause} were given."
            )

    def before(self, again: int) -> float:
        """Seconds to wait before a request is sent for the ``again``-th time more."""
        return min(self.pause * 2.0 ** (again - 1), LONGEST_PAUSE)
