"""A charge pays for one draw of each tally: whatever reads it, and whatever comes out."""

from clinic import TABLE, catalog

from tacit.audit.replay import RecordingGateway
from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.engines.reference import Reference
from tacit.mechanisms.additive_noise import AddNoise
from tacit.mechanisms.gateway import Draw
from tacit.noise.gaussian import DiscreteGaussian
from tacit.numeric.entropy import SystemEntropy
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.sql.parser import parse

CLINIC = catalog(Limits(max_groups=1, max_rows=1))
EMPTY = Reference({TABLE: []})


def draws(text: str) -> tuple[list[Draw], list[Draw]]:
    """What was drawn for an answer, and what its event lists."""
    quote = price(parse(text, CLINIC), CLINIC, Loss.zcdp("0.1"))
    gateway = RecordingGateway(SystemEntropy(b"charge"))
    run(quote, EMPTY, CLINIC, b"salt", gateway)
    paid: list[Draw] = [
        AddNoise(DiscreteGaussian(leaf.variance))  # type: ignore[union-attr]
        for leaf in quote.event.events
    ]
    return [call.draw for call in gateway.calls], paid


def test_a_tally_that_many_columns_read_is_drawn_once() -> None:
    drawn, paid = draws("SELECT COUNT(age), AVG(age), VARIANCE(age), STDDEV(age) FROM visits")
    assert len(paid) == 4
    assert drawn == paid


def test_nothing_is_drawn_again_whatever_comes_out() -> None:
    for _ in range(40):  # without rows, the noise of a count is below 1 every other time
        drawn, paid = draws("SELECT AVG(age) FROM visits")
        assert drawn == paid
