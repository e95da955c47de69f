"""What a person sees while an answer is waited for."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.text import Text

Tell = Callable[[str], None]
"""Shows another line in place of the last."""

Waiting = Callable[[str], AbstractContextManager[Tell]]
"""Shows a line as long as something is waited for."""


@contextmanager
def on_terminal(line: str, console: Console | None = None) -> Iterator[Tell]:
    """A line that moves, on a terminal or in a notebook; elsewhere nothing."""
    shown = console or Console(stderr=True)
    if not (shown.is_terminal or shown.is_jupyter):
        yield lambda _: None
        return
    with shown.status(Text(line)) as status:
        yield lambda text: status.update(Text(text))
