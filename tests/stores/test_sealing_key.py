"""The key that seals states, and where it comes from."""

import copy
import pickle
import stat
from base64 import b64encode
from multiprocessing import get_context
from pathlib import Path
from warnings import simplefilter

import pytest

from tacit.errors import InvalidValue, LedgerBroken, SecretMisuse
from tacit.store.sealed_state import VARIABLE, SealingKey

KEY = bytes(range(32))
AS_TEXT = b64encode(KEY).decode()
FORK = get_context("fork")


def test_two_seals_of_one_state_differ_and_both_open() -> None:
    key = SealingKey(KEY)
    first, second = key.seal(b"salt", b"place"), key.seal(b"salt", b"place")
    assert first != second
    assert key.open(first, b"place") == key.open(second, b"place") == b"salt"
    with pytest.raises(LedgerBroken):
        key.open(first, b"another place")


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = SealingKey(KEY).seal(b"salt", b"place")
    assert SealingKey.from_environment({VARIABLE: AS_TEXT}).open(sealed, b"place") == b"salt"
    monkeypatch.setenv(VARIABLE, AS_TEXT + "\n")
    assert SealingKey.from_environment().open(sealed, b"place") == b"salt"


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, "TACIT_STATE_KEY is not set. It must hold 32 bytes in base64"),
        ({VARIABLE: ""}, "TACIT_STATE_KEY is not set"),
        ({VARIABLE: "not base64!"}, "TACIT_STATE_KEY does not contain valid base64"),
        ({VARIABLE: "kéy"}, "TACIT_STATE_KEY does not contain valid base64"),
        ({VARIABLE: AS_TEXT[:-4]}, "must have 32 bytes, but 30 were given"),
    ],
)
def test_an_environment_without_a_key_is_refused(
    environment: dict[str, str], told: str
) -> None:
    with pytest.raises(InvalidValue, match=told) as refused:
        SealingKey.from_environment(environment)
    assert "not base64!" not in str(refused.value)


def test_a_file_is_made_once_and_read_by_its_owner_alone(tmp_path: Path) -> None:
    place = tmp_path / "state.key"
    sealed = SealingKey.from_file(place).seal(b"salt", b"place")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["state.key"]
    assert SealingKey.from_file(place).open(sealed, b"place") == b"salt"
    other = SealingKey.from_file(tmp_path / "other.key")
    with pytest.raises(LedgerBroken):
        other.open(sealed, b"place")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_file_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    place = tmp_path / "state.key"
    SealingKey.from_file(place)
    place.chmod(mode)
    with pytest.raises(InvalidValue, match=rf"\(mode {mode:o}\)\. Run `chmod 600 {place}`"):
        SealingKey.from_file(place)
    place.chmod(0o400)
    SealingKey.from_file(place)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"c2hvcnQ="])
def test_a_file_that_holds_no_key_is_refused(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "state.key"
    place.touch(mode=0o600)
    place.write_bytes(content)
    with pytest.raises(InvalidValue):
        SealingKey.from_file(place)


def seal(place: Path, out: Path) -> None:
    simplefilter("ignore")  # coverage's own warnings must not end a child
    out.write_bytes(SealingKey.from_file(place).seal(b"salt", b"place"))


def test_processes_that_start_at_once_find_one_key(tmp_path: Path) -> None:
    place, sealed = tmp_path / "state.key", [tmp_path / str(number) for number in range(8)]
    started = [FORK.Process(target=seal, args=(place, out)) for out in sealed]
    for process in started:
        process.start()
    for process in started:
        process.join(30)
    assert [process.exitcode for process in started] == [0] * 8
    key = SealingKey.from_file(place)
    assert {key.open(out.read_bytes(), b"place") for out in sealed} == {b"salt"}


def test_a_key_is_not_printed_copied_or_pickled() -> None:
    key = SealingKey(KEY)
    assert repr(key) == str(key) == "<sealing key>"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(SecretMisuse, match="must not leave its process"):
            leave(key)
