"""The price of an answer's time: a share of the loss, a delay, and what is refused."""

from fractions import Fraction
from math import sqrt

import pytest

from tacit import core
from tacit.accounting import cost_of, loss_of
from tacit.core import Loss, Measure
from tacit.core.codec import decode_release, encode_release
from tacit.errors import InternalError, InvalidValue
from tacit.numeric.entropy import SystemEntropy
from tacit.project import DEADLINE, DELAY, OPEN, ServerTime
from tacit.query import PricedTime, check_delay, price, price_time, read_question
from tacit.query import pricing as pricing_module
from tacit.query.paid_work import released_by
from tacit.session import workers
from tacit.sql import parse

F = Fraction
TIME = ServerTime(DELAY)
CATALOG = workers._catalog
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM people",
    "SELECT city, AVG(pay) AS a, MEDIAN(pay) AS m FROM people GROUP BY city",
    "SELECT city, COUNT(*) AS n FROM people GROUP BY ROLLUP (city)",
)
LOSSES = [Loss.zcdp(rho) for rho in ("0.00025", "0.006", "0.1", "2")]


def priced(loss: Loss, time: ServerTime = TIME) -> PricedTime:
    found = price_time(time, loss)
    assert found is not None
    return found


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sql", QUESTIONS)
def test_time_is_paid_within_the_loss_that_was_asked_for(sql: str, loss: Loss) -> None:
    plan = parse(sql, CATALOG)
    time = priced(loss)
    quote, without = price(plan, CATALOG, loss, time), price(plan, CATALOG, loss)
    cost = loss_of(quote.event, Measure.ZCDP, quote.price_delta)
    assert cost.amount <= loss.amount
    assert cost.delta <= TIME.delta
    assert quote.event.events[-1] == time.event
    assert time.loss.amount <= loss.amount * TIME.share
    assert quote.key == without.key
    assert quote.key_loss == without.key_loss == loss
    assert quote.total_loss == Loss(Measure.ZCDP, loss.amount, time.loss.delta)
    # the noise grows by 1 / sqrt(0.95), which is 2.6%
    for now, before in zip(quote.tallies, without.tallies, strict=True):
        wide, narrow = now.error(F(95, 100)), before.error(F(95, 100))
        assert narrow <= wide <= F(103, 100) * narrow + 1


def test_time_on_top_of_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lie: all of the loss is spent on noise, and the delay comes on top."""
    monkeypatch.setattr(PricedTime, "rest_of", lambda _, asked: asked)
    with pytest.raises(InternalError, match="above the requested loss"):
        price(parse(QUESTIONS[0], CATALOG), CATALOG, LOSSES[0], priced(LOSSES[0]))


def test_time_that_is_not_charged_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lie: the event leaves out the delay."""

    def without(*given: object) -> core.Composed:
        event: core.Composed = found(*given)  # type: ignore[arg-type]
        return core.Composed(event.events[:-1])

    found = pricing_module._event_of
    monkeypatch.setattr(pricing_module, "_event_of", without)
    with pytest.raises(AssertionError):
        test_time_is_paid_within_the_loss_that_was_asked_for(QUESTIONS[0], LOSSES[0])


def test_defaults_are_those_of_the_study() -> None:
    """Mean delays of 1,310 and 278 ms, and 20 ms of the floor, as `time.md` computed them."""
    small, usual = priced(Loss.zcdp("0.00025")), priced(Loss.zcdp("0.006"))
    assert float(small.mean_ms) == pytest.approx(1330, rel=0.12)
    assert float(usual.mean_ms) == pytest.approx(298, rel=0.12)
    assert sqrt(float(usual.event.variance)) == pytest.approx(40.8, rel=0.01)


@pytest.mark.parametrize("loss", LOSSES)
def test_draws_are_within_the_floor_and_the_most(loss: Loss) -> None:
    time, entropy = priced(loss), SystemEntropy(b"delays")
    drawn = [time.draw(entropy) for _ in range(300)]
    least = time.floor_steps
    assert least == 20
    assert all(least <= each <= least + 2 * time.event.reach for each in drawn)
    assert len(set(drawn)) > 3
    mean = sum(drawn) / len(drawn)
    spread = sqrt(float(time.event.variance) / len(drawn))
    assert abs(mean - least - time.event.reach) < 7 * spread + 0.5


def test_finer_steps_are_shorter_delays() -> None:
    fine = priced(LOSSES[0], ServerTime(DELAY, person_ms=F(1, 10)))
    assert fine.step_ns == 10**5
    assert fine.floor_steps == 200
    assert float(fine.mean_ms - 20) == pytest.approx(
        float(priced(LOSSES[0]).mean_ms - 20) / 10, rel=0.01
    )


def test_a_delay_that_would_be_too_long_is_refused_with_the_least_amount() -> None:
    with pytest.raises(
        InvalidValue, match=r"by up to 410 s, and this server allows 30 s. Ask for at least rho"
    ) as error:
        check_delay(TIME, priced(Loss.zcdp("1e-8")))
    least = float(str(error.value).rpartition("at least rho ")[2].partition(". ")[0])
    check_delay(TIME, priced(Loss.zcdp(f"{least:.9f}")))
    with pytest.raises(InvalidValue, match="Nothing was charged"):
        check_delay(TIME, priced(Loss.zcdp(str(least / 2))))
    with pytest.raises(InvalidValue, match=rf"at least epsilon \d\.\d+ \(rho {least:f}"):
        check_delay(TIME, priced(Loss.zcdp("1e-8")), F(1, 10**6))
    check_delay(TIME, None)
    check_delay(None, priced(Loss.zcdp("1e-8")))


def test_a_delay_cannot_be_paid_from_a_pure_budget() -> None:
    with pytest.raises(InvalidValue, match="only a budget in rho with delta can pay"):
        price_time(TIME, Loss.pure("0.1"))


def test_open_time_costs_nothing_and_says_so() -> None:
    time = priced(Loss.pure("0.1"), ServerTime(OPEN))
    quote = price(parse(QUESTIONS[0], CATALOG), CATALOG, Loss.pure("0.1"), time)
    without = price(parse(QUESTIONS[0], CATALOG), CATALOG, Loss.pure("0.1"))
    assert (quote.event, quote.total_loss) == (without.event, without.loss)
    assert "the time of answers is open" in quote.assumptions[-1]
    assert quote.assumptions[:-1] == without.assumptions
    with pytest.raises(InternalError, match="has no delay"):
        time.draw(SystemEntropy(b""))


def test_no_server_and_a_deadline_charge_nothing_for_time() -> None:
    assert price_time(None, LOSSES[0]) is None
    assert price_time(ServerTime(DEADLINE, deadline=0.5), LOSSES[0]) is None


@pytest.mark.parametrize("kind", [DELAY, OPEN])
def test_a_worker_prices_the_same_question_with_the_same_time(kind: str) -> None:
    time = priced(LOSSES[1], ServerTime(kind, measured="2026-11-18 on a test machine"))
    quote = price(parse(QUESTIONS[1], CATALOG), CATALOG, LOSSES[1], time)
    sent = quote.asked | {"salt": "", "receipt": "00", "noted": []}
    worker = read_question(sent, CATALOG).quote
    assert (worker.event, worker.time, worker.total_loss) == (
        quote.event,
        quote.time,
        quote.total_loss,
    )
    assert worker.assumptions == quote.assumptions


def test_the_guarantee_says_what_time_cost_and_assumes() -> None:
    host = ServerTime(DELAY, measured="2026-11-18 on host 7", measured_ms=F(1))
    time = priced(LOSSES[1], host)
    quote = price(parse(QUESTIONS[0], CATALOG), CATALOG, LOSSES[1], time)
    release = released_by(quote, (), b"charge")
    said = " ".join(str(release.guarantee).split())
    assert "also holds for anyone who sees when the answer arrives" in said
    assert f"{time.loss} paid for the time" in said
    assert "by at most 1 ms (2026-11-18 on host 7)" in said
    assert decode_release(encode_release(release)) == release
    assert release.guarantee.noise_loss == quote.noise_loss
    assert cost_of(time.event).delta <= time.loss.delta
    assert cost_of(time.event).rho == release.guarantee.time.amount
    declared = priced(LOSSES[1])
    assert "(declared, not measured)" in declared.assumption


def test_a_guarantee_never_says_measured_of_a_smaller_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edited = ServerTime(DELAY, person_ms=F(1, 2), measured="measured on vm", measured_ms=F(10))
    assert "at most 0.5 ms (declared, not measured)" in priced(LOSSES[1], edited).assumption
    # the lie: the text of a measurement is repeated whatever person_ms is
    monkeypatch.setattr(ServerTime, "evidence", property(lambda time: time.measured))
    assert "at most 0.5 ms (measured on vm)" in priced(LOSSES[1], edited).assumption


def test_a_release_without_time_keeps_its_bytes() -> None:
    quote = price(parse(QUESTIONS[0], CATALOG), CATALOG, LOSSES[1])
    assert b'"time"' not in encode_release(released_by(quote, (), b"charge"))


@pytest.mark.parametrize("amount", ["1e1000", "1" + "0" * 4200, "20", "25"])
def test_a_loss_of_any_size_has_a_delay(amount: str) -> None:
    loss = Loss.zcdp(Fraction(amount))
    priced = price_time(TIME, loss)
    assert priced is not None
    assert priced.loss.amount <= min(Fraction(1), loss.amount * TIME.share)


@pytest.mark.parametrize("amount", ["1e-330", "1e-4000"])
def test_a_loss_that_pays_for_no_delay_is_refused(amount: str) -> None:
    with pytest.raises(InvalidValue, match="cannot pay for the time of its answer"):
        price_time(TIME, Loss.zcdp(Fraction(amount)))
