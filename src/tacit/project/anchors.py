"""The section ``[anchors]`` of a project file: where the ledger's anchors are stored."""

from dataclasses import dataclass

from tacit.project.document import TomlEntry

KINDS = ("file", "folder", "command")


@dataclass(frozen=True, slots=True)
class AnchorSettings:
    """The place of anchors: a file, a folder, or a command of the owner. One of them is set.

    Paths, and the folder in which a command runs, are relative to the project file.
    """

    file: str | None = None
    folder: str | None = None
    command: tuple[str, ...] = ()


def anchors_of(entry: TomlEntry) -> AnchorSettings:
    """Read the section ``[anchors]``."""
    parts = entry.fields(*KINDS)
    if len(parts) != 1:
        raise entry.project_error(
            'Name one place for the anchors: file = "/mnt/elsewhere/anchors", folder = '
            '"/mnt/elsewhere", or command = ["store-anchor"].'
        )
    if "command" in parts:
        words = tuple(part.text() for part in parts["command"].items('["store-anchor"]'))
        if not words:
            raise parts["command"].project_error('Name a command: command = ["store-anchor"].')
        return AnchorSettings(command=words)
    if "file" in parts:
        return AnchorSettings(file=parts["file"].text())
    return AnchorSettings(folder=parts["folder"].text())


DRAFT = (
    "[anchors]  # what the ledger contained, to notice if it is deleted or put back",
    'file = "tacit.anchors"  # better on another machine: a mounted folder, or a command',
)
"""The lines that `tacit init` writes."""
