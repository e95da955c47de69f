"""A fit has one price for all its steps, and is rehearsed over no rows before it is charged."""

from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from fake_clock import FakeClock
from ward import CATALOG, asked

from tacit.core.catalog import Catalog
from tacit.core.event import Composed, Event, LaplaceNoise, LaplaceNoiseV2, Repeated
from tacit.core.loss import Loss, Measure
from tacit.core.release import BudgetSummary, Parameter
from tacit.core.secret import Secret
from tacit.core.unseal import unseal
from tacit.engines.unit_rows import UnitRows
from tacit.errors import EngineUnreachable, InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.estimator import RowsOf, Training, TrainingSteps
from tacit.plan.steps import WholeSteps
from tacit.plan.tally import RowSumTally
from tacit.query import below_charge
from tacit.query.pricing import price
from tacit.query.quote import Fit, FitPreview, FitQuote, delta_for_each, price_fit
from tacit.query.rehearsal import NO_FIT, rehearse, rehearse_step, steps_of

F = Fraction
TENTH = LaplaceNoise(F(1), F(10))
FIT = Fit('{"model":"Twice"}', "visits", ("stay", "heat"), "cost")
SUMS = [RowSumTally(WholeSteps(1), -5, 5), RowSumTally(WholeSteps(2), -5, 5)]


@dataclass
class Twice:
    """An estimator that asks for two sums, and then for the rows themselves."""

    fails_at: int = 9
    received: list[Any] = field(default_factory=list)

    def event(self, training: Training) -> Event:
        """Noise of 0.1 for each feature."""
        return Composed((TENTH,) * len(training.features))

    def steps(self, training: Training, gateway: Gateway) -> TrainingSteps:
        """Two steps, of which one may fail."""
        del gateway
        plan = training.plan(SUMS)
        for place, step in enumerate((plan, RowsOf(plan))):
            if place == self.fails_at:
                raise ZeroDivisionError
            self.received.append((yield step))
        return (Parameter.of("mean_", F(1)),)


class Plugged(Twice):
    """An estimator that a plug-in provides."""

    plugin = "twice 1.0"


class Around(Twice):
    """An estimator whose settings contain others, at any depth."""

    def get_params(self, *, deep: bool) -> dict[str, object]:
        """Name two steps, one of which is nested."""
        assert not deep
        return {"steps": [("a", Plugged()), ("b", {"c": (Other(), "text", 1)})], "last": None}


class Other(Twice):
    """An estimator of a second plug-in."""

    plugin = "other 2.0"


def quoted(model: Twice | None = None) -> FitQuote:
    return price_fit(FIT, model or Twice(), CATALOG, Measure.PURE)


# The price ------------------------------------------------------------------------------------


def test_a_fit_is_priced_for_all_of_its_releases() -> None:
    quote = quoted()
    assert quote.event == Composed((TENTH, TENTH))
    assert quote.loss == Loss.pure("0.2")
    assert quote.price_delta == 0
    assert quote.population.name == "patients"
    assert quote.datasets == ("visits", "patients")
    assert [column.name for column in quote.training.features] == ["visits.stay", "visits.heat"]


def test_a_fit_is_known_to_the_ledger_by_everything_that_describes_it() -> None:
    assert quoted().key == FIT.key
    others = [
        Fit("{}", "visits", ("stay", "heat"), "cost"),
        Fit(FIT.spec, "labs", ("stay", "heat"), "cost"),
        Fit(FIT.spec, "visits", ("heat", "stay"), "cost"),
        Fit(FIT.spec, "visits", ("stay", "heat"), None),
    ]
    assert len({each.key for each in (FIT, *others)}) == 5
    assert {len(each.key) for each in others} == {32}


class Second(Twice):
    """The same estimator, whose noise is described by second versions of events."""

    def event(self, training: Training) -> Event:
        """Noise of 1 for each feature, on integers that move by 100 steps."""
        return Composed((LaplaceNoiseV2(F(100), F(100)),) * len(training.features))


def test_a_fit_with_a_lower_price_is_known_by_the_price_that_it_had() -> None:
    quote = price_fit(FIT, Second(), CATALOG, Measure.ZCDP)
    assert quote.key_loss == Loss.zcdp(1)
    assert quote.loss.amount < F(74, 100)
    pure = price_fit(FIT, Second(), CATALOG, Measure.PURE)
    assert pure.key_loss == pure.loss == Loss.pure(2)


def test_a_worker_is_asked_for_the_fit_and_its_measure() -> None:
    quote = price_fit(FIT, Twice(), CATALOG, Measure.ZCDP, F(1, 10**6))
    assert quote.asked == {
        "fit": {
            "spec": FIT.spec,
            "dataset": "visits",
            "features": ("stay", "heat"),
            "target": "cost",
        },
        "measure": [Measure.ZCDP.value, "1/1000000"],
    }


def test_the_model_of_a_plug_in_is_one_more_assumption() -> None:
    assert quoted().assumptions == ("patients.id is unique",)
    assert quoted(Plugged()).assumptions == (
        "patients.id is unique",
        "the plug-in twice 1.0, which fits the model, keeps the contract of an estimator",
    )


def test_the_plug_ins_of_models_inside_a_model_are_assumptions() -> None:
    keeps = "which fits the model, keeps the contract of an estimator"
    assert quoted(Around()).assumptions == (
        "patients.id is unique",
        f"the plug-in twice 1.0, {keeps}",
        f"the plug-in other 2.0, {keeps}",
    )


def test_settings_that_are_invalid_are_found_when_the_fit_is_priced() -> None:
    with pytest.raises(ZeroDivisionError):
        quoted(Twice(fails_at=0))


@pytest.mark.parametrize(
    ("event", "parts"),
    [
        (TENTH, 1),
        (Composed((TENTH, TENTH, TENTH)), 3),
        (Composed((TENTH, Repeated(TENTH, 4))), 5),
        (Composed(()), 1),
    ],
)
def test_each_release_gets_an_equal_part_of_the_delta(event: Event, parts: int) -> None:
    assert delta_for_each(event, F(1, 10**6)) == F(1, 10**6) / parts


@pytest.mark.parametrize(("more", "left"), [(1, "1 such fit is"), (0, "0 such fits are")])
def test_a_preview_tells_the_price_and_what_it_assumes(more: int, left: str) -> None:
    total = Loss.pure(1)
    standing = BudgetSummary(
        "patients", Loss.pure("0.2"), Loss.pure("0.5"), total, total, total, more=more
    )
    assert repr(FitPreview(standing, ("a is unique", "b is whole"))).splitlines() == [
        f"Price: epsilon 0.2; about {left} left.",
        "Spent about patients: epsilon 0.5 of at most epsilon 1.",
        "It assumes that a is unique.",
        "It assumes that b is whole.",
    ]


# The rehearsal --------------------------------------------------------------------------------


@dataclass
class Rehearsing:
    """An engine that notes what it is asked to rehearse, and can be out of reach."""

    unreached: int = 0
    asked: list[tuple[BoundedPlan, bytes, bool]] = field(default_factory=list)

    def run(self, *_: object) -> Any:
        raise NotImplementedError

    def rehearse(
        self, plan: BoundedPlan, catalog: Catalog, salt: bytes, *, rows: bool = False
    ) -> None:
        """Note the plan, once the engine can be reached."""
        assert catalog is CATALOG
        if self.unreached:
            self.unreached -= 1
            raise EngineUnreachable("p17 earns 66")
        self.asked.append((plan, salt, rows))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    made = FakeClock()
    monkeypatch.setattr(below_charge, "time", made)
    return made


def test_all_steps_of_a_fit_are_rehearsed_and_none_has_rows() -> None:
    model, engine = Twice(), Rehearsing()
    quote = quoted(model)
    plan = quote.training.plan(SUMS)
    assert list(steps_of(quote)) == [plan, RowsOf(plan)]
    sums, rows = model.received
    assert [type(each) for each in (*sums, rows)] == [Secret] * 3
    assert [unseal(each).tolist() for each in sums] == [[0], [0]]
    assert isinstance(unseal(rows), UnitRows)
    assert (unseal(rows).columns, list(unseal(rows).blocks())) == (2, [])
    rehearse(quote, engine, CATALOG, b"salt")
    assert engine.asked == [(plan, b"salt", False), (plan, b"salt", True)]


def test_a_question_is_rehearsed_as_its_one_plan() -> None:
    quote, engine = price(asked(), CATALOG, Loss.pure(1)), Rehearsing()
    rehearse(quote, engine, CATALOG, b"salt", most=1)
    assert engine.asked == [(quote.bound.plan, b"salt", False)]


def test_a_fit_that_fails_without_rows_is_refused() -> None:
    with pytest.raises(
        InvalidValue, match="This model cannot be fitted to these columns"
    ) as no:
        list(steps_of(quoted(Twice(fails_at=1))))
    assert str(no.value) == NO_FIT


def test_a_step_that_is_too_large_is_refused_before_the_engine_is_asked() -> None:
    engine = Rehearsing()
    rehearse(quoted(), engine, CATALOG, b"salt", most=2)
    assert len(engine.asked) == 2
    with pytest.raises(InvalidValue, match=r"which are 2 numbers; .* can compute at most 1"):
        rehearse(quoted(), engine, CATALOG, b"salt", most=1)
    assert len(engine.asked) == 2


def test_an_engine_that_is_reached_in_time_rehearses(clock: FakeClock) -> None:
    engine = Rehearsing(unreached=20)
    rehearse(price(asked(), CATALOG, Loss.pure(1)), engine, CATALOG, b"salt")
    assert len(engine.asked) == 1
    assert clock.now == 55.0


def test_an_engine_that_is_out_of_reach_costs_nothing(clock: FakeClock) -> None:
    engine = Rehearsing(unreached=99)
    with pytest.raises(EngineUnreachable, match="Nothing was charged; ask again") as told:
        rehearse(price(asked(), CATALOG, Loss.pure(1)), engine, CATALOG, b"salt")
    assert told.value.__cause__ is None
    assert engine.unreached == 99 - 21
    assert clock.now == 55.0


def test_an_engine_that_cannot_rehearse_is_not_asked() -> None:
    plan = price(asked(), CATALOG, Loss.pure(1)).bound.plan
    rehearse_step(plan, SimpleNamespace(), CATALOG, b"salt")  # type: ignore[arg-type]
