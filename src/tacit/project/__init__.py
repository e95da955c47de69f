"""The project file `tacit.toml` as plain values.

Tables, populations, budgets, engines and server settings are read here, and faults are
reported with their line.
"""

from tacit.project.anchors import AnchorSettings
from tacit.project.console import ConsoleFlow, ConsoleSettings
from tacit.project.document import Fault, ProjectText, TomlEntry
from tacit.project.engines import (
    ENVIRONMENT,
    PATH,
    STORE,
    UNKNOWN,
    AddressRule,
    EngineAddress,
    Plugins,
    SecretPlace,
    draft,
    engine_of,
    refuse_password,
    with_password,
)
from tacit.project.grants import Grant
from tacit.project.populations import (
    Allowance,
    Fact,
    PopulationSettings,
    epoch_fact,
    facts_by_subject,
    facts_of,
    is_epoch_fact,
)
from tacit.project.project import (
    FILE,
    USUAL,
    Issuer,
    Notify,
    Project,
    RequestLimits,
    Serving,
    project_of,
    read_project,
)
from tacit.project.server_time import CHOICES, DEADLINE, DELAY, OPEN, ServerTime
from tacit.project.tables import (
    MADE,
    MAKING_DIGITS,
    PARTS,
    PROVENANCES,
    TEXT_BYTES,
    CopyPlace,
    CopyPlan,
    day_in,
)

__all__ = [
    "CHOICES",
    "DEADLINE",
    "DELAY",
    "ENVIRONMENT",
    "FILE",
    "MADE",
    "MAKING_DIGITS",
    "OPEN",
    "PARTS",
    "PATH",
    "PROVENANCES",
    "STORE",
    "TEXT_BYTES",
    "UNKNOWN",
    "USUAL",
    "AddressRule",
    "Allowance",
    "AnchorSettings",
    "ConsoleFlow",
    "ConsoleSettings",
    "CopyPlace",
    "CopyPlan",
    "EngineAddress",
    "Fact",
    "Fault",
    "Grant",
    "Issuer",
    "Notify",
    "Plugins",
    "PopulationSettings",
    "Project",
    "ProjectText",
    "RequestLimits",
    "SecretPlace",
    "ServerTime",
    "Serving",
    "TomlEntry",
    "day_in",
    "draft",
    "engine_of",
    "epoch_fact",
    "facts_by_subject",
    "facts_of",
    "is_epoch_fact",
    "project_of",
    "read_project",
    "refuse_password",
    "with_password",
]
