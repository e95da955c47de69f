"""Faults at each stage below a charge, put into the parts that really run there.

A fault is a file in a folder: its first line names the stage, its second says how often the
fault still strikes. Parts read it whenever they run, so that the same faults can be put into
this process and into a child process, which shares nothing with it but the folder.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tacit import core
from tacit.engines.duckdb import DuckDB, open_duckdb
from tacit.errors import InternalError
from tacit.ledger.ledger import Ledger
from tacit.mechanisms.gateway import LiveGateway
from tacit.stream.holdout import OpenHoldout
from tacit.stream.step import Step

STAGES = ("statement", "fetch", "noise", "encode", "store")
"""Where a fault strikes, in the order of the path."""

BEFORE_A_DRAW = ("statement", "fetch")
WORDS = "p17 earns 66"
"""What an engine's error may say; nobody must ever read it."""


class Faults:
    """The fault in a folder, and how often the engine was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def set(self, stage: str, times: int, how: str = "raise") -> None:
        """Let the next ``times`` visits to ``stage`` fail: raise, or die."""
        (self.folder / "fault").write_text(f"{stage}\n{times}\n{how}")
        (self.folder / "asked").write_text("")

    def clear(self) -> None:
        """Let everything work."""
        self.set("nothing", 0)

    @property
    def asked(self) -> int:
        """How many statements the engine was asked since the fault was set."""
        return len((self.folder / "asked").read_text())

    def visit(self, stage: str) -> None:
        """Fail here, where the fault is for this stage."""
        if stage == "statement":
            with (self.folder / "asked").open("a") as counted:
                counted.write(".")
        named, times, how = (self.folder / "fault").read_text().split("\n")
        if named != stage or int(times) == 0:
            return
        (self.folder / "fault").write_text(f"{named}\n{int(times) - 1}\n{how}")
        if how == "die":
            os._exit(9)
        raise ValueError(WORDS) if stage != "store" else InternalError(WORDS)


Replace = Callable[[Any, str, Any], None]
"""Puts a function in the place of another, such as `setattr`."""


def put_into(faults: Faults, replace: Replace) -> None:
    """Put the faults into the engine, the gateway, the encoders and the ledger."""
    found, rows, release = DuckDB._fetch, DuckDB.rows, LiveGateway.release
    encode, step_encode = core.encode_release, Step.encode
    keep, take_turn, decide = Ledger.keep, Ledger.take_turn, OpenHoldout._decide

    def found_faulty(self: DuckDB, text: str) -> Any:
        faults.visit("statement")
        rows = found(self, text)
        faults.visit("fetch")
        return rows

    def rows_faulty(self: DuckDB, *given: Any) -> Any:
        faults.visit("statement")
        fetched = rows(self, *given)
        faults.visit("fetch")
        return fetched

    def release_faulty(self: LiveGateway, *given: Any) -> Any:
        drawn = release(self, *given)
        faults.visit("noise")
        return drawn

    def encode_faulty(*given: Any) -> Any:
        faults.visit("encode")
        return encode(*given)

    def step_faulty(self: Step) -> bytes:
        faults.visit("encode")
        return step_encode(self)

    def decide_faulty(self: OpenHoldout, *given: Any) -> Any:
        decided = decide(self, *given)
        faults.visit("encode")
        return decided

    def keep_faulty(self: Ledger, *given: Any) -> Any:
        faults.visit("store")
        return keep(self, *given)

    def turn_faulty(self: Ledger, *given: Any) -> Any:
        faults.visit("store")
        return take_turn(self, *given)

    replace(DuckDB, "_fetch", found_faulty)
    replace(DuckDB, "rows", rows_faulty)
    replace(LiveGateway, "release", release_faulty)
    replace(core, "encode_release", encode_faulty)
    replace(Step, "encode", step_faulty)
    replace(OpenHoldout, "_decide", decide_faulty)
    replace(Ledger, "keep", keep_faulty)
    replace(Ledger, "take_turn", turn_faulty)


def start_faulty(address: str) -> DuckDB:
    """Open the database in the folder at ``address``, in a child with the folder's faults."""
    folder = Path(address)
    with suppress(FileNotFoundError):
        put_into(Faults(folder), setattr)
    return open_duckdb(str(folder / "visits.duckdb"))
