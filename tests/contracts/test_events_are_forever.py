import importlib
import json
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from inspect import isclass
from pathlib import Path

import pytest

from tacit import core
from tacit.core.codec import EVENTS, decode_event, encode_event
from tacit.core.event import (
    AboveThreshold,
    AboveThresholdV2,
    BallNoise,
    BallNoiseV2,
    Composed,
    CubeNoise,
    CubeNoiseV2,
    DelayNoise,
    Event,
    ExponentialSelection,
    GaussianNoise,
    KeySelection,
    KeySelectionV2,
    LaplaceNoise,
    LaplaceNoiseV2,
    LomaxNoise,
    LomaxNoiseV2,
    Nothing,
    PermuteAndFlipSelection,
    PermuteAndFlipSelectionV2,
    ProposeTestReleaseEvent,
    ProposeTestReleaseEventV2,
    RandomisedResponseEvent,
    RandomisedResponseEventV2,
    RealGaussianNoise,
    Repeated,
    Sampled,
    SmoothLaplaceNoise,
    StudentNoise,
    StudentNoiseV2,
    TruncatedLaplaceNoise,
    TruncatedLaplaceNoiseV2,
)
from tacit.errors import InvalidValue

# lines are added to this file, and never edited or removed
GOLDEN: dict[str, str] = json.loads(
    (Path(__file__).parent / "golden" / "events.json").read_text(encoding="utf-8")
)

LAPLACE = LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10, 3))
GAUSSIAN = GaussianNoise(sensitivity_square=Fraction(2), variance=Fraction(50))
MEANT: dict[str, Event] = {
    "nothing": Nothing(),
    "laplace: a count, by one": LAPLACE,
    "laplace: of a half": LaplaceNoise(
        sensitivity=Fraction(1, 2), scale=Fraction(10**12 + 1, 1000)
    ),
    "gaussian: two groups": GAUSSIAN,
    "gaussian: of nothing": GaussianNoise(
        sensitivity_square=Fraction(0), variance=Fraction(1, 3)
    ),
    "composed: of none": Composed(events=()),
    "composed: in order": Composed(events=(GAUSSIAN, LAPLACE)),
    "composed: of composed": Composed(events=(Composed(events=(Nothing(),)), Nothing())),
    "repeated": Repeated(event=LAPLACE, times=52),
    "sampled": Sampled(event=GAUSSIAN, probability=Fraction(1, 100)),
    "truncated laplace": TruncatedLaplaceNoise(
        sensitivity=Fraction(1), scale=Fraction(5), reach=40
    ),
    "ball": BallNoise(sensitivity_square=Fraction(2), scale=Fraction(10), dimensions=3),
    "cube": CubeNoise(sensitivity=Fraction(1), scale=Fraction(10), dimensions=3),
    "exponential": ExponentialSelection(epsilon=Fraction(1, 10)),
    "permute and flip": PermuteAndFlipSelection(epsilon=Fraction(1, 10)),
    "randomised response": RandomisedResponseEvent(truth=Fraction(2, 3), choices=2),
    "keys": KeySelection(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6), max_keys=2),
    "above threshold": AboveThreshold(
        threshold_epsilon=Fraction(1, 20), query_epsilon=Fraction(1, 10)
    ),
    "lomax": LomaxNoise(epsilon=Fraction(1, 5), smoothing=Fraction(1, 50)),
    "student": StudentNoise(degrees=3, smoothing=Fraction(1, 50), rate=Fraction(1, 20)),
    "smooth laplace": SmoothLaplaceNoise(factor=Fraction(2), smoothing=Fraction(1, 30)),
    "propose test release": ProposeTestReleaseEvent(
        test_epsilon=Fraction(1, 10), release_epsilon=Fraction(1, 5), delta=Fraction(1, 10**6)
    ),
    "real gaussian": RealGaussianNoise(
        sensitivity_square=Fraction(1), variance=Fraction(121, 100)
    ),
    "laplace 2": LaplaceNoiseV2(sensitivity=Fraction(1), scale=Fraction(10)),
    "truncated laplace 2": TruncatedLaplaceNoiseV2(
        sensitivity=Fraction(1), scale=Fraction(5), reach=40
    ),
    "ball 2": BallNoiseV2(sensitivity_square=Fraction(1), scale=Fraction(10), dimensions=3),
    "cube 2": CubeNoiseV2(sensitivity=Fraction(1), scale=Fraction(10), dimensions=3),
    "permute and flip 2": PermuteAndFlipSelectionV2(epsilon=Fraction(1, 10)),
    "randomised response 2": RandomisedResponseEventV2(truth=Fraction(2, 3), choices=2),
    "keys 2": KeySelectionV2(epsilon=Fraction(1, 10), delta=Fraction(1, 1000000), max_keys=2),
    "above threshold 2": AboveThresholdV2(
        threshold_epsilon=Fraction(1, 20), query_epsilon=Fraction(1, 10)
    ),
    "lomax 2": LomaxNoiseV2(epsilon=Fraction(1, 5), smoothing=Fraction(1, 50)),
    "student 2": StudentNoiseV2(degrees=3, smoothing=Fraction(1, 50), rate=Fraction(1, 20)),
    "propose test release 2": ProposeTestReleaseEventV2(
        test_epsilon=Fraction(1, 10),
        release_epsilon=Fraction(1, 10),
        delta=Fraction(1, 1000000),
    ),
    "delay": DelayNoise(variance=Fraction(40000), reach=1387, step_ms=Fraction(1, 2)),
}
RENAMED = {
    '"kind":"nothing"': '"kind":"none"',
    '"kind":"laplace"': '"kind":"laplace_noise"',
    '"kind":"gaussian"': '"kind":"normal"',
    '"kind":"composed"': '"kind":"all"',
    '"sensitivity":': '"l1":',
    '"scale":': '"b":',
    '"sensitivity_square":': '"sensitivity":',
    '"variance":': '"sigma":',
    '"events":': '"parts":',
}


# the events of every module of core, those included that nobody imports
def declared() -> set[type[Event]]:
    names = [found.name for found in pkgutil.iter_modules(core.__path__, "tacit.core.")]
    modules = [importlib.import_module(name) for name in names]
    classes = [kind for module in modules for kind in vars(module).values() if isclass(kind)]
    return {kind for kind in classes if issubclass(kind, Event)} - {Event}


def unlisted(kinds: Iterable[type[Event]]) -> set[str]:
    return {kind.__name__ for kind in kinds if kind not in EVENTS.values()}


def test_every_golden_line_has_its_meaning_written_out() -> None:
    assert GOLDEN.keys() == MEANT.keys()


@pytest.mark.parametrize("line", GOLDEN)
def test_a_golden_line_means_what_it_always_meant(line: str) -> None:
    assert decode_event(GOLDEN[line]) == MEANT[line]
    assert encode_event(MEANT[line]) == GOLDEN[line]


def test_a_golden_line_does_not_mean_anything_else() -> None:
    for line, text in GOLDEN.items():
        assert [name for name, meant in MEANT.items() if meant == decode_event(text)] == [line]


def test_every_kind_has_a_golden_line() -> None:
    assert {type(decode_event(text)) for text in GOLDEN.values()} == set(EVENTS.values())


def test_every_kind_of_event_has_a_stored_name() -> None:
    assert LaplaceNoise in declared()
    assert unlisted(declared()) == set()


def test_a_kind_without_a_stored_name_is_found() -> None:
    @dataclass(frozen=True, slots=True)
    class Cauchy(Event):
        scale: Fraction

    assert unlisted([Nothing, Cauchy, LaplaceNoise]) == {"Cauchy"}


@pytest.mark.parametrize("old", RENAMED)
def test_a_renamed_kind_or_field_is_refused(old: str) -> None:
    doctored = [text.replace(old, RENAMED[old]) for text in GOLDEN.values() if old in text]
    assert doctored
    for text in doctored:
        with pytest.raises(InvalidValue, match="cannot be decoded as an event"):
            decode_event(text)


@pytest.mark.parametrize("line", GOLDEN)
def test_a_field_more_is_refused_even_where_it_would_have_a_default(line: str) -> None:
    doctored = GOLDEN[line].replace("{", '{"clamped":0,', 1)
    with pytest.raises(InvalidValue, match="cannot be decoded as an event"):
        decode_event(doctored)
