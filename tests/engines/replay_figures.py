"""What was seen over numbered triples; a campaign keeps it, and goes on where it stopped."""

import json
import os
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Self

from engines_over import ENGINES, reference
from neighbouring import Watched, opened, told_apart
from nodes import nodes
from triple import Triple, triple

USUAL = {"duckdb": "4", "postgresql": "10", "spark": "50"}
ONE_OF = {
    name: int(os.environ.get(f"TACIT_ON_{name.upper()}", usual))
    for name, usual in USUAL.items()
}
"""One triple of so many is run on each engine, and all on the reference."""

SAVED_SECONDS = 20.0


@dataclass
class Figures:
    """The figures of one part; ``following`` is the first number not looked at yet."""

    following: int
    triples: int = 0
    refused: int = 0
    compared: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ENGINES, 0))
    apart: list[str] = field(default_factory=list)
    unequal: list[str] = field(default_factory=list)
    nodes: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def load(cls, path: Path, first: int) -> Self:
        """The figures of the run before, or none yet."""
        return cls(**json.loads(path.read_text())) if path.exists() else cls(first)

    def save(self, path: Path) -> None:
        """Keep the figures: the old ones or the new ones are there, never half of them."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(asdict(self)) + "\n")
        new.replace(path)

    def go_on(self, end: int, step: int, path: Path | None) -> None:
        """Look at the numbers below ``end``, ``step`` apart, from where the last run ended."""
        saved = began = monotonic()
        before = self.seconds
        while self.following < end:
            self.look(triple(self.following))
            self.following += step
            now = monotonic()
            self.seconds = before + now - began
            if path is not None and (now - saved > SAVED_SECONDS or self.following >= end):
                saved = now
                self.save(path)
                print(  # noqa: T201 - a campaign tells how far it is
                    f"{path.stem}: {self.triples} triples, next {self.following} of {end}, "
                    f"{len(self.apart)} told apart, {len(self.unequal)} unequal, "
                    f"{self.seconds:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )

    def look(self, found: Triple) -> None:
        """One triple, on the reference, and on each engine where it is its turn."""
        self.triples += 1
        self.refused += found.refused
        question = found.quote.question
        for name in nodes((question.plan, question.post, found.quote.bound.plan)):
            self.nodes[name] = self.nodes.get(name, 0) + 1
        meant = Watched(reference)
        self._apart(found, "reference", told_apart(found, meant))
        for name, over in ENGINES.items():
            if self.triples % ONE_OF[name]:
                continue
            watched = Watched(over)
            self._apart(found, name, told_apart(found, watched))
            self.compared[name] = self.compared.get(name, 0) + 1
            if list(map(opened, watched.found)) != list(map(opened, meant.found)):
                self.unequal.append(f"{found.number} on {name}")

    def _apart(self, found: Triple, name: str, told: str | None) -> None:
        if told is not None:
            self.apart.append(f"{found.number} on {name}: {told}")
