"""F-P11: two servers are asked while owners declare and stop; nothing is charged under the old.

From the moment in which `apply` or `freeze` returns, no charge is made by what held before. The
chain shows it: the act of the owner has a place in it, and every charge behind that place names
the declaration that holds there, and none stands between a stop and its end.

`TACIT_DECLARATION_ROUNDS` says how often, `just campaign-declarations` at its real size.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, Thread

import requests
from conftest import Bar
from instances import KEY, PATIENCE, Command
from serving import ALL, BUDGET, make_project

from tacit.errors import LedgerBroken
from tacit.ledger.entries import Charged, Described, Frozen, Thawed, decode_act
from tacit.ledger.ledger import Ledger, wall_clock
from tacit.session.project import apply_project
from tacit.store.connect import open_store
from tacit.store.tokens import AccessToken, Tokens

ROUNDS = int(os.environ.get("TACIT_DECLARATION_ROUNDS", "20"))
LIES = 6
DECLARED_EVERY = 10
"""One round of so many declares something else; the others stop charges and allow them."""

THREADS = 4
SETTINGS = "[server]\nprocesses = 1\nrequests_per_minute = 1000000\n"
LARGE = 'rho = "100", conversion_delta = "1e-6"'
BOUNDS = "bounds = [0, 100]"
CARELESS = Path(__file__).with_name("careless.py")


@dataclass
class Askers:
    """Threads that ask two servers one new question after the other."""

    servers: list[Command]
    token: str
    statuses: Counter[int] = field(default_factory=Counter)
    answered: Counter[int] = field(default_factory=Counter)
    """How many answers each server gave."""

    def __post_init__(self) -> None:
        self._numbers, self._over = count(1), Event()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Ask until the block ends."""
        threads = [Thread(target=self._ask, args=(place,)) for place in range(THREADS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def until_each_answers(self) -> None:
        """Wait until each server has answered once more."""
        before = dict(self.answered)
        last = time.monotonic() + PATIENCE
        while any(self.answered[each] == before.get(each, 0) for each in (0, 1)):
            assert time.monotonic() < last, f"No answers came: {self.statuses}"
            time.sleep(0.005)

    def until_refused(self) -> None:
        """Wait until a question was refused because charges are stopped."""
        last = time.monotonic() + PATIENCE
        while not self.statuses[423]:
            assert time.monotonic() < last, f"Nothing was refused: {self.statuses}"
            time.sleep(0.005)

    def _ask(self, place: int) -> None:
        server = self.servers[place % 2]
        with requests.Session() as line:
            line.headers["Authorization"] = f"Bearer {self.token}"
            while not self._over.is_set():
                number = next(self._numbers)
                sql = f"SELECT COUNT(*) AS n FROM people WHERE id < {number}"  # noqa: S608
                with suppress(requests.ConnectionError):
                    reply = line.post(
                        f"http://127.0.0.1:{server.port}/v1/ask",
                        json={"sql": sql, "rho": "0.0015"},
                        timeout=PATIENCE,
                    )
                    self.statuses[reply.status_code] += 1
                    self.answered[place % 2] += reply.status_code == 200


@contextmanager
def arena(
    tmp_path: Path, address: str, script: Path | None = None
) -> Iterator[tuple[Path, Ledger, Askers]]:
    """A project on one PostgreSQL, its ledger, and two servers that are asked."""
    store = open_store(address)
    more = f'[store]\naddress = "{address}"\n{SETTINGS}'
    file = make_project(
        tmp_path / "clinic", more=more, environment=KEY, changed={BUDGET: LARGE}
    )
    until = wall_clock() + 24 * 3_600_000
    token = Tokens(store).issue(AccessToken("ann", "analyst", ALL.text, until))
    with ExitStack() as closing:
        closing.callback(store.close)
        servers = []
        for _ in range(2):
            servers.append(Command(file, tmp_path / "logs", KEY, script))
            closing.callback(servers[-1].kill)
            servers[-1].ready()
        askers = Askers(servers, token)
        yield file, Ledger(store), askers


def race(
    file: Path, ledger: Ledger, askers: Askers, rounds: int, *, waits: bool = True
) -> None:
    """Declare and stop, again and again, while both servers are asked."""
    text = file.read_text()
    with askers.asking():
        askers.until_each_answers()
        for number in range(rounds):
            if number % DECLARED_EVERY == DECLARED_EVERY // 2:
                file.write_text(text.replace(BOUNDS, f"bounds = [0, {101 + number}]"))
                apply_project(file, by="olga", environment=KEY)
            else:
                ledger.freeze("patients", by="olga")
                time.sleep(0.02)
                if waits and not number:
                    askers.until_refused()
                ledger.thaw("patients", by="olga")
            if waits:
                askers.until_each_answers()
            else:
                time.sleep(0.3)


def judge(ledger: Ledger) -> tuple[int, int]:
    """How many charges there are, and how many were made by what did not hold any more."""
    charges = wrong = after = number = 0
    stopped = False
    while entries := ledger.entries("patients", after):
        for entry in entries:
            after = entry.seq
            match decode_act(entry.body):
                case Described():
                    number = entry.seq
                case Frozen():
                    stopped = True
                case Thawed():
                    stopped = False
                case Charged() as act:
                    charges += 1
                    wrong += stopped or act.declaration != number
                case _:
                    pass
    return charges, wrong


def test_no_charge_is_made_under_what_was_declared_before(
    tmp_path: Path, new_store: Callable[[str], str], bar: Bar
) -> None:
    with arena(tmp_path, new_store("postgresql")) as (file, ledger, askers):
        race(file, ledger, askers, ROUNDS)
        charges, wrong = judge(ledger)
        bar(
            f"charges under an old declaration or a stop, of {charges} in {ROUNDS} rounds",
            wrong,
            "0",
            not wrong,
        )
        refused = askers.statuses[409] + askers.statuses[423]
        bar("questions refused meanwhile", refused, "some", refused > 0)
        assert charges >= ROUNDS
        assert set(askers.statuses) <= {200, 409, 423}
        ledger.verify("patients")


def test_servers_without_the_condition_are_found_out(
    tmp_path: Path, new_store: Callable[[str], str], bar: Bar
) -> None:
    with arena(tmp_path, new_store("postgresql"), CARELESS) as (file, ledger, askers):
        with suppress(LedgerBroken):  # `apply` walks the chain too, and finds it out first
            race(file, ledger, askers, LIES, waits=False)
        charges, wrong = judge(ledger)
    bar(f"the same without the condition, of {charges}", wrong, "more than 0", wrong > 0)
