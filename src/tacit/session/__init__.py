"""Sessions: open data or a project, preview a question, pay for it, and read the answer."""

from tacit.session.certificates import (
    audit_in,
    audits_in,
    certificate_for,
    certify,
    installation_key,
)
from tacit.session.changes import Change, budget_of, quota_of
from tacit.session.curator import FOLDER, Curator, LedgerFolder, signing_key
from tacit.session.engines import (
    open_engine,
    open_engines,
    read_project,
    spec_of,
    variable_value,
)
from tacit.session.epochs import EpochMove, dated_epochs_of, epoch_name
from tacit.session.error_curve import ErrorCurve
from tacit.session.estimate import WHAT, LimitsEstimate
from tacit.session.examples import Example, KnownExamples
from tacit.session.found_tables import DatabasePlace
from tacit.session.ledger_files import export_ledger, restore_ledger
from tacit.session.measured_limits import (
    KnownLimits,
    check_usable,
    known_limits,
    paid_limits,
    paid_profile,
    use_profile,
)
from tacit.session.open import open_session
from tacit.session.oversight import (
    CheckedDocument,
    Spending,
    check_document,
    newest_anchor_of,
    write_registry_record,
    write_report,
)
from tacit.session.prepare import Owner
from tacit.session.project import (
    Reloader,
    apply_project,
    datasets_without_profile,
    open_for_serving,
    open_project,
    planned_changes,
    project_and_ledger,
    unrecorded_changes,
)
from tacit.session.question import Preview, Question, WantedError
from tacit.session.question_steps import PaidQuestion, Stage, paid_fit, paid_question
from tacit.session.restore import begin_anchors, charge_difference
from tacit.session.served_time import engines_with_fixed_plans
from tacit.session.session import Session
from tacit.session.setup import SetupDraft, apply_draft, connect_database, plan_draft
from tacit.session.workers import alarm

__all__ = [
    "FOLDER",
    "WHAT",
    "Change",
    "CheckedDocument",
    "Curator",
    "DatabasePlace",
    "EpochMove",
    "ErrorCurve",
    "Example",
    "KnownExamples",
    "KnownLimits",
    "LedgerFolder",
    "LimitsEstimate",
    "Owner",
    "PaidQuestion",
    "Preview",
    "Question",
    "Reloader",
    "Session",
    "SetupDraft",
    "Spending",
    "Stage",
    "WantedError",
    "alarm",
    "apply_draft",
    "apply_project",
    "audit_in",
    "audits_in",
    "begin_anchors",
    "budget_of",
    "certificate_for",
    "certify",
    "charge_difference",
    "check_document",
    "check_usable",
    "connect_database",
    "datasets_without_profile",
    "dated_epochs_of",
    "engines_with_fixed_plans",
    "epoch_name",
    "export_ledger",
    "installation_key",
    "known_limits",
    "newest_anchor_of",
    "open_engine",
    "open_engines",
    "open_for_serving",
    "open_project",
    "open_session",
    "paid_fit",
    "paid_limits",
    "paid_profile",
    "paid_question",
    "plan_draft",
    "planned_changes",
    "project_and_ledger",
    "quota_of",
    "read_project",
    "restore_ledger",
    "signing_key",
    "spec_of",
    "unrecorded_changes",
    "use_profile",
    "variable_value",
    "write_registry_record",
    "write_report",
]
