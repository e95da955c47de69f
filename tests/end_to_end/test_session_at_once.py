"""Sessions that ask at once, and what they leave behind."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import polars as pl
import pytest

import tacit
from tacit.core.codec import encode_release
from tacit.core.loss import Loss
from tacit.errors import InternalError
from tacit.session.session import Session

ASKERS = 6
CANARIES = [f"canary-{number:04d}-{'qx' * 6}" for number in range(1000)]
NUMBERS = [123_456_789_012_345_678 + 7919 * number for number in range(1000)]
COUNT = "SELECT COUNT(*) AS n, AVG(pay) AS pay FROM visits"


def opened(folder: Path) -> Session:
    visits = pl.DataFrame({"patient": CANARIES, "note": CANARIES, "pay": NUMBERS})
    return tacit.open(
        visits,
        table="visits",
        population="patients",
        unit="patient",
        bounds={"pay": (0, 2 * 10**17)},
        max_groups=1,
        max_rows=1,
        budget=(3, "1e-6"),
        folder=folder,
    )


def at_once(folder: Path, amounts: Iterable[str]) -> list[bytes]:
    """The bytes that sessions of their own receive, all asking at one moment."""
    opened(folder).close()
    ready = Barrier(ASKERS)

    def ask(rho: str) -> bytes:
        with opened(folder) as session:
            question = session.sql(COUNT)
            ready.wait()
            return encode_release(question.ask(rho=rho))

    with ThreadPoolExecutor(ASKERS) as askers:
        return list(askers.map(ask, amounts))


def test_sessions_that_ask_the_same_at_once_share_one_charge(tmp_path: Path) -> None:
    received = at_once(tmp_path / "home", ["0.001"] * ASKERS)
    assert len(set(received)) == 1
    with opened(tmp_path / "home") as session:
        assert session.status().spent == Loss.zcdp("0.001")
        assert session.verify().entries == 4  # opened, described, charged and kept


def test_sessions_that_ask_different_things_pay_for_each(tmp_path: Path) -> None:
    received = at_once(tmp_path / "home", [f"0.00{1 + number}" for number in range(ASKERS)])
    assert len(set(received)) == ASKERS
    with opened(tmp_path / "home") as session:
        assert session.status().spent == Loss.zcdp("0.021")


def planted(*written: bytes) -> list[str]:
    """The canaries that are found in what was written."""
    everything = b"\n".join(written)
    signs = [*CANARIES, *map(str, NUMBERS)]
    return [sign for sign in signs if sign.encode() in everything]


def test_no_canary_is_left_behind_in_files_answers_or_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    told = []
    with opened(tmp_path / "home") as session:
        told += [
            repr(session.sql(COUNT).quote(epsilon=1)),
            repr(session.sql(COUNT).ask(epsilon=1)),
        ]
        notes = "SELECT note, COUNT(*) AS n FROM visits GROUP BY note"
        told.append(repr(session.sql(notes).ask(epsilon="0.2", delta="1e-10")))
        engine = session._curator.engines["here"]
        engine._connection.execute(
            "ALTER TABLE visits RENAME TO hidden; CREATE VIEW visits AS "
            "SELECT patient, note, CAST(note AS BIGINT) AS pay FROM hidden"
        )
        with pytest.raises(InternalError) as failed:
            session.sql("SELECT SUM(pay) AS s FROM visits").ask(epsilon="0.2")
        told.append(repr(failed.value))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert "ledger.db" in {path.name for path in files}
    printed = "".join(capfd.readouterr())
    written = [path.read_bytes() for path in files]
    assert planted(*written, printed.encode(), *(each.encode() for each in told)) == []


def test_a_canary_that_was_left_behind_would_be_found(tmp_path: Path) -> None:
    frame = pl.DataFrame({"patient": CANARIES, "pay": NUMBERS})
    frame.write_csv(tmp_path / "left")
    assert len(planted((tmp_path / "left").read_bytes())) == 2000
    assert planted(os.urandom(10_000)) == []
