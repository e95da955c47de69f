"""The client of a Tacit server: the same methods as a session, over HTTP."""

from tacit.client.session import connect

__all__ = ["connect"]
