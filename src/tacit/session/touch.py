"""Below the line: what a paid question does to the data, and nothing before it is paid."""

from contextlib import suppress

from tacit.core.catalog import Catalog
from tacit.core.stored_release import encode
from tacit.engines.engine import Engine
from tacit.errors import InternalError
from tacit.ledger.charge import Charge
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.query.fit import run_fit
from tacit.query.fit_quote import FitQuote
from tacit.query.quote import Quote
from tacit.query.run import released_by, run


def touch(
    quote: Quote | FitQuote, charge: Charge, engine: Engine, catalog: Catalog, salt: bytes
) -> bytes:
    """The bytes of the release that ``charge`` paid for; only the ledger may hand them on.

    One opaque error stands for all that can go wrong, without its cause, whose words may hold a
    value of a row.
    """
    with suppress(Exception):
        if isinstance(quote, FitQuote):
            columns = run_fit(quote, engine, catalog, salt, charge.receipt)
        else:
            gateway = LiveGateway(SystemEntropy(charge.receipt))
            columns = run(quote, engine, catalog, salt, gateway)
        return encode(released_by(quote, columns, charge.receipt, charge.assumptions))
    raise InternalError("The question failed below the line. It stays charged.")
