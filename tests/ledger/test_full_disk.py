"""A disk that is full, and not only says so: refused, and whole when it has room again."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest
from asking import answer, ask, open_pure
from conftest import Bar
from failing_disk import Writer, failing_writer, judge, refused
from judging import complaints
from postgres_cluster import SERVANT, PostgresCluster

from tacit.errors import StoreFailed
from tacit.ledger.charge import StoredRelease
from tacit.ledger.ledger import Ledger
from tacit.store.store import SqlStore

ROOMY = 64 * 2**20
"""Bytes of a disk that has room for everything."""

Resize = Callable[[int], None]


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    with failing_writer(tmp_path_factory.mktemp("full")) as writer:
        yield writer


@contextmanager
def small_disk(place: Path) -> Iterator[Resize]:
    """A disk of its own, in memory, and what changes its size."""
    place.mkdir()

    def mount(*options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", place]
        subprocess.run(command, check=True, capture_output=True)

    try:
        mount(f"size={ROOMY}")
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("platform: this user may not mount a disk; limits on files stand for it")
    try:
        yield lambda size: mount("remount", f"size={size}")
    finally:
        subprocess.run(["umount", place], check=True)


def leave(resize: Resize, place: Path, room: int) -> None:
    """Make the disk at ``place`` full but for ``room`` bytes."""
    resize(shutil.disk_usage(place).used + room)


@pytest.mark.parametrize("store", ["made", "used"])
def test_whatever_size_a_file_may_have_nothing_leaves_unpaid(
    store: str, write: Writer, bar: Bar
) -> None:
    wrong, limit, refusals = [], 0, 0
    while limit := limit + 8192:
        case, report = write(limit=limit, used=store == "used")
        wrong += judge(case, report)
        if not any(map(refused, report.steps)):
            break
        refusals += 1
    what = f"files that may not grow in a store being {store}, {refusals} sizes: violations"
    bar(what, len(wrong), "0", not wrong)
    assert refusals > 5


def test_a_full_disk_refuses_and_goes_on_when_it_has_room(
    write: Writer, tmp_path: Path, bar: Bar
) -> None:
    wrong, refusals, folder = [], 0, tmp_path / "disk" / "store"
    with small_disk(folder.parent) as resize:
        for room in range(0, 320 * 1024, 16 * 1024):
            case, report = write(folder, partial(leave, resize, folder.parent, room))
            resize(ROOMY)
            refusals += any(map(refused, report.steps))
            wrong += judge(case, report)
            shutil.rmtree(folder)
    bar(f"disks that were full, {refusals} sizes: violations", len(wrong), "0", not wrong)
    assert 5 < refusals < 20


def test_a_server_whose_disk_is_full_refuses_and_goes_on_when_it_has_room(
    cluster: PostgresCluster, open_folder: Path, opened: Callable[[str], SqlStore], bar: Bar
) -> None:
    place, received, refusals = open_folder / "disk", dict[str, StoredRelease](), 0
    asked = [f"question {number}" for number in range(60)]
    with small_disk(place) as resize, on_disk(cluster, place) as address:
        store = opened(address)
        ledger = Ledger(store)
        open_pure(ledger, "100")
        leave(resize, place, 64 * 1024)
        for plan in asked:
            try:
                received[plan] = answer(ledger, ask(plan))
            except StoreFailed:
                refusals += 1
        resize(ROOMY)
        wrong = complaints(store, received, asked)
        store.close()
    bar(f"a server's full disk, {refusals} refusals: violations", len(wrong), "0", not wrong)
    assert received
    assert refusals


@contextmanager
def on_disk(cluster: PostgresCluster, place: Path) -> Iterator[str]:
    """The address of a database whose tables are on the disk at ``place``."""
    if os.geteuid() == 0:
        place.parent.chmod(0o711)  # the servant passes through
        shutil.chown(place, SERVANT, SERVANT)
    server = f"postgresql://{SERVANT}@127.0.0.1:{cluster.port}/"
    with psycopg.connect(f"{server}postgres", autocommit=True) as owner:
        owner.execute(f"CREATE TABLESPACE small LOCATION '{place}'".encode())
        owner.execute("CREATE DATABASE full_disk TABLESPACE small")
        try:
            yield f"{server}full_disk"
        finally:
            owner.execute("DROP DATABASE full_disk WITH (FORCE)")
            owner.execute("DROP TABLESPACE small")
