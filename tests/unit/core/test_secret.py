import copy
import json
import logging
import math
import operator
import pickle
import pprint
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass

import pytest

from tacit.core.secret import Secret
from tacit.core.unseal import unseal
from tacit.errors import SecretMisuse

CANARY = 867530942
OTHER = 7
SECRET = Secret(CANARY)


@dataclass(frozen=True)
class Row:
    pay: object


def fail_beside(value: object) -> None:
    pay = value
    raise RuntimeError("an error of someone else's", [pay])


def with_locals(error: BaseException) -> str:
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(shown.format())


def traceback_beside(value: object) -> str:
    with pytest.raises(RuntimeError) as caught:
        fail_beside(value)
    return with_locals(caught.value)


SHOWN: dict[str, Callable[[object], str]] = {
    "repr": repr,
    "str": str,
    "ascii": ascii,
    "f-string": lambda value: f"{value} {value!r} {value!s} {value:>20}",
    "format": lambda value: "{} {!r}".format(value, value),  # noqa: UP032
    "percent": lambda value: "%s %r" % (value, value),  # noqa: UP031
    "a list": lambda value: str([value, (value,)]),
    "a dict": lambda value: str({"pay": value}),
    "a dataclass": lambda value: repr(Row(value)),
    "pprint": lambda value: pprint.pformat({"pay": [value]}),
    "a traceback with locals": traceback_beside,
    "json with a default": lambda value: json.dumps({"pay": [value]}, default=str),
}

REFUSED: dict[str, Callable[[object], object]] = {
    "==": lambda value: value == OTHER,
    "== of two": lambda value: value == Secret(OTHER),
    "!=": lambda value: value != OTHER,
    "<": lambda value: value < OTHER,
    "<=": lambda value: value <= OTHER,
    ">": lambda value: value > OTHER,
    ">=": lambda value: value >= OTHER,
    "== in a list": lambda value: [value] == [OTHER],
    "== in a dataclass": lambda value: Row(value) == Row(Secret(OTHER)),
    "max": lambda value: max(value, OTHER),
    "sorted": lambda value: sorted([value, OTHER]),
    "hash": hash,
    "a key": lambda value: {value: 1},
    "bool": bool,
    "not": operator.not_,
    "len": len,
    "iter": iter,
    "list": list,
    "reversed": reversed,
    "in": lambda value: OTHER in value,
    "in a list": lambda value: OTHER in [1, value],
    "[]": lambda value: value[0],
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "range": range,
    "sqrt": math.sqrt,
    "%f": lambda value: "%f" % value,  # noqa: UP031
    "bytes": bytes,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy of a list": lambda value: copy.deepcopy([value]),
    "asdict": lambda value: asdict(Row(value)),
}


def leaks(show: Callable[[object], str], value: object) -> bool:
    return str(CANARY) in show(value)


@pytest.mark.parametrize("way", SHOWN)
def test_no_way_of_printing_shows_a_secret(way: str) -> None:
    assert "<secret>" in SHOWN[way](SECRET)
    assert not leaks(SHOWN[way], SECRET)
    assert leaks(SHOWN[way], CANARY)


def test_a_log_shows_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("tacit").error("pay %s %r", SECRET, [SECRET])
    assert "pay <secret> [<secret>]" in caplog.text
    assert str(CANARY) not in caplog.text
    logging.getLogger("tacit").error("pay %s", CANARY)
    assert str(CANARY) in caplog.text


@pytest.mark.parametrize("way", REFUSED)
def test_no_way_of_using_gets_past_the_box(way: str) -> None:
    with pytest.raises(SecretMisuse, match="Pass it to a mechanism") as refusal:
        REFUSED[way](SECRET)
    shown = with_locals(refusal.value)
    assert str(CANARY) not in shown


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickle_holds_a_secret(protocol: int) -> None:
    for held in (SECRET, [SECRET], Row(SECRET)):
        with pytest.raises(SecretMisuse, match="cannot be compared, counted, copied or stored"):
            pickle.dumps(held, protocol)
    assert pickle.dumps(Row(CANARY), protocol)


def test_json_does_not_encode_a_secret() -> None:
    with pytest.raises(TypeError) as refusal:
        json.dumps({"pay": SECRET})
    assert str(CANARY) not in str(refusal.value)
    with pytest.raises(TypeError):
        json.dumps(SECRET, default=vars)


@pytest.mark.parametrize("change", [abs, round, sum, "%d".__mod__, lambda value: value + 1])
def test_no_arithmetic_is_done_with_a_secret(change: Callable[[object], object]) -> None:
    with pytest.raises(TypeError) as refusal:
        change(SECRET)
    assert str(CANARY) not in str(refusal.value)


def test_a_secret_holds_nothing_more() -> None:
    with pytest.raises(AttributeError):
        SECRET.label = "pay"


@pytest.mark.parametrize("value", [CANARY, [1, 2], None, "text"])
def test_only_unseal_gives_the_value_back(value: object) -> None:
    assert unseal(Secret(value)) is value
    assert Secret(value) is not value
