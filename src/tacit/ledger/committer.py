"""The committer: charges and answers of all threads of a process, in one unit of work.

Each unit of work waits for a sync of the disk, and all charges about one population change one
row. So charges that wait at the same time are written together (decision 72). The idea is that
of *group commit* in databases, with a leader and followers, and without a thread of its own:

1. A thread that wants to write joins the end of the queue.
2. If nobody leads, it leads: it takes all that wait, itself included, writes them in one unit
   of work, and hands each thread its result after the commit. Then the first thread that has
   joined meanwhile leads.
3. Otherwise it waits for its result, or for its turn to lead.

A thread without company therefore writes at once and pays nothing for the queue, and a group
grows as the store becomes slower.
"""

from collections import deque
from collections.abc import Sequence
from threading import Event, Lock
from typing import Any, Protocol, cast

from tacit.errors import StoreFailed
from tacit.ledger.charge import Charge, StoredRelease
from tacit.ledger.group_write import AnswerWriting, ChargeWriting, Member, write_group
from tacit.numeric.entropy import forks
from tacit.store import Store

LARGEST_GROUP = 64
"""The largest number of charges and answers in one unit of work.

One more makes each of them wait longer, and saves less than a hundredth of a sync.
"""

LONGEST_WAIT = 60
"""Seconds for which a thread waits until a group takes what it wants to write."""

Written = Charge | StoredRelease


class ChargeGate(Protocol):
    """Something that counts charges, and lets them wait while it falls behind."""

    def admit(self, charges: int) -> None:
        """Wait until so many charges may be written, or raise an error; then count them."""
        ...

    def settle(self, charges: int) -> None:
        """Count charges that were admitted as written, or as given up."""
        ...

    def note(self) -> None:
        """Count an entry other than a charge, such as an act of an owner; it never waits."""
        ...


class OpenGate:
    """A gate that lets every charge pass: the ledger has no anchors."""

    def admit(self, charges: int) -> None:
        """Let the charges pass."""

    def settle(self, charges: int) -> None:
        """Count nothing."""

    def note(self) -> None:
        """Count nothing."""


class Waiting:
    """Something that a thread wants to write: its place in the queue, and its result."""

    __slots__ = ("_wake", "by_itself", "leads", "member", "outcome")

    def __init__(self, member: Member) -> None:
        self.member = member
        self.leads = False
        """Whether its thread must lead."""
        self.by_itself = False
        """Whether its thread must write it alone, because the store does not respond."""
        self.outcome: Written | BaseException | None = None
        self._wake: Event | None = None

    def prepare_to_wait(self) -> Event:
        """Return the event that `settle`, `hand_back` and `lead` set."""
        self._wake = Event()
        return self._wake

    def settle(self, outcome: Written | BaseException) -> None:
        """Set the result, or the error that its thread raises, and wake its thread."""
        self.outcome = outcome
        self._rouse()

    def hand_back(self) -> None:
        """Tell its thread to write it alone."""
        self.by_itself = True
        self._rouse()

    def lead(self) -> None:
        """Tell its thread to lead the next group."""
        self.leads = True
        self._rouse()

    @property
    def is_settled(self) -> bool:
        """Whether its thread has a result, or must write it alone."""
        return self.by_itself or self.outcome is not None

    def _rouse(self) -> None:
        if self._wake is not None:
            self._wake.set()


class Committer:
    """Writes what the threads of this process want to write to ``store``, in groups.

    Guarantee: `charge` and `keep` return after the commit, so that what they return is durable.
    Within this process, charges are decided in the order in which the threads called, unless
    the store fails meanwhile: each thread of a group whose store failed then writes by itself.
    Nobody waits for ever: after a minute, a thread that no group has taken gets an error, which
    says that nothing was written.
    """

    def __init__(self, store: Store, gate: ChargeGate | None = None) -> None:
        self._store = store
        self._gate = gate or OpenGate()
        self._start()

    def _start(self) -> None:
        self._guard = Lock()
        self._queue: deque[Waiting] = deque()
        self._is_led = False
        self._home = forks.count  # last: who sees it uses the new queue

    def charge(self, member: ChargeWriting) -> Charge | StoredRelease:
        """Charge a question; see `reserve.reserve_charge`."""
        return self._write(member)

    def keep(self, member: AnswerWriting) -> StoredRelease:
        """Store an answer; see `reserve.keep`."""
        return cast("StoredRelease", self._write(member))

    def _write(self, member: Member) -> Written:
        if self._home != forks.count:
            # A forked child has none of the threads that wait in its parent. Its own threads
            # must not both start, because one of them would wait in a queue that is replaced.
            with forks.lock():
                if self._home != forks.count:
                    self._start()
        mine = Waiting(member)
        with self._guard:
            self._queue.append(mine)
            leads, self._is_led = not self._is_led, True
            wake = None if leads else mine.prepare_to_wait()
        if wake is not None:
            leads = self._wait(mine, wake)
        if leads:
            self._lead()
        if mine.by_itself:
            return self._alone(member)
        if isinstance(mine.outcome, BaseException):
            raise mine.outcome
        return cast("Written", mine.outcome)

    def _wait(self, mine: Waiting, wake: Event) -> bool:
        """Wait until ``mine`` is settled, or until its thread must lead; return the latter."""
        try:
            woken = wake.wait(LONGEST_WAIT)
        except BaseException:
            self._leave(mine)
            raise
        if not woken:
            if self._leave(mine):
                raise StoreFailed("The store is busy and nothing was written. Ask again.")
            wake.wait()  # a group has taken it, so that it will be settled
        return mine.leads and not mine.is_settled

    def _leave(self, mine: Waiting) -> bool:
        """Leave the queue; return False if a group has taken ``mine``, or is led by it."""
        with self._guard:
            if mine not in self._queue:
                return False
            self._queue.remove(mine)
            if mine.leads:
                self._pass_on()
        return True

    def _lead(self) -> None:
        """Write all that wait, and let the first of those who came meanwhile lead."""
        with self._guard:
            count = min(len(self._queue), LARGEST_GROUP)
            group = [self._queue.popleft() for _ in range(count)]
        try:
            self._write_all(group)
        finally:
            for waiting in group:
                if not waiting.is_settled:  # an interrupt ended this thread's work
                    waiting.settle(
                        StoreFailed(
                            "The charge was interrupted. Ask again with the same idempotency "
                            "key to find out whether it was recorded."
                        )
                    )
            with self._guard:
                self._pass_on()

    def _pass_on(self) -> None:
        """Let the first in the queue lead; the guard must be held."""
        self._is_led = bool(self._queue)
        if self._queue:
            self._queue[0].lead()

    # ---------------------------------------------------------- groups

    def _write_all(self, group: Sequence[Waiting]) -> None:
        """Write each of ``group``, in order, in few units of work.

        The first member that is not plain is written alone, and so are all that follow a unit
        of work that wrote nothing: most of them will be refused, and looking at all of them
        again before each refusal would cost more than it saves.
        """
        rest = list(group)
        while rest:
            written = self._write_together(rest)
            end = written + 1 if written else len(rest)
            alone, rest = rest[written:end], rest[end:]
            for number, waiting in enumerate(alone):
                if not self._write_alone(waiting):
                    for other in [*alone[number + 1 :], *rest]:
                        other.hand_back()
                    return

    def _write_together(self, group: Sequence[Waiting]) -> int:
        """Write the first of ``group`` in one unit of work, and return how many."""
        if len(group) == 1:
            return 0
        members = [waiting.member for waiting in group]
        admitted = 0
        try:
            with self._store.writing() as work:
                results = write_group(work, members)
                # before the commit and not before the group, so that an anchor of the group
                # before can be written while the statements of this one run
                charges = sum(isinstance(each, Charge) for each in results)
                self._gate.admit(charges)
                admitted = charges
        except Exception:  # noqa: BLE001 - whose error it is shows when each is written alone
            # Nothing was written, or that is not known: written alone, each member finds out.
            return 0
        finally:
            self._gate.settle(admitted)
        for waiting, result in zip(group, results, strict=False):
            waiting.settle(result)
        return len(results)

    def _write_alone(self, waiting: Waiting) -> bool:
        """Write one member alone; return False if the store does not respond."""
        outcome: Any
        try:
            outcome = self._alone(waiting.member)
        except Exception as error:  # noqa: BLE001 - it is raised in the thread that waits
            outcome = error
        waiting.settle(outcome)
        return not isinstance(outcome, StoreFailed)

    def _alone(self, member: Member) -> Written:
        """Write one member in a unit of work of its own."""
        if not isinstance(member, ChargeWriting):
            return member.alone(self._store)
        self._gate.admit(1)
        try:
            return member.alone(self._store)
        finally:
            self._gate.settle(1)
