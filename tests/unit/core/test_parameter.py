"""Parameters of models, and the releases that hold them."""

from typing import Any

import pytest

from tacit.core.codec import decode_release, encode_release
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.release import Guarantee, Parameter, Release, columns_of, parameters_in
from tacit.errors import InvalidValue

GUARANTEE = Guarantee(Population("people", PrivacyUnit("person")), Loss.zcdp("0.1"))


def test_parameters_come_back_from_the_bytes_of_a_release() -> None:
    parameters = (
        Parameter.of("coef_", [[0.1, -2.5e-300], [3.0, 7]]),
        Parameter.of("intercept_", 0.25),
        Parameter.of("count_", 12),
        Parameter.of("one_", [1.5]),
    )
    release = Release(columns_of(parameters), GUARANTEE, b"receipt")
    assert parameters_in(decode_release(encode_release(release))) == parameters
    assert parameters[0].nested == [[0.1, -2.5e-300], [3.0, 7]]


@pytest.mark.parametrize("numbers", [float("nan"), [1.0, float("inf")], [[1.0], [1.0, 2.0]]])
def test_what_is_no_finite_array_is_refused(numbers: Any) -> None:
    with pytest.raises(InvalidValue):
        Parameter.of("coef_", numbers)
