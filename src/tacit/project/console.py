"""The section ``[server.console]``: how browsers reach the console, and sign in there."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from tacit.project.document import TomlEntry
from tacit.project.engines import ENVIRONMENT as KIND

ENVIRONMENT = f"{KIND}:"
"""How a secret begins that is in the environment of the server."""

ADDRESSES = ("https://", "http://127.0.0.1:")
"""How addresses begin: over TLS, or on this machine."""

FLOW = ("client_id", "authorize", "token")
"""The keys that let people sign in at their provider; the section has all of them or none."""


@dataclass(frozen=True, slots=True)
class ConsoleFlow:
    """The console as a client of the identity provider: authorisation code flow with PKCE.

    ``authorize`` and ``token`` are addresses of the provider. ``client_secret`` is
    ``env:NAME``, for a secret in the environment of the server; None for a public client.
    """

    client_id: str
    authorize: str
    token: str
    client_secret: str | None = None
    scope: str = "openid"


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """The address at which browsers reach the server, and how people sign in."""

    address: str | None = None
    flow: ConsoleFlow | None = None


def console_of(entry: TomlEntry, audience: str | None) -> ConsoleSettings:
    """Read the section ``[server.console]``.

    ``audience`` is that of ``[server.oidc]``, if the file has it: a provider issues the tokens
    of people who sign in for the client that asked, and the server accepts tokens for its
    audience.
    """
    parts = entry.fields("address", *FLOW, "client_secret", "scope")
    said = {name: part.text() for name, part in parts.items()}
    for name in ("address", "authorize", "token"):
        if name in parts and not _is_address(said[name]):
            raise parts[name].project_error(
                f"Write an https:// address without a fragment: {name} = "
                f'"https://{"tacit" if name == "address" else "id"}.example".'
            )
    if "address" in parts and urlsplit(said["address"]).path.strip("/"):
        raise parts["address"].project_error(
            "Write the address of the server without a path. The console is at /console there."
        )
    address = said.pop("address", "").rstrip("/") or None
    if not said:
        return ConsoleSettings(address)
    for name in FLOW:
        entry.part(name)
    entry.part("address")
    if audience != said["client_id"]:
        raise parts["client_id"].project_error(
            "The client_id must be the audience in [server.oidc]: the provider issues tokens "
            "for the client that asks for them, and the server accepts those for its audience."
        )
    if not said.get("client_secret", ENVIRONMENT).startswith(ENVIRONMENT):
        raise parts["client_secret"].project_error(
            'Keep the secret out of the file: client_secret = "env:TACIT_CLIENT_SECRET".'
        )
    if "openid" not in said.get("scope", "openid").split():
        raise parts["scope"].project_error('The scope must have openid: scope = "openid".')
    return ConsoleSettings(address, ConsoleFlow(**said))


def _is_address(text: str) -> bool:
    """Return whether ``text`` is an address over TLS or on this machine."""
    if not text.startswith(ADDRESSES) or not text.isascii() or not text.isprintable():
        return False
    try:
        split = urlsplit(text)
        _ = split.port
    except ValueError:
        return False
    return bool(split.hostname) and "@" not in split.netloc and not set(" #\\") & set(text)
