"""A served project that clients call: its engine fails when told to, its ledger counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

import duckdb
from losing import Fragile, curator_over, served, token_for
from prepared import ROWS, TEXT

import tacit
from tacit.client.retry import RetryPolicy
from tacit.client.session import RemoteSession
from tacit.engines.duckdb import open_duckdb
from tacit.ledger.ledger import Ledger
from tacit.session.project import apply_project

NONE = "a token of nobody"
QUICK = RetryPolicy(reply=5, tries=4, pause=0.01)
QUESTION = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
AMOUNTS = (f"1.{number}" for number in count(1000))


class Site:
    """A served project, its engine, and its ledger."""

    def __init__(self, url: str, token: str, engine: Fragile, ledger: Ledger) -> None:
        self.url, self.token, self.engine, self.ledger = url, token, engine, ledger

    def look(self) -> None:
        """Look, as the owner, at what failed, so that more is charged."""
        self.ledger.look("patients", by="olga")

    def charges(self) -> int:
        return len(self.ledger.book("patients").requests)

    @contextmanager
    def client(self, url: str, patience: RetryPolicy = QUICK) -> Iterator[RemoteSession]:
        with tacit.connect(url, token=self.token, patience=patience) as made:
            yield made


def project(folder: Path) -> Path:
    """A project over one table, which the ledger holds."""
    with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
        owner.execute(ROWS)
    file = folder / "tacit.toml"
    engine = 'kind = "duckdb"\npath = "clinic.duckdb"'
    file.write_text(TEXT.replace("ENGINE", engine).replace("epsilon = 3", "epsilon = 90"))
    apply_project(file, by="olga")
    return file


@contextmanager
def made_site(folder: Path) -> Iterator[Site]:
    """A site in a new folder."""
    file = project(folder)
    whole = curator_over(file)
    whole.engines["warehouse"].close()
    fragile = Fragile(open_duckdb(str(folder / "clinic.duckdb"), {}))
    curator = replace(whole, engines={"warehouse": fragile})
    token = token_for(curator)
    with served(curator) as url:
        yield Site(url, token, fragile, curator.home.ledger)
