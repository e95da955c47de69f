"""Publications that are released each period, and surveys in the local model.

A publication is a stream with a name, whose tables are written to files or to PostgreSQL. In a
survey, each respondent's browser randomises the answers before they are sent.
"""

from tacit.publish.due_releases import run
from tacit.publish.publication import Publication, Publications
from tacit.publish.shown import (
    ShownPublication,
    released_periods,
    shown_publication,
    shown_publications,
)

__all__ = [
    "Publication",
    "Publications",
    "ShownPublication",
    "released_periods",
    "run",
    "shown_publication",
    "shown_publications",
]
