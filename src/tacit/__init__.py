"""Tacit: a differentially private curator.

The names below are the public face. Nothing inside Tacit imports them from here.
"""

from tacit import ml
from tacit.client import connect
from tacit.core import (
    Bounds,
    Catalog,
    Column,
    Dataset,
    Guarantee,
    Keys,
    Kind,
    Loss,
    Neighbours,
    Population,
    PrivacyUnit,
    Release,
    Schema,
)
from tacit.errors import TacitError
from tacit.session import Session, apply_project, open_project
from tacit.session import open_session as open  # noqa: A004 - tacit.open reads well

__all__ = [
    "Bounds",
    "Catalog",
    "Column",
    "Dataset",
    "Guarantee",
    "Keys",
    "Kind",
    "Loss",
    "Neighbours",
    "Population",
    "PrivacyUnit",
    "Release",
    "Schema",
    "Session",
    "TacitError",
    "apply_project",
    "connect",
    "ml",
    "open",
    "open_project",
]
