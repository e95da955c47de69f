"""A disk that fails at any one call: nothing leaves unpaid, and the ledger stays whole."""

from collections.abc import Iterator
from contextlib import closing
from errno import EIO, ENOSPC
from typing import Any

import pytest
from conftest import Bar
from failing_disk import ASKED, Writer, failing_writer, judge, sweep
from fault import PLANS
from judging import charges

from tacit.store.connect import open_store

SYNCS_AND_DEATH = {"kind": "syncs", "error": EIO, "dies": True}
SWEEPS: dict[str, dict[str, Any]] = {
    "writes": {"kind": "writes", "error": EIO},
    "writes, half done, and death": {
        "kind": "writes",
        "error": ENOSPC,
        "torn": True,
        "dies": True,
    },
    "all writes from there, and death": {
        "kind": "writes",
        "error": ENOSPC,
        "sticky": True,
        "dies": True,
    },
    "syncs": {"kind": "syncs", "error": EIO},
    "syncs, and death": SYNCS_AND_DEATH,
    "all syncs from there": {"kind": "syncs", "error": EIO, "sticky": True},
    "all syncs from there, and death": {**SYNCS_AND_DEATH, "sticky": True},
    "reads": {"kind": "reads", "error": EIO},
}


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    with failing_writer(tmp_path_factory.mktemp("faults")) as writer:
        yield writer


@pytest.mark.parametrize("store", ["made", "used"])
@pytest.mark.parametrize("fault", SWEEPS)
def test_whichever_call_fails_nothing_leaves_unpaid(
    fault: str, store: str, write: Writer, bar: Bar
) -> None:
    swept = sweep(write, used=store == "used", **SWEEPS[fault])
    what = f"faults in a store being {store}, {fault}: violations at {swept.points} points"
    bar(what, len(swept.wrong), "0", not swept.wrong)
    assert not swept.wrong
    assert swept.points


@pytest.mark.parametrize("fault", SWEEPS)
def test_whichever_call_fails_in_a_group_none_of_its_members_leaves_unpaid(
    fault: str, write: Writer, bar: Bar
) -> None:
    """A group may be rolled back, written again one by one, or found in SQLite's log."""
    swept = sweep(write, grouped=True, **SWEEPS[fault])
    what = f"faults in a group, {fault}: violations at {swept.points} points"
    bar(what, len(swept.wrong), "0", not swept.wrong)
    assert not swept.wrong
    assert swept.points


@pytest.mark.parametrize(
    ("lie", "seen"),
    [
        ("goes on", "was done on a disk that failed"),
        ("answers unkept", "its answer is not stored"),
        ("answers uncharged", "not charged"),
    ],
)
def test_a_writer_who_makes_light_of_a_failed_sync_is_caught(
    lie: str, seen: str, write: Writer
) -> None:
    assert seen in str(sweep(write, **SWEEPS["syncs"], lie=lie).wrong)


def test_a_group_that_makes_light_of_a_failed_sync_is_caught(write: Writer) -> None:
    swept = sweep(write, grouped=True, **SWEEPS["syncs"], lie="group goes on")
    assert "is not stored" in str(swept.wrong)


def test_a_charge_whose_sync_failed_may_stand_and_is_not_paid_again(write: Writer) -> None:
    # SQLite finds it in its log again, so the writer must not be told that nothing was charged
    first_commit = 2  # the first sync is that of the log's header
    case, report = write(at=first_commit, **SYNCS_AND_DEATH)
    assert [step.outcome for step in report.steps] == ["done", "StoreFailed", "StoreFailed"]
    with closing(open_store(case.address)) as store:
        assert len(charges(store)) == 1
    assert judge(case, report) == []


def test_each_charge_and_each_answer_is_synced_before_it_is_told(write: Writer) -> None:
    def synced(lie: str) -> list[bool]:
        _, report = write(kind="syncs", lie=lie)
        return [
            step.calls[f"before {act}"] < step.calls[f"after {act}"]
            for step in report.steps
            if step.calls
            for act in ("reserve", "keep")
        ]

    assert synced("") == [True] * 2 * len(ASKED)
    assert synced("does not sync") == [False] * 2 * len(ASKED)


def test_a_folder_that_cannot_be_synced_holds_no_store(write: Writer) -> None:
    failing = {"kind": "folders", "at": 1, "error": EIO, "sticky": True}
    _, report = write(**failing)
    assert [step.outcome for step in report.steps] == ["StoreFailed"] * len(PLANS)
    _, lied = write(**failing, lie="leaves its folder")
    assert {step.outcome for step in lied.steps} == {"done"}
