"""Publications that are released each period, and surveys randomised at the source."""

from tacit.publish.due_releases import run
from tacit.publish.publication import Publication, Publications

__all__ = ["Publication", "Publications", "run"]
