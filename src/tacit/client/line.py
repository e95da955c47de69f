"""The connection to a server as questions see it, and certificates that are fetched over it."""

from typing import Any, Protocol

from tacit.certify import Certificate, verify_certificate


class Line(Protocol):
    """A connection over which questions are sent."""

    def post(self, path: str, body: dict[str, Any], key: str | None = None) -> Any:
        """Send ``body`` to ``path``, and return the server's reply."""
        ...

    def text(self, path: str, accept: str) -> str:
        """Return the text of the server's reply at ``path``, in the media type ``accept``."""
        ...


def certificate_from(wire: Line, release_key: bytes) -> Certificate:
    """Return the certificate of a stored release, which the server has signed.

    Its signature is checked, and that it is about a charge of a chain. Whose key it is must be
    compared with the key that the owner gave (`tacit verify --key`).
    """
    path = f"/v1/releases/{release_key.hex()}/certificate"
    text = wire.text(path, "application/json")
    verify_certificate(text)
    return Certificate(text, wire.text(path, "text/html"))
