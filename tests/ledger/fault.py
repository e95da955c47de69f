"""One fault of a disk, and the report of the writer whom it met."""

import json
from dataclasses import dataclass, field

PLANS = (("a", "b"), ())
"""What is asked through the first store, and through the one that is opened after it."""

NOTHING_YET = ((),)
"""What is asked of a store that has no budget yet."""


@dataclass(frozen=True)
class Case:
    """Which call fails: with which ``error`` (an errno), alone, for good, or half done.

    A store that is ``used`` has its budget; another is made, and nothing is asked of it.
    ``limit`` is the most bytes that a file may have. One who ``dies`` closes nothing, and a
    bystander's open connection has kept SQLite from tidying up: the next one must recover.
    If it is ``grouped``, its questions are charged in one unit of work, and so are the answers.
    """

    folder: str
    used: bool = True
    kind: str = "writes"
    at: int = 0
    error: int = 0
    sticky: bool = False
    torn: bool = False
    limit: int = 0
    dies: bool = False
    lie: str = ""
    grouped: bool = False

    @property
    def file(self) -> str:
        return f"{self.folder}/ledger.db"

    @property
    def address(self) -> str:
        return f"sqlite:///{self.file}"


@dataclass
class Step:
    """Something that was tried through one of the stores, and what came of it."""

    name: str
    store: int
    outcome: str = "done"
    body: str = ""
    receipt: str = ""
    hits: int = 0
    """How many calls to the disk failed meanwhile."""
    calls: dict[str, int] = field(default_factory=dict)
    """How many there had been at each point of the writer's path."""


@dataclass
class Report:
    """All steps of one case, and how many calls there were."""

    steps: list[Step] = field(default_factory=list)
    calls: int = 0
    hits: int = 0

    @classmethod
    def of(cls, line: str) -> "Report":
        value = json.loads(line)
        return cls([Step(**step) for step in value["steps"]], value["calls"], value["hits"])
