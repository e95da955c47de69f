import inspect
import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.core import event as module
from tacit.core.event import Composed, Event, GaussianNoise, LaplaceNoise, Nothing
from tacit.core.stored_event import EVENTS, decode, encode
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
}
RENAMED = {
    '"event":"nothing"': '"event":"none"',
    '"event":"laplace"': '"event":"laplace_noise"',
    '"event":"gaussian"': '"event":"normal"',
    '"event":"composed"': '"event":"all"',
    '"sensitivity":': '"l1":',
    '"scale":': '"b":',
    '"sensitivity_square":': '"sensitivity":',
    '"variance":': '"sigma":',
    '"events":': '"parts":',
}


def unlisted(kinds: Iterable[type[Event]]) -> set[str]:
    return {kind.__name__ for kind in kinds if kind not in EVENTS.values()}


def test_every_golden_line_has_its_meaning_written_out() -> None:
    assert GOLDEN.keys() == MEANT.keys()


@pytest.mark.parametrize("line", GOLDEN)
def test_a_golden_line_means_what_it_always_meant(line: str) -> None:
    assert decode(GOLDEN[line]) == MEANT[line]
    assert encode(MEANT[line]) == GOLDEN[line]


def test_a_golden_line_does_not_mean_anything_else() -> None:
    for line, text in GOLDEN.items():
        assert [name for name, meant in MEANT.items() if meant == decode(text)] == [line]


def test_every_kind_of_event_has_a_stored_name() -> None:
    kinds = [kind for _, kind in inspect.getmembers(module, inspect.isclass)]
    events = [kind for kind in kinds if issubclass(kind, Event) and kind is not Event]
    assert LaplaceNoise in events
    assert unlisted(events) == set()


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
        with pytest.raises(InvalidValue, match="not the stored text of an event"):
            decode(text)


@pytest.mark.parametrize("line", GOLDEN)
def test_a_field_more_is_refused_even_where_it_would_have_a_default(line: str) -> None:
    doctored = GOLDEN[line].replace("{", '{"clamped":0,', 1)
    with pytest.raises(InvalidValue, match="not the stored text of an event"):
        decode(doctored)
