"""The section [anchors] names one place: a file, a folder or a command."""

import pytest

from tacit.errors import InvalidValue
from tacit.project.anchors import AnchorSettings, anchors_of
from tacit.project.document import Fault, ProjectText


def read(text: str) -> AnchorSettings:
    source = ProjectText("tacit.toml", f"[anchors]\n{text}\n")
    try:
        return anchors_of(source.root().part("anchors"))
    except Fault as fault:
        refusal = source.refusal(fault)
    raise refusal


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ('file = "a/b"', AnchorSettings(file="a/b")),
        ('folder = "/mnt/audit"', AnchorSettings(folder="/mnt/audit")),
        ('command = ["ssh", "vault"]', AnchorSettings(command=("ssh", "vault"))),
    ],
)
def test_one_place_is_read(text: str, settings: AnchorSettings) -> None:
    assert read(text) == settings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "tacit.toml:1: Name one place for the anchors"),
        ('file = "a"\nfolder = "b"', "tacit.toml:1: Name one place for the anchors"),
        ("command = []", "tacit.toml:2: Name a command"),
        ('command = "ssh vault"', "tacit.toml:2: 'anchors.command' must be a list"),
        ('path = "a"', "tacit.toml:2: 'path' is not a known name"),
        ("file = 3", "tacit.toml:2: 'anchors.file' must be a text"),
    ],
)
def test_anything_else_is_refused_at_its_line(text: str, words: str) -> None:
    with pytest.raises(InvalidValue) as told:
        read(text)
    assert str(told.value).startswith(words)
