"""Files that commands write: what is refused before any work, and what is never changed."""

import os
import stat
from pathlib import Path

import pytest

from tacit.cli.report_files import PRIVATE, check_targets, write_report
from tacit.errors import InvalidValue


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def special_file(folder: Path, kind: str) -> Path:
    """Create something with mode 755 that is not a regular file."""
    path = folder / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        (folder / "target").write_text("theirs")
        (folder / "target").chmod(0o755)
        path.symlink_to(folder / "target")
        return path
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_only_regular_files_are_written_or_change_their_mode(tmp_path: Path, kind: str) -> None:
    path = special_file(tmp_path, kind)
    before = mode(path)
    with pytest.raises(InvalidValue, match="is not a regular file"):
        check_targets([path])
    # the lie: it was replaced after the check
    with pytest.raises(InvalidValue, match=r"cannot be written|is not a regular file"):
        write_report(path, "ours", PRIVATE)
    assert mode(path) == before
    if kind == "link":
        assert mode(path.resolve()) == 0o755
        assert path.read_text() == "theirs"


def test_a_pipe_with_a_reader_gets_nothing(tmp_path: Path) -> None:
    path = special_file(tmp_path, "pipe")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(InvalidValue, match="is not a regular file"):
            write_report(path, "ours", PRIVATE)
        assert os.read(reader, 9) == b""
    finally:
        os.close(reader)
    assert mode(path) == 0o755


def test_the_current_folder_and_a_dash_are_refused() -> None:
    with pytest.raises(InvalidValue, match="is not a regular file"):
        check_targets([Path("")])  # noqa: PTH201 - what `--out ''` gives
    with pytest.raises(InvalidValue, match="Name a file, such as report"):
        check_targets([Path("-")])


def test_a_device_is_refused_and_keeps_its_mode() -> None:
    before = mode(Path(os.devnull))
    with pytest.raises(InvalidValue, match="is not a regular file"):
        check_targets([Path(os.devnull)])
    with pytest.raises(InvalidValue, match="is not a regular file"):
        write_report(Path(os.devnull), "ours", PRIVATE)
    assert mode(Path(os.devnull)) == before


@pytest.mark.parametrize("second", ["a", "./b/../a", "link/a", "hard"])
def test_two_reports_need_two_files(tmp_path: Path, second: str) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    first = tmp_path / "a"
    if second == "hard":
        first.write_text("")
        (tmp_path / "hard").hardlink_to(first)
    with pytest.raises(InvalidValue, match="Name two different files"):
        check_targets([first, None, tmp_path / second])
    check_targets([first, None, tmp_path / "c"])


def test_a_file_that_is_read_is_not_overwritten(tmp_path: Path) -> None:
    project = tmp_path / "tacit.toml"
    with pytest.raises(InvalidValue, match="is read by this command"):
        check_targets([project], kept=[project])
    check_targets([tmp_path / "a"], kept=[project])


@pytest.mark.parametrize("exists", [True, False])
def test_what_cannot_be_written_is_refused_before_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, exists: bool
) -> None:
    file = tmp_path / "a"
    if exists:
        file.write_text("old")
    check_targets([file])
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InvalidValue, match="cannot be written by you"):
        check_targets([file])


def test_a_missing_folder_and_a_name_that_is_too_long_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for missing in (tmp_path / "no" / "a", tmp_path / "file" / "a"):
        with pytest.raises(InvalidValue, match="There is no folder"):
            check_targets([missing])
    with pytest.raises(InvalidValue, match="cannot be written"):
        check_targets([tmp_path / ("a" * 300)])
    with pytest.raises(InvalidValue, match="cannot be written"):
        write_report(tmp_path / "no" / "a", "ours")


def test_a_private_report_is_private_before_it_has_contents(tmp_path: Path) -> None:
    old, new, public = tmp_path / "old", tmp_path / "new", tmp_path / "public"
    for file in (old, public):
        file.write_text("a much longer text than the new one")
        file.chmod(0o644)
    write_report(old, "ε", PRIVATE)
    write_report(new, "ε", PRIVATE)
    write_report(public, "ε")
    assert [mode(file) for file in (old, new, public)] == [0o600, 0o600, 0o644]
    assert {file.read_text(encoding="utf-8") for file in (old, new, public)} == {"ε"}
