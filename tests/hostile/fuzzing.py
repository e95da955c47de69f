"""What must hold for every string: a plan or a refusal, and a plan can be said again."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import process_time

import public
from pace import questions

from tacit.core.catalog import Catalog, Limits
from tacit.core.loss import Loss
from tacit.engines.duckdb import DuckDB
from tacit.errors import InternalError, TacitError
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.canonical_form import Canonical, canonical
from tacit.plan.plan import Plan
from tacit.query.paid_work import released_by, run
from tacit.query.post_processing import post_process
from tacit.query.pricing import price
from tacit.sql.parser import parse
from tacit.sql.printer import show

CLINIC = public.catalog(Limits(2, 3))
SLOWEST = 500
"""Plain questions that could be read in the time of one string."""

ONE_OF = 16
"""One plan of so many is priced, run and released as well."""


@dataclass
class Fuzz:
    """Counts what came of strings; ``parse`` and ``show`` can be replaced by broken ones."""

    parse: Callable[[str, Catalog], Plan] = parse
    show: Callable[[Plan, Catalog], str] = show
    tried: int = 0
    parsed: int = 0
    priced: int = 0
    crashes: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    _seen: set[bytes] = field(default_factory=set)
    _engine: DuckDB = field(default_factory=lambda: DuckDB(public.database([], [])))

    def check(self, text: str) -> None:
        """One string."""
        start = process_time()
        self.tried += 1
        try:
            plan = self._understood(text)
            if plan is not None:
                self.parsed += 1
                self._said_again(plan, text)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a crash
            self.crashes.append(f"{text!a}: {error!r}")
        if questions(process_time() - start) > SLOWEST:
            self.slow.append(ascii(text))

    def _understood(self, text: str) -> Plan | None:
        try:
            return self.parse(text, CLINIC)
        except InternalError:
            raise
        except TacitError:
            return None

    def _said_again(self, plan: Plan, text: str) -> None:
        question = canonical(plan)
        key = question.hash + repr(question.post).encode()
        if key in self._seen:
            return
        self._seen.add(key)
        again = canonical(self.parse(self.show(plan, CLINIC), CLINIC))
        stable = canonical(question.plan).plan == question.plan
        if again != question or again.hash != question.hash or not stable:
            self.broken.append(ascii(text))
        if question.hash[0] % ONE_OF == 0:
            self._answered(question)

    def _answered(self, question: Canonical) -> None:
        """What has a price is run and shown without a word."""
        try:
            plan = replace(question.plan, post=question.post)
            quote = price(plan, CLINIC, Loss.zcdp("0.1", "1e-6"))
        except InternalError:
            raise
        except TacitError:
            return
        gateway = LiveGateway(SystemEntropy(b"charge"))
        columns = run(quote, self._engine, CLINIC, b"salt", gateway)
        post_process(released_by(quote, columns, b"receipt"), quote.question.post)
        self.priced += 1
