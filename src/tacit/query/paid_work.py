"""The work of a paid question or fit: one function, here and in a worker."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tacit.core.catalog import Catalog
from tacit.core.stored_release import encode
from tacit.engines.engine import Engine
from tacit.query.below import ENCODE, Progress
from tacit.query.fit import run_fit
from tacit.query.fit_quote import FitQuote
from tacit.query.quote import Quote
from tacit.query.run import released_by, run


@dataclass(frozen=True, slots=True)
class QuoteWork:
    """What a paid quote does to the data: the engine counts, noise is drawn, bytes come out.

    ``noted`` is what the guarantee adds about earlier answers.
    """

    quote: Quote | FitQuote
    catalog: Catalog
    salt: bytes = field(repr=False)
    receipt: bytes
    noted: Sequence[str] = ()

    def __call__(self, engine: Engine, progress: Progress) -> bytes:
        """The bytes of the release; only the ledger may hand them on."""
        quote, gateway = self.quote, progress.gateway_for(self.receipt)
        if isinstance(quote, FitQuote):
            columns = run_fit(quote, engine, self.catalog, self.salt, gateway)
        else:
            columns = run(quote, engine, self.catalog, self.salt, gateway)
        progress.stage = ENCODE
        return encode(released_by(quote, columns, self.receipt, self.noted))
