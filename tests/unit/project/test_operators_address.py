"""The setting `[server] operators`: a host and a port, and refusals."""

import pytest

from tacit.project.document import Fault, TomlEntry
from tacit.project.project import serving_of


def read(said: object) -> tuple[str, int] | None:
    return serving_of(TomlEntry({"operators": said}, ("server",))).operators


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("metrics.clinic.example:0", ("metrics.clinic.example", 0)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(said: str, found: tuple[str, int]) -> None:
    assert read(said) == found


def test_there_is_no_port_of_operators_by_default() -> None:
    assert serving_of(TomlEntry({}, ("server",))).operators is None


@pytest.mark.parametrize(
    "said", ["9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:9464"]
)
def test_other_texts_are_refused(said: str) -> None:
    with pytest.raises(Fault, match="Write a host and a port: operators"):
        read(said)
    with pytest.raises(Fault):
        read(9464)
