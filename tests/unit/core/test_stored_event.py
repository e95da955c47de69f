import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.event import Composed, Event, GaussianNoise, LaplaceNoise, Nothing
from tacit.core.stored_event import decode, encode
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
LAPLACE = '{"event":"laplace","scale":"10/3","sensitivity":"1"}'


@given(EVENTS)
def test_an_event_comes_back_from_its_text(event: Event) -> None:
    assert decode(encode(event)) == event


@given(EVENTS, EVENTS)
def test_equal_events_and_no_others_have_equal_text(one: Event, other: Event) -> None:
    assert (encode(one) == encode(other)) == (one == other)
    assert encode(Composed((one,))) != encode(one)


@given(EVENTS)
def test_a_text_with_a_space_is_no_second_text_of_an_event(event: Event) -> None:
    text = encode(event)
    assert json.loads(text) == json.loads(f" {text}")
    with pytest.raises(InvalidValue, match="not the canonical text"):
        decode(f" {text}")


def test_the_text_is_short_and_sorted() -> None:
    assert encode(LaplaceNoise(Fraction(1), Fraction(10, 3))) == LAPLACE
    assert decode(LAPLACE) == LaplaceNoise(sensitivity=Fraction(1), scale=Fraction(10, 3))


@pytest.mark.parametrize(
    "text",
    [
        LAPLACE.replace(",", ", "),
        LAPLACE.replace(":", ": "),
        LAPLACE + "\n",
        '{"scale":"10/3","event":"laplace","sensitivity":"1"}',
        LAPLACE.replace("10/3", "20/6"),
        LAPLACE.replace('"1"', '"1/1"'),
        LAPLACE.replace('"1"', '"1.0"'),
        LAPLACE.replace('"1"', '"+1"'),
        LAPLACE.replace('"1"', '" 1"'),
        LAPLACE.replace("laplace", r"\u006caplace"),
        '{"event":"nothing","event":"nothing"}',
    ],
)
def test_another_spelling_of_an_event_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="not the canonical text of an event"):
        decode(text)


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
        '{"event":"laplace","scale":"10/3"}',
        LAPLACE.replace("{", '{"charge":"0",'),
        '{"event":"nothing","law":"exact"}',
        '{"event":"composed","events":"nothing"}',
        '{"event":"composed","events":["nothing"]}',
        '{"event":"composed","events":{"event":"nothing"}}',
        "[" * 100_000,
        '{"event":"composed","events":[' * 100_000,
        '{"event":"composed","events":[' * 900 + "]}" * 900,
    ],
    ids=lambda text: text[:60],
)
def test_what_is_no_text_of_an_event_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="not the stored text of an event"):
        decode(text)


def test_an_event_of_floats_is_not_stored() -> None:
    with pytest.raises(InvalidValue, match="events, fractions and integers, and not float"):
        encode(LaplaceNoise(sensitivity=1.0, scale=3.5))
