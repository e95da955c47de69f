"""The keeper of anchors: a thread that writes an anchor as charges go by.

Charges do not wait for anchors. The committer counts each charge, and a thread of this process
writes an anchor after `WAKE` of them, or `PAUSE` seconds after the first. Only where the thread
falls behind, because the place is slow or cannot be written, charges wait; and after
`LONGEST_BEHIND` seconds they are refused, before anything is written.

Guarantee: while a process charges, at most `MOST_BEHIND` of its charges have no anchor, and
nothing is charged while one is without an anchor for more than `LONGEST_BEHIND` seconds. The
charges that a killed process left without an anchor count for the next process.

Several processes that share a ledger each keep this bound for their own charges. An anchor
covers the charges of all.
"""

import time
from collections.abc import Callable
from threading import Condition, Thread

from tacit.errors import LedgerBroken, StoreFailed, TacitError
from tacit.ledger.anchor_places import AnchorPlace, check_place, renew_anchor
from tacit.ledger.chain import Anchor, check_anchor, take_anchor
from tacit.numeric.entropy import forks
from tacit.store import SigningKey, Store

MOST_BEHIND = 100
"""The most charges of a process that have no anchor."""

LONGEST_BEHIND = 10.0
"""Seconds for which a charge may be without an anchor while others are charged."""

WAKE = 50
"""Charges after which the thread writes an anchor at once. A group has at most 64."""

PAUSE = 3.0
"""Seconds after the first charge when the thread writes an anchor in any case."""

RETRY = 0.5
"""Seconds between two attempts to write an anchor."""


class AnchorKeeper:
    """Writes anchors of ``store`` to ``place`` as charges go by; see this module's text."""

    def __init__(
        self, store: Store, place: AnchorPlace, key: SigningKey, clock: Callable[[], int]
    ) -> None:
        self._store = store
        self._place = place
        self._key = key
        self._clock = clock
        self._start()

    def _start(self) -> None:
        self._changed = Condition()
        self._admitted = self._settled = self._anchored = 0
        self._since: float | None = None
        """When the first charge without an anchor was committed."""
        self._urgent = self._closed = False
        self._last: Anchor | None = None
        """The newest anchor, as this process has read or written it."""
        self._failure: TacitError | None = None
        self._thread: Thread | None = None
        self._home = forks.count  # last: who sees it uses the new counts

    def open(self) -> None:
        """Check the store against the newest anchor, and count what has none yet.

        Raise `LedgerBroken` as `check_place` does.
        """
        last = self._last = check_place(self._store, self._place, self._key)
        now = take_anchor(self._store)
        behind = 0 if last is None else now.entries - last.entries
        with self._changed:
            self._admitted += max(behind, 0)
            self._settled = self._admitted
            self._since = time.monotonic() if behind > 0 else None

    @property
    def newest(self) -> Anchor | None:
        """The newest anchor with which this process compared the store, or which it wrote."""
        return self._last

    def check(self) -> None:
        """Check the store against the newest anchor that this process has read or written.

        Raise `LedgerBroken` if the store is older or another ledger.
        """
        if self._last is not None:
            check_anchor(self._store, self._last)

    def admit(self, charges: int) -> None:
        """Wait until so many more charges may be written; `settle` must follow.

        Raise `StoreFailed` or `LedgerBroken` if no anchor can be written.
        """
        if not charges:
            return
        self._prepare()
        with self._changed:
            end = time.monotonic() + LONGEST_BEHIND
            while self._is_behind(charges):
                self._check_failure()
                left = end - time.monotonic()
                if left <= 0:
                    raise self._refusal()
                self._urgent = True
                self._changed.notify_all()
                self._changed.wait(left)
            self._admitted += charges

    def settle(self, charges: int) -> None:
        """Count charges that were admitted as written, or as given up."""
        if not charges:
            return
        with self._changed:
            self._settled += charges
            if self._since is None:
                self._since = time.monotonic()
                self._changed.notify_all()
            elif self._settled - self._anchored >= WAKE:
                self._changed.notify_all()

    def note(self) -> None:
        """Count an entry other than a charge, so that it is anchored soon; it never waits."""
        self._prepare()
        with self._changed:
            self._admitted += 1
        self.settle(1)

    @property
    def is_current(self) -> bool:
        """Whether the last anchor could be written."""
        return self._failure is None

    def close(self) -> None:
        """Stop the thread, and write an anchor of what has none yet."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and self._home == forks.count:
            thread.join()
        self.renew()

    # ---------------------------------------------------------- the thread

    def _prepare(self) -> None:
        """Start the thread, also in a forked child, which has none."""
        if self._home != forks.count:
            with forks.lock():
                if self._home != forks.count:
                    self._start()
        with self._changed:
            if self._thread is None and not self._closed:
                self._thread = Thread(target=self._keep, name="tacit anchors", daemon=True)
                self._thread.start()

    def _is_behind(self, charges: int) -> bool:
        """Return whether a bound would be exceeded; the lock must be held."""
        behind = self._admitted - self._anchored
        if behind and behind + charges > MOST_BEHIND:
            return True
        return self._since is not None and time.monotonic() - self._since > LONGEST_BEHIND

    def _check_failure(self) -> None:
        """Raise an error at once if waiting longer cannot help; the lock must be held."""
        failure, since = self._failure, self._since
        if isinstance(failure, LedgerBroken):
            raise LedgerBroken(str(failure))
        late = since is not None and time.monotonic() - since > LONGEST_BEHIND
        if failure is not None and late:
            raise self._refusal()

    def _refusal(self) -> StoreFailed:
        why = "" if self._failure is None else f" {self._failure}"
        return StoreFailed(
            "Nothing was charged, because the ledger's anchors are too far behind: the last "
            f"charges could not be anchored.{why} Ask again when anchors can be written."
        )

    def _keep(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._settled > self._anchored)
                self._changed.wait_for(self._is_due, self._rest())
                if self._closed:
                    return
                self._urgent = False
                target = self._settled
            began = time.monotonic()
            try:
                self.renew()
            except Exception as error:  # noqa: BLE001 - it is raised where a charge waits
                self._note_failure(error)
            else:
                self._note_anchor(target, began)

    def _is_due(self) -> bool:
        return self._closed or self._urgent or self._settled - self._anchored >= WAKE

    def _rest(self) -> float:
        since = self._since
        return 0.0 if since is None else max(0.0, since + PAUSE - time.monotonic())

    def renew(self) -> None:
        """Write an anchor now, unless the newest one is up to date."""
        last = self._last
        self._last = renew_anchor(
            self._store,
            self._place,
            self._key,
            self._clock,
            known=last,
            expected=last is not None,
        )

    def _note_failure(self, error: Exception) -> None:
        told = error if isinstance(error, TacitError) else StoreFailed(type(error).__name__)
        with self._changed:
            self._failure = told
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed, RETRY)

    def _note_anchor(self, target: int, began: float) -> None:
        with self._changed:
            self._anchored = target
            self._failure = None
            self._since = None if self._settled == target else began
            self._changed.notify_all()
