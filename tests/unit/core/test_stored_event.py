import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.codec import decode_event, encode_event
from tacit.core.event import (
    Composed,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Nothing,
    Repeated,
    Sampled,
)
from tacit.errors import InvalidValue

AT_LEAST_ZERO = st.fractions(min_value=0)
ABOVE_ZERO = st.fractions(min_value=0).map(lambda value: value + Fraction(1, 10**9))
LEAVES = st.one_of(
    st.just(Nothing()),
    st.builds(LaplaceNoise, AT_LEAST_ZERO, ABOVE_ZERO),
    st.builds(GaussianNoise, AT_LEAST_ZERO, ABOVE_ZERO),
)
EVENTS = st.recursive(
    LEAVES,
    lambda parts: st.lists(parts, max_size=4).map(lambda some: Composed(tuple(some))),
    max_leaves=12,
)
LAPLACE = '{"kind":"laplace","scale":"10/3","sensitivity":"1"}'


@given(EVENTS)
def test_an_event_comes_back_from_its_text(event: Event) -> None:
    assert decode_event(encode_event(event)) == event


@given(EVENTS, EVENTS)
def test_equal_events_and_no_others_have_equal_text(one: Event, other: Event) -> None:
    assert (encode_event(one) == encode_event(other)) == (one == other)
    assert encode_event(Composed((one,))) != encode_event(one)


@given(EVENTS)
def test_a_text_with_a_space_is_no_second_text_of_an_event(event: Event) -> None:
    text = encode_event(event)
    assert json.loads(text) == json.loads(f" {text}")
    with pytest.raises(InvalidValue, match="not the canonical text"):
        decode_event(f" {text}")


def test_the_text_is_short_and_sorted() -> None:
    assert encode_event(LaplaceNoise(Fraction(1), Fraction(10, 3))) == LAPLACE
    assert decode_event(LAPLACE) == LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10, 3))


@pytest.mark.parametrize(
    "text",
    [
        LAPLACE.replace(",", ", "),
        LAPLACE.replace(":", ": "),
        LAPLACE + "\n",
        '{"scale":"10/3","kind":"laplace","sensitivity":"1"}',
        LAPLACE.replace("10/3", "20/6"),
        LAPLACE.replace('"1"', '"1/1"'),
        LAPLACE.replace('"1"', '"1.0"'),
        LAPLACE.replace('"1"', '"+1"'),
        LAPLACE.replace('"1"', '" 1"'),
        LAPLACE.replace("laplace", r"\u006caplace"),
        '{"kind":"nothing","kind":"nothing"}',
    ],
)
def test_another_spelling_of_an_event_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"not the canonical text|cannot be decoded"):
        decode_event(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "laplace",
        "null",
        "1",
        '"nothing"',
        "[]",
        "{}",
        LAPLACE[:-1],
        LAPLACE.replace("laplace", "cauchy"),
        LAPLACE.replace("laplace", "gaussian"),
        LAPLACE.replace("laplace", "nothing"),
        LAPLACE.replace('"laplace"', '["laplace"]'),
        LAPLACE.replace('"10/3"', "10"),
        LAPLACE.replace('"10/3"', "3.25"),
        LAPLACE.replace('"10/3"', "NaN"),
        LAPLACE.replace('"10/3"', '"ten"'),
        LAPLACE.replace('"10/3"', '"0"'),
        LAPLACE.replace('"10/3"', '["10/3"]'),
        LAPLACE.replace('"1"', '"-1"'),
        '{"kind":"laplace","scale":"10/3"}',
        LAPLACE.replace("{", '{"charge":"0",'),
        '{"kind":"nothing","law":"exact"}',
        '{"kind":"composed","events":"nothing"}',
        '{"kind":"composed","events":["nothing"]}',
        '{"kind":"composed","events":{"kind":"nothing"}}',
        "[" * 100_000,
        '{"kind":"composed","events":[' * 100_000,
        '{"kind":"composed","events":[' * 900 + "]}" * 900,
    ],
    ids=lambda text: text[:60],
)
def test_what_is_no_text_of_an_event_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="cannot be decoded as an event"):
        decode_event(text)


def test_an_event_of_floats_is_not_stored() -> None:
    with pytest.raises(InvalidValue, match="events, fractions and integers, and not float"):
        encode_event(LaplaceNoise(sensitivity=1.0, scale=3.5))


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_repeated_event_comes_back_from_its_text(times: int, more: int) -> None:
    event = Repeated(Composed((Repeated(Nothing(), times),)), more)
    assert decode_event(encode_event(event)) == event


def test_a_sampled_event_comes_back_from_its_text() -> None:
    event = Sampled(Repeated(Nothing(), 2), Fraction(1, 3))
    assert decode_event(encode_event(event)) == event


@pytest.mark.parametrize("number", ["10/0", "1e999999999", "1" * 10_000])
def test_a_number_that_is_none_or_too_long_is_refused(number: str) -> None:
    with pytest.raises(InvalidValue):
        decode_event(f'{{"kind":"laplace","scale":"{number}","sensitivity":"1"}}')


def test_equal_events_of_integers_and_fractions_have_equal_text() -> None:
    assert LaplaceNoise(1, 2) == LaplaceNoise(Fraction(1), Fraction(2))
    assert encode_event(LaplaceNoise(1, 2)) == encode_event(
        LaplaceNoise(Fraction(1), Fraction(2))
    )


def test_true_is_no_number_of_times() -> None:
    with pytest.raises(InvalidValue):
        encode_event(Repeated(Nothing(), times=True))


def test_an_event_without_a_stored_name_is_refused() -> None:
    with pytest.raises(InvalidValue):
        encode_event(Event())
