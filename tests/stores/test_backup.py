"""A backup is the whole ledger, or it is refused; a restore is whole, or leaves nothing."""

import json
import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from asking import answer, ask
from history import write_history

from tacit.core.loss import Loss
from tacit.errors import BudgetExceeded, InvalidValue, LedgerBroken
from tacit.ledger.backup import (
    CONTENTS,
    LEDGER,
    STATES,
    Backup,
    read_backup,
    restore_backup,
    write_backup,
)
from tacit.ledger.chain import append, take_anchor
from tacit.ledger.declarations import AnyDeclaration
from tacit.ledger.entries import Thawed
from tacit.ledger.ledger import Ledger
from tacit.ledger.sealed_states import ChainWitness
from tacit.ledger.verify import export
from tacit.store.sealed_state import NO_STATE, SealingKey, States
from tacit.store.store import Store
from tacit.store.tables import answers, budgets, entries, requests, states, tokens
from tacit.store.tokens import AccessToken, Tokens

KEY, OTHER_KEY = SealingKey(bytes(32)), SealingKey(bytes(31) + b"1")
Empty = Callable[[str], Store]


@pytest.fixture
def empty(new_store: Callable[[str], str], opened: Callable[[str], Store]) -> Empty:
    """A new store of a kind."""
    return lambda kind: opened(new_store(kind))


def states_in(store: Store, key: SealingKey = KEY) -> States:
    return States(store, key, ChainWitness())


@pytest.fixture
def written(empty: Empty) -> Store:
    """A ledger with answers, with a state that its chain records and one that it does not."""
    store = empty("sqlite")
    write_history(Ledger(store))
    states_in(store).change("salt of patients", NO_STATE, b"a salt")
    noise = states_in(store).of("patients")
    noise.change("noise of a stream", noise.change("noise of a stream", NO_STATE, b"1"), b"2")
    return store


@pytest.fixture
def folder(written: Store, tmp_path: Path) -> Path:
    write_backup(written, tmp_path / "backup", 7)
    return tmp_path / "backup"


def is_empty(store: Store) -> bool:
    with store.reading() as work:
        return not any(
            work.all(table.select(), {})
            for table in (budgets, entries, requests, answers, states, tokens)
        )


def forge(folder: Path, name: str, text: str) -> None:
    """Change a file and its hash, as somebody does who knows the format."""
    (folder / name).write_text(text)
    contents = json.loads((folder / CONTENTS).read_text())
    contents["files"][name] = sha256(text.encode()).hexdigest()
    (folder / CONTENTS).write_text(json.dumps(contents))


# ------------------------------------------------------------------ there and back


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_all_of_a_ledger_comes_back(
    kind: str, written: Store, folder: Path, empty: Empty, tmp_path: Path
) -> None:
    store = empty(kind)
    books = restore_backup(store, read_backup(folder), KEY)
    assert {book.population for book in books} == {"patients", "staff"}
    assert list(export(store)) == list(export(written))
    assert take_anchor(store) == take_anchor(written)
    before, after = Ledger(written), Ledger(store).under(AnyDeclaration())
    for name in ("patients", "staff"):
        assert after.verify(name) == before.verify(name)
        assert after.status(name) == before.status(name)
        assert after.history(name) == before.history(name)
    assert states_in(store).find("salt of patients").value == b"a salt"
    assert states_in(store).of("patients").find("noise of a stream").value == b"2"
    # the quota of an analyst goes on counting
    for number in range(4):
        answer(after, ask(f"more {number}"))
    with pytest.raises(BudgetExceeded, match="quota of ann"):
        answer(after, ask("beyond the quota"))
    write_backup(store, tmp_path / "again", 8)
    read_backup(tmp_path / "again").verify()


def test_without_the_key_states_stay_where_they_are(folder: Path, empty: Empty) -> None:
    store = empty("sqlite")
    restore_backup(store, read_backup(folder))
    assert states_in(store).find("salt of patients") == NO_STATE
    with pytest.raises(LedgerBroken, match="the state is missing"):
        states_in(store).of("patients").find("noise of a stream")
    Ledger(store).verify("patients")


def test_a_file_of_lines_is_restored_too(written: Store, empty: Empty, tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    file.write_text("".join(export(written)))
    store, backup = empty("sqlite"), read_backup(file)
    assert backup.states is None
    restore_backup(store, backup)
    assert list(export(store)) == list(export(written))
    with pytest.raises(LedgerBroken, match="not in this backup"):
        restore_backup(empty("sqlite"), backup, KEY)


def test_a_backup_is_for_its_owner_only(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {file.name for file in folder.iterdir()} == {LEDGER, STATES, CONTENTS}
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_no_secret_is_in_a_backup(folder: Path) -> None:
    found = b"".join(file.read_bytes() for file in folder.iterdir())
    assert b"salt of patients" in found  # we look where it would be
    assert b"a salt" not in found


def test_others_charge_while_a_backup_is_written(written: Store, tmp_path: Path) -> None:
    ledger = Ledger(written)
    write_backup(written, tmp_path / "before", 1)
    answer(ledger, ask("meanwhile"))
    backup = read_backup(tmp_path / "before")
    backup.verify()
    assert len(backup.exported.chains["patients"]) == ledger.verify("patients").entries - 2


# ------------------------------------------------------------------ what was changed


@pytest.mark.parametrize("name", [LEDGER, STATES, CONTENTS])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.7, 0.999])
def test_one_changed_byte_is_seen(folder: Path, name: str, place: float) -> None:
    file = folder / name
    found = bytearray(file.read_bytes())
    at = int(place * len(found))
    while name == CONTENTS and chr(found[at]) not in "0123456789abcdef":
        at -= 1  # white space means nothing, and the time and the version are for people
    before = read_backup(folder)
    found[at] ^= 1
    file.write_bytes(bytes(found))
    try:
        after = read_backup(folder)
        after.verify()
    except (InvalidValue, LedgerBroken):
        return
    assert name == CONTENTS
    assert after == before  # a byte of the time, the version or a space


@pytest.mark.parametrize("name", [LEDGER, STATES, CONTENTS])
def test_a_backup_that_is_not_complete_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises((InvalidValue, LedgerBroken), match=name):
        read_backup(folder)


def test_a_forged_charge_is_refused_whatever_its_hash(folder: Path, empty: Empty) -> None:
    lines = (folder / LEDGER).read_text()
    charge = '\\"amount\\":\\"100000000000\\"'
    assert charge in lines
    forge(folder, LEDGER, lines.replace(charge, charge.replace("100", "000"), 1))
    store = empty("sqlite")
    with pytest.raises(LedgerBroken):
        restore_backup(store, read_backup(folder), KEY)
    assert is_empty(store)


def without_last_entry(folder: Path) -> None:
    """Cut the last charge of the patients' chain, with its answer."""
    lines = (folder / LEDGER).read_text().splitlines(keepends=True)
    chain = [n for n, line in enumerate(lines) if json.loads(line).get("population") == "staff"]
    del lines[chain[-1]]  # a thaw, which nothing refers to
    forge(folder, LEDGER, "".join(lines))


def test_a_chain_that_was_cut_ends_elsewhere(written: Store, folder: Path) -> None:
    anchor = take_anchor(written)
    without_last_entry(folder)
    with pytest.raises(LedgerBroken, match=f"end elsewhere than {CONTENTS} says"):
        read_backup(folder).verify()
    # a forger who also changes the ends is found by an anchor only
    whole = read_backup(folder)
    forged = Backup(whole.exported, whole.states)
    assert forged.verify()
    with pytest.raises(LedgerBroken, match="was anchored"):
        forged.verify(anchor)


@pytest.mark.parametrize("name", ["noise of a stream", "salt of patients"])
def test_states_of_another_key_are_refused(folder: Path, empty: Empty, name: str) -> None:
    store = empty("sqlite")
    with pytest.raises(LedgerBroken, match="cannot be decrypted"):
        restore_backup(store, read_backup(folder), OTHER_KEY)
    assert is_empty(store)
    lines = (folder / STATES).read_text().splitlines(keepends=True)
    swapped = [line for line in lines if name not in line]
    kept = json.loads(next(line for line in lines if name in line))
    kept["sealed"] = json.loads(swapped[0])["sealed"]
    forge(folder, STATES, "".join([*swapped, json.dumps(kept) + "\n"]))
    with pytest.raises(LedgerBroken):
        restore_backup(store, read_backup(folder), KEY)
    assert is_empty(store)


def test_an_old_state_is_refused(written: Store, tmp_path: Path, empty: Empty) -> None:
    write_backup(written, tmp_path / "old", 1)
    noise = states_in(written).of("patients")
    noise.change("noise of a stream", noise.find("noise of a stream"), b"3")
    write_backup(written, tmp_path / "new", 2)
    old, new = read_backup(tmp_path / "old"), read_backup(tmp_path / "new")
    store = empty("sqlite")
    for mixed in (Backup(new.exported, old.states), Backup(old.exported, new.states)):
        with pytest.raises(LedgerBroken, match="do not belong together"):
            restore_backup(store, mixed, KEY)
        assert is_empty(store)
    lacking = Backup(new.exported, (new.states or ())[1:])
    with pytest.raises(LedgerBroken, match="not in this backup"):
        restore_backup(store, lacking, KEY)
    restore_backup(store, new, KEY)


# ------------------------------------------------------------------ targets


def a_ledger(store: Store) -> None:
    write_history(Ledger(store), 2)


def a_state(store: Store) -> None:
    states_in(store).change("salt of patients", NO_STATE, b"another")


def a_token(store: Store) -> None:
    Tokens(store).issue(AccessToken("olga", "owner", "", 10**15))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("fill", [a_ledger, a_state, a_token])
def test_a_store_that_is_not_empty_is_refused(
    kind: str, fill: Callable[[Store], None], folder: Path, empty: Empty
) -> None:
    store = empty(kind)
    fill(store)
    before = list(export(store))
    with pytest.raises(InvalidValue, match="not empty, and nothing was changed"):
        restore_backup(store, read_backup(folder), KEY)
    assert list(export(store)) == before
    assert states_in(store).find("salt of patients").value in {b"", b"another"}


def test_a_folder_with_something_in_it_is_refused(written: Store, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name, told in (
        ("full", "not empty"),
        ("file", "not a folder"),
        ("link", "not a folder"),
    ):
        with pytest.raises(InvalidValue, match=told):
            write_backup(written, tmp_path / name, 1)
    assert (tmp_path / "full" / "notes").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    write_backup(written, tmp_path / "empty", 1)
    with pytest.raises(InvalidValue, match="There is no backup"):
        read_backup(tmp_path / "nowhere")


def test_a_ledger_that_is_broken_is_not_exported_in_silence(
    written: Store, tmp_path: Path
) -> None:
    with written.writing() as work:
        append(work, "patients", Thawed("olga", 1))  # nobody had stopped the charges
    with pytest.raises(LedgerBroken, match="stopped and allowed in turn"):
        write_backup(written, tmp_path / "broken", 1)


def test_the_loss_in_a_backup_is_what_was_spent(written: Store, folder: Path) -> None:
    spent = {book.population: book.spent for book in read_backup(folder).verify()}
    for name, units in spent.items():
        assert units.loss(Loss.pure(1).measure) == Ledger(written).status(name).spent
