"""The drafts of owners who set up a population over HTTP, in the memory of this server.

A draft holds a password until it is applied, so that drafts are few and end after some hours.
They are lost when the server stops; nothing was written then.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from tacit.errors import InvalidValue, UnknownName
from tacit.project import SetupSettings
from tacit.session import SetupDraft

MOST_DRAFTS, LONGEST_SECONDS = 50, 8 * 3600.0
LONGEST_TEXT = 2**20
"""The most characters that a draft adds to the project file."""

Edit = Callable[[SetupDraft], SetupDraft]


@dataclass(frozen=True, slots=True)
class KeptDraft:
    """A draft and the second in which it began."""

    draft: SetupDraft
    began: float


class SetupDrafts:
    """The drafts of this server, one for each owner, over its project file.

    Guarantee: an owner reaches no draft but their own, and memory is bounded.
    """

    def __init__(
        self,
        file: Path,
        settings: SetupSettings,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.file = file
        self.settings = settings
        self.environment = environment
        self._clock = clock
        self._lock = Lock()
        self._found: dict[str, KeptDraft] = {}
        self._applied: dict[str, Mapping[str, Any]] = {}

    def find(self, owner: str) -> SetupDraft | None:
        """Return the draft of ``owner``, or None if there is none, or it has ended."""
        with self._lock:
            self._end_old()
            begun = self._found.get(owner)
        return None if begun is None else begun.draft

    def get(self, owner: str) -> SetupDraft:
        """Return the draft of ``owner``; raise `UnknownName` if there is none."""
        draft = self.find(owner)
        if draft is None:
            raise _no_draft()
        return draft

    def begin(self, draft: SetupDraft) -> None:
        """Keep a new draft in the place of the owner's last one."""
        with self._lock:
            self._end_old()
            if len(self._found) >= MOST_DRAFTS and draft.owner not in self._found:
                raise InvalidValue(
                    f"{MOST_DRAFTS} setups are under way at this server. Try again later."
                )
            self._found[draft.owner] = KeptDraft(draft, self._clock())

    def change(self, owner: str, edit: Edit) -> SetupDraft:
        """Change the draft of ``owner`` while no other request does, and return it."""
        with self._lock:
            self._end_old()
            begun = self._found.get(owner)
            if begun is None:
                raise _no_draft()
            draft = edit(begun.draft)
            if len(draft.added.text) > LONGEST_TEXT:
                raise InvalidValue("The project file would become too large.")
            self._found[owner] = KeptDraft(draft, begun.began)
        return draft

    def end(self, owner: str) -> None:
        """Forget the draft of ``owner``, and its password."""
        with self._lock:
            self._found.pop(owner, None)

    def last_applied(self, owner: str) -> Mapping[str, Any] | None:
        """Return what ``owner`` applied last at this server, or None."""
        with self._lock:
            return self._applied.get(owner)

    def keep_applied(self, owner: str, recorded: Mapping[str, Any]) -> None:
        """Forget the draft of ``owner``, and its password, and keep what was recorded."""
        with self._lock:
            self._found.pop(owner, None)
            self._applied.pop(owner, None)
            while len(self._applied) >= MOST_DRAFTS:
                del self._applied[next(iter(self._applied))]
            self._applied[owner] = recorded

    def _end_old(self) -> None:
        last = self._clock() - LONGEST_SECONDS
        for owner in [each for each, begun in self._found.items() if begun.began < last]:
            del self._found[owner]


def _no_draft() -> UnknownName:
    return UnknownName(
        "No database is connected yet, or the setup began more than 8 hours ago. Connect the "
        "database first."
    )
