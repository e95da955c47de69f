"""Connect: the one door, over the network."""

import os
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from tacit.client.patience import Patience
from tacit.client.session import RemoteSession
from tacit.errors import InvalidValue
from tacit.extras import load

TOKEN = "TACIT_TOKEN"  # noqa: S105 - the name of a variable


def connect(
    url: str,
    *,
    token: str | None = None,
    patience: Patience = Patience(),  # noqa: B008 - it is frozen
    plain_http: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> RemoteSession:
    """A session over a server, in the words of `Session`.

    Args:
        url: where the server is, such as ``https://tacit.clinic.example``.
        token: what an owner gave you; without it, what the variable ``TACIT_TOKEN`` holds.
        patience: how long to wait for an answer, and how often to send a request again.
        plain_http: believe the network on the way; without it a token goes over TLS alone, or
            to this machine.
        environment: where the variable is looked for.

    Guarantee: a request that is sent again is the same request, under the same key: however
    often replies are lost, it is charged once.
    """
    _check(url, plain_http=plain_http)
    known = token or environment.get(TOKEN, "")
    if not known:
        raise InvalidValue(
            f"A server lets in who has a token: connect(url, token=...), or set {TOKEN}. An "
            "owner makes one: tacit token issue NAME --role analyst"
        )
    wire = load("tacit.client.wire", extra="client").Wire(url, known, patience)
    return RemoteSession.over(wire)


def _check(url: str, *, plain_http: bool) -> None:
    split = urlsplit(url)
    if split.scheme not in {"http", "https"} or not split.hostname or split.username:
        raise InvalidValue("The url of a server is https://host, with its port and path.")
    if split.scheme == "http" and not plain_http and not _here(split.hostname):
        raise InvalidValue(
            "Over http:// others could read your token on its way; take https://, or say "
            "plain_http=True where you trust that network."
        )


def _here(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
