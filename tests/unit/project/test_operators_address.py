"""The setting `[server] operators`: a host and a port, and refusals."""

import pytest

from tacit.project.document import Fault, TomlEntry
from tacit.project.project import serving_of


def read(said: object, **more: object) -> tuple[str, int] | None:
    return serving_of(TomlEntry({"operators": said, **more}, ("server",))).operators


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("127.8.0.1:0", ("127.8.0.1", 0)),
        ("localhost:9464", ("localhost", 9464)),
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


@pytest.mark.parametrize(
    ("said", "host"),
    [
        ("0.0.0.0:9464", "0.0.0.0"),  # noqa: S104 - nothing is bound
        ("[::]:9464", "::"),
        ("10.0.0.5:9464", "10.0.0.5"),
        ("128.0.0.1:9464", "128.0.0.1"),
        ("metrics.clinic.example:0", "metrics.clinic.example"),
        ("localhost.example:9464", "localhost.example"),
        ("127.0.0.1.example:9464", "127.0.0.1.example"),
        ("127.1:9464", "127.1"),
    ],
)
def test_an_address_that_others_reach_must_be_meant(said: str, host: str) -> None:
    """The port asks for no token."""
    for more in ({}, {"operators_beyond_loopback": False}):
        with pytest.raises(Fault, match="asks for no token") as refused:
            read(said, **more)
        assert repr(host) in str(refused.value)
        assert "operators_beyond_loopback = true" in str(refused.value)
    found = read(said, operators_beyond_loopback=True)
    assert found is not None
    assert found[0] == host


def test_a_port_that_is_not_there_is_not_opened_to_others() -> None:
    with pytest.raises(Fault, match="There is no port of operators"):
        serving_of(TomlEntry({"operators_beyond_loopback": True}, ("server",)))
    with pytest.raises(Fault, match="true or false"):
        read("127.0.0.1:9464", operators_beyond_loopback="yes")


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("requests_per_minute", 10**9),
        ("processes", 1024),
        ("megabytes", 2**24),
        ("seconds", 86_400),
    ],
)
def test_limits_of_a_server_have_a_largest_value(name: str, most: int) -> None:
    assert getattr(serving_of(TomlEntry({name: most}, ("server",))), name) == most
    for wrong in (0, -1, most + 1, 10**400):
        with pytest.raises(Fault, match=f"{name} must be from 1 to {most:,}"):
            serving_of(TomlEntry({name: wrong}, ("server",)))
    with pytest.raises(Fault, match="connections must be from 1 to 1,000,000"):
        serving_of(TomlEntry({"limits": {"connections": 10**9}}, ("server",)))
