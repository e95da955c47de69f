"""A project file holds the old text or the new one, whatever happens while it is saved."""

import resource
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from tacit.errors import Conflict, InvalidValue
from tacit.project.document import ProjectText

TEXT = "# what the owner declared\na = 1\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "tacit.toml"
    made.write_text(TEXT)
    return made


def without_room(save: Callable[[], object]) -> None:
    """Save where no file may have more than ten bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        save()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_file_as_it_was(file: Path) -> None:
    source = ProjectText.at(file).with_value(("a",), 2)
    with pytest.raises(InvalidValue, match=r"cannot be written: .*\. The file is unchanged\."):
        without_room(lambda: source.save(file))
    assert file.read_text() == TEXT
    assert [each.name for each in file.parent.iterdir()] == ["tacit.toml"]
    with pytest.raises(OSError, match="large"):  # the lie: in place
        without_room(lambda: file.write_text(source.text))
    assert file.read_text() != TEXT


def test_what_somebody_else_wrote_meanwhile_stays(file: Path) -> None:
    source = ProjectText.at(file).with_value(("a",), 2)
    file.write_text("a = 3\n")
    with pytest.raises(Conflict, match="has changed since it was read"):
        source.save(file)
    assert file.read_text() == "a = 3\n"


def test_of_many_who_save_at_once_nobody_is_lost(file: Path) -> None:
    def add(name: str) -> None:
        while True:
            try:
                return ProjectText.at(file).with_value((name,), 1).save(file)
            except Conflict:
                continue

    threads = [Thread(target=add, args=(f"n{place}",)) for place in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(ProjectText.at(file).root().value) == {
        "a",
        *(f"n{place}" for place in range(16)),
    }


def test_a_saved_file_keeps_its_mode_and_its_place_behind_a_link(file: Path) -> None:
    file.chmod(0o640)
    link = file.parent / "link.toml"
    link.symlink_to(file)
    ProjectText.at(link).with_value(("a",), 2).save(link)
    assert link.is_symlink()
    assert "a = 2" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o640
