"""What was seen over hostile stores; a campaign keeps it, and goes on where it stopped."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Self, cast

from hostile_over import Laid, laid
from hostile_questions import quotes
from hostile_store import Store, store

from tacit.audit.question_audit import Pair
from tacit.core.catalog import Catalog
from tacit.engines.engine import Engine
from tacit.engines.reference import Tables
from tacit.query.quote import Quote

QUESTIONS = 25
"""Asked about one store; making its tables takes as long as asking several."""

SAVED_SECONDS = 20.0


def told_apart(found: Laid, how: str, quote: Quote) -> str | None:
    """How one question tells the two sides apart; None where it does not.

    A question that fails on a side, or on both, tells: the charge is made before, and equal.
    """

    def over(_: Catalog, side: Tables) -> Engine:
        return found.asked(how, cast("int", side))

    pair = Pair(quote, found.catalogs[how][0], cast("Any", 0), cast("Any", 1))
    return pair.compare(over).apart


def asked(made: Store, found: Laid, count: int = QUESTIONS) -> Iterator[tuple[str, Quote]]:
    """The questions about a store, each by one of the ways in which it may be asked."""
    ways = sorted(found.catalogs)
    for place, quote in enumerate(quotes(made.number, made.limits, count)):
        if ways:
            yield ways[place % len(ways)], quote


@dataclass
class StorageFigures:
    """The figures of one engine; ``following`` is the first store not looked at yet."""

    engine: str
    following: int = 0
    triples: int = 0
    refused: int = 0
    ways: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    apart: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @classmethod
    def load(cls, path: Path | None, engine: str) -> Self:
        """The figures of the run before, or none yet."""
        if path is None or not path.exists():
            return cls(engine)
        return cls(**json.loads(path.read_text()))

    def save(self, path: Path) -> None:
        """Keep the figures: the old ones or the new ones are there, never half of them."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(asdict(self)) + "\n")
        new.replace(path)

    def go_on(self, triples: int, path: Path | None) -> None:
        """Look at stores until there are so many triples, from where the last run ended."""
        saved = began = monotonic()
        before = self.seconds
        while self.triples < triples:
            self.look(store(self.following, self.engine))
            self.following += 1
            now = monotonic()
            self.seconds = before + now - began
            if path is not None and (now - saved > SAVED_SECONDS or self.triples >= triples):
                saved = now
                self.save(path)
                print(  # noqa: T201 - a campaign tells how far it is
                    f"{path.stem}: {self.triples} of {triples} triples, {self.following} "
                    f"stores, {self.refused} refused, {len(self.apart)} told apart, "
                    f"{self.seconds:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )

    def look(self, made: Store) -> None:
        """One store, and its questions."""
        with laid(made) as found:
            if not found.catalogs:
                self.refused += 1
            for how, quote in asked(made, found):
                self.triples += 1
                self.ways[how] = self.ways.get(how, 0) + 1
                self.kept[made.kept] = self.kept.get(made.kept, 0) + 1
                told = told_apart(found, how, quote)
                if told is not None:
                    self.apart.append(f"store {made.number}, {made.kept}, {how}: {told}")
