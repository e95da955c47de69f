"""Questions for tests of the ledger, and the stand-in writer that walks the path of one.

The writer reserves, runs, keeps and answers. It stands for the server, which repeats these
tests when it is there.
"""

from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256

from tacit.core.event import Event, LaplaceNoise
from tacit.core.loss import Budget, Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.errors import AnswerPending
from tacit.ledger.charge import Charge, ChargeRequest, StoredRelease, Target
from tacit.ledger.ledger import Ledger
from tacit.numeric.entropy import fresh_bytes

PERSON = PrivacyUnit("person")
TENTH = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10))
"""Noise that costs an epsilon of 0.1."""

LEASE_MS = 2_000

Point = Callable[[str], None]
"""Told each step that the writer reaches, by name."""


def population(name: str = "patients") -> Population:
    return Population(name, PERSON)


def open_pure(ledger: Ledger, epsilon: str = "1", name: str = "patients") -> Population:
    """A population whose budget is a pure epsilon, owned by Olga."""
    made = population(name)
    ledger.open_budget(made, Budget(Loss.pure(epsilon)), ("olga",), by="olga")
    return made


def ask(
    plan: str,
    *,
    of: Population | None = None,
    principal: str = "ann",
    request: str | None = None,
    event: Event = TENTH,
) -> ChargeRequest:
    """A question about one population; its request's key is its plan unless one is given."""
    return ChargeRequest(
        targets=(Target(of or population(), event),),
        principal=principal,
        request=plan if request is None else request,
        plan=sha256(plan.encode()).digest(),
        loss=Loss.pure("0.1"),
        policy="1",
        epochs=("visits 2026-W46",),
    )


def run(charge: Charge) -> bytes:
    """What an engine and a mechanism would do: a fresh draw that names its charge."""
    return charge.receipt + fresh_bytes(16)


def answer(
    ledger: Ledger, question: ChargeRequest, reach: Point = lambda _: None
) -> StoredRelease:
    """The path of one question below its price: reserve, run, keep, and out."""
    reach("before reserve")
    try:
        paid = ledger.reserve(question, lease_ms=LEASE_MS)
    except AnswerPending:
        return ledger.wait(question)
    reach("after reserve")
    if isinstance(paid, StoredRelease):
        return paid
    reach("before run")
    body = run(paid)
    reach("after run")
    reach("before keep")
    kept = ledger.keep(paid, body)
    reach("after keep")
    return kept
