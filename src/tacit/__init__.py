"""Tacit: a differentially private curator.

The names below are the public face. Nothing inside Tacit imports them from here.
"""

from tacit.client.connect import connect
from tacit.core.bounds import Bounds
from tacit.core.catalog import Catalog
from tacit.core.column import Column, Kind
from tacit.core.dataset import Dataset
from tacit.core.guarantee import Guarantee
from tacit.core.keys import Keys
from tacit.core.loss import Loss
from tacit.core.population import Population
from tacit.core.release import Release
from tacit.core.schema import Schema
from tacit.core.unit import Neighbours, PrivacyUnit
from tacit.errors import TacitError
from tacit.session.open import open_session as open  # noqa: A004 - tacit.open reads well
from tacit.session.session import Session

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
    "connect",
    "open",
]
