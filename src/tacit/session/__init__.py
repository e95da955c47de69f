"""Sessions: open data or a project, preview a question, pay for it, and read the answer."""

from tacit.session.changes import budget_of, quota_of
from tacit.session.curator import FOLDER, Curator, LedgerFolder, signing_key
from tacit.session.engines import all_opened, held, opened, read_project, spec_of
from tacit.session.estimate import WHAT, estimate_of
from tacit.session.open import open_session
from tacit.session.prepare import Owner
from tacit.session.project import (
    Reloading,
    apply_project,
    beside,
    missing_in,
    open_project,
    proposed_in,
    served,
)
from tacit.session.question import Preview, Question
from tacit.session.session import Session
from tacit.session.workers import alarm

__all__ = [
    "FOLDER",
    "WHAT",
    "Curator",
    "LedgerFolder",
    "Owner",
    "Preview",
    "Question",
    "Reloading",
    "Session",
    "alarm",
    "all_opened",
    "apply_project",
    "beside",
    "budget_of",
    "estimate_of",
    "held",
    "missing_in",
    "open_project",
    "open_session",
    "opened",
    "proposed_in",
    "quota_of",
    "read_project",
    "served",
    "signing_key",
    "spec_of",
]
