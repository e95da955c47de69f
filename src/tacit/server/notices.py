"""Notices to owners: what happened to their populations, by a command or a webhook.

An owner must act when a population is locked after a failure, when another owner proposes
something, or when an analyst asks for a larger quota; and all owners want to know of a freeze.
All of this is in the chains, whichever server or command wrote it. So a thread follows the
chains of the populations that this server serves, and tells what is new.

A notice has public facts only: what happened, the population, the number of the entry, and the
owner or analyst who acted. It never has a question or a reason of a failure. When a server
starts, it tells again what still waits for an owner, so that nothing is lost while no server
runs. Every server with these settings tells everything it sees: give them to one server.
"""

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from tacit.errors import InvalidValue
from tacit.ledger import Ledger, Restored, entries, wall_clock
from tacit.project import Notify
from tacit.server.current_curator import Current, Log
from tacit.store import VARIABLE

SECONDS = 1.0
"""Seconds between two looks at the ends of the chains."""

PAUSES = (0.0, 1.0, 5.0)
"""Seconds before each attempt to reach a webhook."""

REPLY_SECONDS, COMMAND_SECONDS = 5.0, 60.0
MOST_WAITING = 1000
"""Number of notices that wait to be sent; more are dropped, and the log says so."""

ENVIRONMENT = "env:"
KINDS: dict[type, str] = {
    entries.Missed: "locked",
    entries.Failed: "locked",
    entries.Retried: "locked",
    entries.Looked: "reviewed",
    entries.Frozen: "frozen",
    entries.Thawed: "thawed",
    entries.Proposed: "proposed",
    entries.CapLowered: "cap lowered",
    entries.Approved: "approved",
    entries.ProposalWithdrawn: "withdrawn",
    entries.QuotaRequested: "quota requested",
    Restored: "restored",
}
"""The kinds of entries of which owners are notified, and the words for them."""

MARKS = tuple(f'"kind":"{name}"' for name, kind in entries.ACTS.items() if kind in KINDS)
"""Parts of the texts of these entries, by which they are found among many charges."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing of which owners are notified.

    ``entry`` is the number of the entry in the population's chain, or 0 for a state that was
    found when the server started, and for an alarm, which is in no chain. ``by`` is the owner
    or analyst who acted, if anyone did.
    """

    what: str
    population: str
    entry: int = 0
    by: str | None = None
    at: int = 0


Send = Callable[[Notice], None]
"""A function that tells owners of something."""


# ------------------------------------------------------------------ find what is new


def notice_of(population: str, entry: entries.Entry) -> Notice | None:
    """Return the notice about an entry, or None for kinds of no interest to owners.

    Example:
        >>> body = entries.encode_act(entries.Frozen("olga", 7))
        >>> notice_of("patients", entries.Entry("patients", 3, body, bytes(32)))
        Notice(what='frozen', population='patients', entry=3, by='olga', at=7)
    """
    if not any(mark in entry.body for mark in MARKS):
        return None  # a charge or an answer, as most entries are
    act: Any = entries.decode_act(entry.body)
    what = KINDS.get(type(act))
    if what is None:
        return None
    by = getattr(act, "by", None) or getattr(act, "principal", None)
    return Notice(what, population, entry.seq, by, act.at)


def waiting_notices(ledger: Ledger, population: str) -> Iterator[Notice]:
    """Yield what waits for an owner of ``population`` now."""
    status = ledger.status(population)
    if status.locked:
        yield Notice("locked", population)
    if status.frozen:
        yield Notice("frozen", population)
    for seq, proposed in ledger.waiting_proposals(population).items():
        yield Notice("proposed", population, seq, proposed.by, proposed.at)
    for seq, asked in ledger.quota_requests(population).items():
        yield Notice("quota requested", population, seq, asked.principal, asked.at)


class ChainFollower:
    """The ends of the chains that were seen so far, and what is new after them."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def look(self, ledger: Ledger, populations: Iterable[str]) -> Iterator[Notice]:
        """Yield what is new about ``populations``; at the first look, what waits for owners."""
        ends = ledger.chain_ends()
        for name in populations:
            end = ends.get(name, 0)
            if name not in self._seen:
                yield from waiting_notices(ledger, name) if end else ()
                self._seen[name] = end
            self._seen[name] = min(self._seen[name], end)  # after a restore of an old copy
            before = -1
            while before < self._seen[name] < end:  # it stops if entries are missing
                before = self._seen[name]
                yield from self._next(ledger, name)

    def _next(self, ledger: Ledger, population: str) -> Iterator[Notice]:
        """Yield the notices about the next page of a chain."""
        for entry in ledger.entries(population, self._seen[population]):
            found = notice_of(population, entry)
            # most questions that are run again lock nothing: only every third does
            again = '"kind":"retried"' in entry.body
            if found is not None and (not again or ledger.status(population).locked):
                yield found
            self._seen[population] = entry.seq


# ------------------------------------------------------------------ send


def senders_of(notify: Notify, environment: Mapping[str, str]) -> tuple[Send, ...]:
    """Return the ways to notify owners; raise `InvalidValue` for a missing address."""
    found: list[Send] = []
    if notify.command:
        around = {name: text for name, text in environment.items() if name != VARIABLE}
        found.append(lambda notice: run_command(notify.command, notice, around))
    if notify.webhook is not None:
        address = notify.webhook
        if address.startswith(ENVIRONMENT):
            address = environment.get(address.removeprefix(ENVIRONMENT), "")
        check_address(address)
        found.append(lambda notice: post(address, notice))
    return tuple(found)


def check_address(address: str) -> None:
    """Raise `InvalidValue` if a webhook is not reached over TLS, or on this machine.

    The text of the error does not repeat the address, which may be a secret.
    """
    try:
        split = urlsplit(address)
        local = (split.scheme, split.hostname) == ("http", "127.0.0.1") and split.port
        fine = bool(local or (split.scheme == "https" and split.hostname))
        if split.port == 0 or "@" in split.netloc or not _is_plain(address):
            fine = False
    except ValueError:
        fine = False
    if not fine:
        raise InvalidValue(
            "The webhook of [server.notify] must be an https:// address without a user and "
            "with ASCII characters only, in the project file or in the variable that it names. "
            "The server did not start."
        )


def _is_plain(address: str) -> bool:
    return address.isascii() and address.isprintable() and " " not in address


class OtherStatusError(OSError):
    """A webhook replied with another status than 200 to 299."""


class ExitStatusError(OSError):
    """The owner's command ended with another exit status than 0."""


def kind_of(error: BaseException) -> str:
    """Return the name of the class of an error, or of the error that caused it.

    The text of an error may contain an address, or what somebody else sent.

    Example:
        >>> kind_of(ConnectionRefusedError("10.0.0.1")), kind_of(OSError())
        ('ConnectionRefusedError', 'OSError')
    """
    return type(error.__cause__ or error).__name__


def post(address: str, notice: Notice) -> None:
    """Send a notice as JSON; raise `OSError` if it does not arrive. No redirect is followed."""
    split = urlsplit(address)
    connect = HTTPSConnection if split.scheme == "https" else HTTPConnection
    line = connect(split.hostname or "", split.port, timeout=REPLY_SECONDS)
    try:
        path = split.path or "/"
        headers = {"Content-Type": "application/json"}
        body = json.dumps(asdict(notice))
        line.request("POST", f"{path}?{split.query}" if split.query else path, body, headers)
        if not 200 <= line.getresponse().status < 300:  # noqa: PLR2004 - a status of success
            raise OtherStatusError
    except (HTTPException, ValueError) as error:  # such as a malformed host
        raise OSError from error
    finally:
        line.close()


def run_command(
    command: tuple[str, ...], notice: Notice, environment: Mapping[str, str]
) -> None:
    """Run the owner's command without a shell; raise `OSError` if it fails or hangs.

    Its ``environment`` does not have the key of the sealed states.
    """
    nowhere = subprocess.DEVNULL
    try:
        done = subprocess.run(  # noqa: S603 - the owner's own command, without a shell
            [*command, notice.what, notice.population, str(notice.entry)],
            check=False,
            env=environment,
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            start_new_session=True,
            timeout=COMMAND_SECONDS,
        )
    except (subprocess.TimeoutExpired, ValueError) as error:  # such as a NUL in a word
        raise OSError from error
    if done.returncode:
        raise ExitStatusError


class Notifier:
    """Two threads that tell owners what happened: one follows the chains, one sends.

    No question waits for them. A notice that cannot be sent is tried again, and then logged.
    """

    def __init__(self, current: Current, senders: tuple[Send, ...], log: Log) -> None:
        self._current = current
        self._senders = senders
        self._log = log
        self._waiting: Queue[Notice] = Queue(MOST_WAITING)
        self._ended = Event()
        self._threads: tuple[Thread, ...] = ()

    def start(self) -> None:
        """Start the threads, if there is anybody to tell."""
        if self._senders:
            work = (self._follow, self._send_all)
            self._threads = tuple(Thread(target=each, daemon=True) for each in work)
            for thread in self._threads:
                thread.start()

    def tell(self, what: str) -> None:
        """Tell the owners of all populations something that is in no chain."""
        if self._senders:
            for people in self._current.curator.catalog.populations:
                self._put(Notice(what, people.name, at=wall_clock()))

    def close(self) -> None:
        """Stop the threads; a notice that is being sent may still arrive."""
        self._ended.set()
        for thread in self._threads:
            thread.join(REPLY_SECONDS)

    def _follow(self) -> None:
        follower = ChainFollower()
        while not self._ended.is_set():
            curator = self._current.curator
            names = (people.name for people in curator.catalog.populations)
            # if the store does not respond, what is new is found at the next look
            with suppress(Exception):
                for notice in follower.look(curator.home.ledger, names):
                    self._put(notice)
            self._ended.wait(SECONDS)

    def _put(self, notice: Notice) -> None:
        try:
            self._waiting.put_nowait(notice)
        except Full:
            self._report(notice, "Full")

    def _send_all(self) -> None:
        while not self._ended.is_set():
            try:
                notice = self._waiting.get(timeout=SECONDS)
            except Empty:
                continue
            for send in self._senders:
                self._send(send, notice)

    def _send(self, send: Send, notice: Notice) -> None:
        failed = ""
        for pause in PAUSES:
            self._ended.wait(pause)
            try:
                send(notice)
            except OSError as error:
                failed = kind_of(error)
                continue
            return
        self._report(notice, failed)

    def _report(self, notice: Notice, failed: str) -> None:
        """Log that a notice did not arrive, and the kind of the error without its text."""
        facts = {"what": notice.what, "population": notice.population, "entry": notice.entry}
        self._log({"at": wall_clock(), "notice": "not sent", **facts, "failed": failed})
