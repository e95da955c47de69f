"""Visits that have signed in: the token of each, behind the id in a cookie.

A browser holds a random id, and this process holds the token that belongs to it. The id is the
only secret in the cookie. It is replaced every few minutes, so that one that leaks is soon
worthless. The one before it stays valid until a minute after the browser first sent the new
one: pages may be loading, and a browser that gave up a request never learned the new id.
Ids are stored as hashes. They are lost when the server stops, and people then sign in again.
"""

import time
from asyncio import Future
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from tacit.store import fresh_bytes, hash_of

ID_BYTES = 32
LONGEST_SECONDS, IDLE_SECONDS = 8 * 3600.0, 1800.0
"""Seconds after which people sign in again: in any case, and after the last page."""

ROTATION_SECONDS, OVERLAP_SECONDS = 600.0, 60.0
"""Seconds until a visit gets a new id, and for which the id before it stays valid then."""

MOST_VISITS, MOST_OF_ACCOUNT = 10_000, 50
"""The most visits in all, and of one account; the one that was idle longest ends first."""


def random_text() -> str:
    """Return 256 random bits as text for a cookie, a form or a header."""
    return urlsafe_b64encode(fresh_bytes(ID_BYTES)).rstrip(b"=").decode()


@dataclass(slots=True, eq=False)
class SignIn:
    """One signed-in browser: its token, who it belongs to, and the secret of its forms."""

    token: str = field(repr=False)
    principal: str
    role: str
    began: float
    seen: float
    rotated: float
    account: str = ""
    """The account for which visits are counted: a token for other tables counts apart."""
    may_set_up: bool = False
    """Whether the visitor may connect a database."""
    confirmed: float | None = None
    """When the browser first sent its newest id; None before that."""
    csrf: str = field(default_factory=random_text, repr=False)
    hashes: list[bytes] = field(default_factory=list)
    """The hashes of the valid ids, at most two: the newest one last."""

    acts: dict[str, "Future[str]"] = field(default_factory=dict)
    """The forms that were sent, so that one that is sent twice acts once."""

    secrets: dict[str, dict[str, Any]] = field(default_factory=dict)
    """New tokens that wait for the one page that shows them."""


class SignIns:
    """The visits of this process that have signed in.

    Guarantee: an id that was not drawn here is never accepted, and a sign-in always draws a new
    one, so that nobody can fix the id of another person's visit beforehand. Memory is bounded,
    and visits of one account never end those of an account that has fewer.

    Example:
        >>> sign_ins = SignIns(clock=lambda: 0.0)
        >>> id_ = sign_ins.begin("tacit_token", "ann", "analyst")
        >>> sign_ins.find(id_).principal, sign_ins.find("another") is None
        ('ann', True)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._found: dict[bytes, SignIn] = {}
        self._of: dict[str, list[SignIn]] = {}
        self._count = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return self._count

    def begin(
        self,
        token: str,
        principal: str,
        role: str,
        account: str = "",
        *,
        may_set_up: bool = False,
    ) -> str:
        """Return the id of a new visit, for its cookie."""
        now, id_ = self._clock(), random_text()
        account = account or f"{role} {principal}"
        visit = SignIn(token, principal, role, now, now, now, account, may_set_up)
        with self._lock:
            own = self._of.get(visit.account, [])
            if len(own) >= MOST_OF_ACCOUNT:
                self._drop(min(own, key=lambda each: each.seen))
            if self._count >= MOST_VISITS:
                self._make_room(now)
            self._of.setdefault(visit.account, []).append(visit)
            self._count += 1
            self._add_id(visit, id_)
        return id_

    def find(self, id_: str) -> SignIn | None:
        """Return the visit with this id, if it is valid now."""
        now, hash_ = self._clock(), hash_of(id_)
        with self._lock:
            visit = self._found.get(hash_)
            if visit is None:
                return None
            if self._has_ended(visit, now):
                self._drop(visit)
                return None
            if hash_ == visit.hashes[-1]:
                visit.confirmed = now if visit.confirmed is None else visit.confirmed
            elif visit.confirmed is not None and now - visit.confirmed > OVERLAP_SECONDS:
                return None
            visit.seen = now
            return visit

    def rotate(self, visit: SignIn) -> str | None:
        """Return a new id for ``visit`` if its id is old, and None otherwise.

        If the browser did not get the last one, it gets another soon.
        """
        now = self._clock()
        with self._lock:
            after = OVERLAP_SECONDS if visit.confirmed is None else ROTATION_SECONDS
            if now - visit.rotated < after or not visit.hashes:
                return None
            id_ = random_text()
            visit.rotated = now
            self._add_id(visit, id_)
        return id_

    def end(self, visit: SignIn) -> None:
        """End ``visit``: none of its ids is valid any more."""
        with self._lock:
            self._drop(visit)

    @staticmethod
    def _has_ended(visit: SignIn, now: float) -> bool:
        return now - visit.began > LONGEST_SECONDS or now - visit.seen > IDLE_SECONDS

    def _add_id(self, visit: SignIn, id_: str) -> None:
        """Give ``visit`` a new id, and keep the last one that its browser has."""
        is_lost = visit.confirmed is None and len(visit.hashes) > 1
        kept = visit.hashes[0 if is_lost else -1 :][:1]
        for each in visit.hashes:
            if each not in kept:
                self._found.pop(each, None)
        visit.hashes = [*kept, hash_of(id_)]
        visit.confirmed = None
        self._found[visit.hashes[-1]] = visit

    def _drop(self, visit: SignIn) -> None:
        if not visit.hashes:
            return
        for each in visit.hashes:
            self._found.pop(each, None)
        visit.hashes = []
        own = self._of[visit.account]
        own.remove(visit)
        if not own:
            del self._of[visit.account]
        self._count -= 1

    def _make_room(self, now: float) -> None:
        """Drop the visits that have ended, or else one of the account that has the most."""
        every = [each for own in self._of.values() for each in own]
        ended = [each for each in every if self._has_ended(each, now)]
        most = max(self._of.values(), key=len)
        for each in ended or [min(most, key=lambda one: one.seen)]:
            self._drop(each)
