"""The record of a population for a public registry of deployments of differential privacy.

The record has the fields of the registry of OpenDP and NIST, as its schema of July 2026 names
them. All three of its tiers are filled: from the ledger, from what the owner states, or with
the reason why a field does not apply. `check_record` compares a record with our own description
of these fields (`FIELDS`), because the schema itself is not part of Tacit.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from tacit import core
from tacit.accounting import odds_of
from tacit.certify.certificate import NOT_PROTECTED, PRIOR, loss_parts
from tacit.certify.population_facts import PopulationFacts, day_of
from tacit.certify.software import software
from tacit.errors import InvalidValue
from tacit.ledger import Units
from tacit.numeric import ceil_to, exact, plain
from tacit.render import spell

# ------------------------------------------------------------------ fields

STATUSES = (
    "Converted",
    "Draft",
    "Pending",
    "Changes Required",
    "Approved",
    "Approved (Update Requested)",
    "Approved (Pending)",
)
PRODUCTS = (
    "Summary statistics",
    "Machine learning model",
    "Dataset",
    "Synthetic data",
    "Interactive API",
    "SQL queries",
)
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
VARIANTS = {
    core.Measure.PURE: "Pure DP",
    core.Measure.APPROXIMATE: "Approximate DP",
    core.Measure.ZCDP: "Zero-concentrated DP",
}
TEXT, NAMES, DAY, NUMBER = "text", "names", "day", "number"


@dataclass(frozen=True, slots=True)
class RegistryField:
    """A field of the registry: its tier, the form of its value, and its allowed values.

    ``tier`` is 0 for fields that every record needs and that are in no tier.
    """

    tier: int
    form: str = TEXT
    allowed: tuple[str, ...] = ()
    required: bool = False
    optional: bool = False
    """Whether a complete record may leave the field out, with a reason in another field."""


FIELDS: dict[str, RegistryField] = {
    "url_slug": RegistryField(0, required=True),
    "status": RegistryField(0, allowed=STATUSES, required=True),
    "tier": RegistryField(0, NUMBER, ("1", "2", "3"), required=True),
    "deployment.basic.name": RegistryField(1, required=True),
    "deployment.basic.data_curators": RegistryField(1, NAMES, required=True),
    "deployment.basic.intended_use": RegistryField(1, required=True),
    "deployment.basic.data_product_type": RegistryField(1, allowed=PRODUCTS, required=True),
    "deployment.basic.data_product_region": RegistryField(1, required=True),
    "deployment.basic.description": RegistryField(1, required=True),
    "deployment.basic.publication_date": RegistryField(1, DAY, required=True),
    "deployment.basic.data_product_sector": RegistryField(1, allowed=SECTORS, optional=True),
    "deployment.dp_variant.variant_name": RegistryField(
        2, allowed=(*VARIANTS.values(), "Renyi DP", "Custom")
    ),
    "deployment.dp_variant.data_domain": RegistryField(3),
    "deployment.dp_variant.unprotected_quantities": RegistryField(3),
    "deployment.privacy_loss.privacy_unit": RegistryField(2),
    "deployment.privacy_loss.privacy_unit_details": RegistryField(3),
    "deployment.privacy_loss.privacy_parameters.epsilon": RegistryField(2, NUMBER),
    "deployment.privacy_loss.privacy_parameters.delta": RegistryField(2, NUMBER),
    "deployment.privacy_loss.privacy_parameters.rho": RegistryField(2, NUMBER, optional=True),
    "deployment.privacy_loss.privacy_parameters_details": RegistryField(3),
    "deployment.deployment_model.model_name": RegistryField(
        2, allowed=("Local", "Central", "Shuffle", "Federated", "Varies")
    ),
    "deployment.deployment_model.model_name_details": RegistryField(3),
    "deployment.deployment_model.actors": RegistryField(3),
    "deployment.deployment_model.release_type": RegistryField(
        2, allowed=("One release", "Many releases")
    ),
    "deployment.deployment_model.release_type_details": RegistryField(3),
    "deployment.deployment_model.data_source_type": RegistryField(
        2, allowed=("Static", "Dynamic")
    ),
    "deployment.deployment_model.data_source_type_details": RegistryField(3),
    "deployment.deployment_model.access_type": RegistryField(
        2, allowed=("Interactive", "Non-interactive")
    ),
    "deployment.deployment_model.access_type_details": RegistryField(3),
    "deployment.accounting.post_processing": RegistryField(3),
    "deployment.accounting.composition": RegistryField(3),
    "deployment.implementation.preprocessing_and_hyperparameter_tuning": RegistryField(3),
    "deployment.implementation.mechanisms": RegistryField(3),
    "deployment.implementation.justification": RegistryField(3),
    "deployment.administrative.sources": RegistryField(1),
    "deployment.administrative.notes": RegistryField(1),
    "deployment.administrative.registry_authors": RegistryField(1, NAMES, required=True),
}
"""The fields of a record, by their path, in the order of the registry."""


@dataclass(frozen=True, slots=True)
class Stated:
    """The facts that the owner states, because a ledger cannot know them."""

    name: str | None = None
    curators: tuple[str, ...] = ()
    intended_use: str | None = None
    region: str | None = None
    sector: str | None = None
    authors: tuple[str, ...] = ()
    sources: str | None = None
    product: str | None = None


Record = dict[str, Any]

# ------------------------------------------------------------------ record

NOT_STATED = "Not stated: the ledger does not record this, and the owner gave no text for it."


def record_of(facts: PopulationFacts, stated: Stated, publications: int = 0) -> Record:
    """Return the record of a population; ``publications`` is their number.

    Guarantee: every field of `FIELDS` has a value, or another field says why it has none.
    """
    name = stated.name or f"Private statistics about {facts.name}"
    curators = list(stated.curators) or ["Not stated"]
    published = day_of(facts.first or facts.opened.at)
    flat: Record = {
        "url_slug": slug_of(name, curators, published),
        "status": "Draft",
        "tier": 3,
        **_basic(facts, stated, name, curators, published, publications),
        **_privacy(facts),
        **_model(facts, publications),
        **_implementation(facts),
        **_administrative(stated, facts),
    }
    return _nest({path: flat[path] for path in FIELDS if flat.get(path) is not None})


def slug_of(name: str, curators: Iterable[str], published: date) -> str:
    """Return the address of a record, by the registry's own rule.

    Example:
        >>> slug_of("Clinic counts", ["A & B"], date(2026, 2, 1))
        'clinic-counts-a-b-2026'
    """
    parts = (name, "-".join(curators), str(published.year))
    return "_".join(re.sub(r"\W+", "_", each.lower()) for each in parts).replace("_", "-")


def _basic(  # noqa: PLR0913, PLR0917 - the parts of the first tier
    facts: PopulationFacts,
    stated: Stated,
    name: str,
    curators: list[str],
    published: date,
    publications: int,
) -> Record:
    at = "deployment.basic."
    asked = sum(facts.asked_by.values())
    product = stated.product or ("Summary statistics" if publications else "SQL queries")
    return {
        f"{at}name": name,
        f"{at}data_curators": curators,
        f"{at}intended_use": stated.intended_use or NOT_STATED,
        f"{at}data_product_type": product,
        f"{at}data_product_region": stated.region or NOT_STATED,
        f"{at}description": (
            f"Noisy statistics about {facts.name}, answered by Tacit. The ledger has "
            f"{spell(asked, 'charge')} of {spell(len(facts.asked_by), 'principal')}, and "
            f"{spell(publications, 'publication')}."
        ),
        f"{at}publication_date": published.isoformat(),
        f"{at}data_product_sector": stated.sector,
    }


def _privacy(facts: PopulationFacts) -> Record:
    status, unit = facts.status, facts.unit
    parts = loss_parts(status.cap, status.conversion_delta, whole=True)
    spent = loss_parts(status.spent, status.conversion_delta)
    variant, loss = "deployment.dp_variant.", "deployment.privacy_loss."
    rho = parts["rho"]
    no_rho = "" if rho else " Rho does not apply, because the budget is not in zCDP."
    return {
        f"{variant}variant_name": VARIANTS[status.measure],
        f"{variant}data_domain": _lines(
            "All tables with the declared columns, whatever rows they hold. The declarations:",
            facts.declared_facts,
        ),
        f"{variant}unprotected_quantities": _lines("", NOT_PROTECTED),
        f"{loss}privacy_unit": unit.name,
        f"{loss}privacy_unit_details": (
            f"Adjacent datasets differ by {unit}. A {unit.name} is all of its rows, in all "
            "tables of the population and at all times. The tables, the column that "
            "identifies the unit, and the contribution limits are in data_domain."
        ),
        f"{loss}privacy_parameters.epsilon": number_of(parts["epsilon"]),
        f"{loss}privacy_parameters.delta": number_of(parts["delta"]),
        f"{loss}privacy_parameters.rho": None if rho is None else number_of(rho),
        f"{loss}privacy_parameters_details": (
            f"The parameters are those of the cap, {parts['text']}, which all releases "
            f"together never pass. So far {spent['text']} is spent.{no_rho} "
            f"{odds_of(status.cap, PRIOR)}"
        ),
    }


def _model(facts: PopulationFacts, publications: int) -> Record:
    at = "deployment.deployment_model."
    asked = len(facts.asked_by)
    epochs = sorted(facts.book.epochs_ever)
    tables = {each.partition(":")[0] for each in epochs}
    changing = len(epochs) > len(tables)
    quotas = {
        holder or "every analyst without one": facts.loss_text(units)
        for holder, units in sorted(facts.book.quotas.items())
    }
    shared = (
        _lines("Quotas under the cap:", (f"{who}: {most}" for who, most in quotas.items()))
        if quotas
        else "No analyst has a quota, so that the cap is shared in the order of questions."
    )
    interactive = bool(asked) and asked + publications > 0
    return {
        f"{at}model_name": "Central",
        f"{at}model_name_details": (
            "The owner holds the tables. Noise is added by the curator, next to the tables, "
            "before anything leaves."
        ),
        f"{at}actors": (
            f"Owners of the budget ({len(facts.book.owners)}) declare tables and decide. "
            f"Principals charged so far: {asked}. Each is taken as hostile, adaptive and "
            "in collusion with all others. Those who administer the tables, the ledger or the "
            "server are trusted. Readers of what is published are not."
        ),
        f"{at}release_type": "Many releases",
        f"{at}release_type_details": (
            "Questions are answered until the cap is reached. The budget does not reset: "
            "nothing is released about these people after that, unless owners raise the cap by "
            "a recorded act."
        ),
        f"{at}data_source_type": "Dynamic" if changing else "Static",
        f"{at}data_source_type_details": _lines(
            "Owners declare an epoch for the data of each table. Epochs so far:", epochs
        ),
        f"{at}access_type": "Interactive"
        if interactive or not publications
        else "Non-interactive",
        f"{at}access_type_details": (
            f"{shared}\nThat analysts do not collude is not assumed: the cap holds for all "
            "answers together."
        ),
        "deployment.accounting.post_processing": (
            "Quotients, sorting, HAVING, LIMIT, rounding, windows and sums of released values "
            "are computed from released values alone, and cost nothing. Stored answers are "
            "returned again, and serve coarser questions, for nothing."
        ),
        "deployment.accounting.composition": (
            "Sequential composition: the ledger adds up the losses of all charges in one "
            f"measure ({VARIANTS[facts.status.measure]}), each rounded up, and refuses a "
            "charge that passes the cap. This holds if each question is chosen after seeing "
            "the answers before it. Parallel composition is used only inside one question, "
            "through its sensitivity. A charge is durable before data is read and is never "
            "refunded."
        ),
    }


def _implementation(facts: PopulationFacts) -> Record:
    at = "deployment.implementation."
    used = [
        f"{name} ({noise}), in {spell(count, 'charge')}"
        for (name, noise), count in sorted(facts.mechanisms.items())
    ] or ["none so far"]
    estimated = [
        each for each in facts.declared_facts if "estimated" in each or "measured" in each
    ]
    made = software()
    timing = (
        f"{spell(facts.timed, 'charge')} paid for a random delay of the answer, whose law is "
        "exact."
        if facts.timed
        else "No charge paid for a random delay. Where a server has the rule open, the time of "
        "an answer is not protected, and every guarantee says so."
    )
    decided = [
        f"{each.said} (entry {each.seq})"
        for each in facts.decisions  # that of the opening names the owners
        if each.kind in {"cap", "restore"} or each.said.startswith("raise the cap")
    ]
    opened = facts.total(Units(facts.opened.amount, facts.opened.delta))
    decided = [f"the budget was opened with {opened} (entry 1)", *decided]
    return {
        f"{at}preprocessing_and_hyperparameter_tuning": _lines(
            "No bound, key or limit is read from the data without a charge: each is public, a "
            "policy, or was estimated for a charge that is in the ledger. Rows beyond the "
            "limits are left out by a rule that depends on the rows of one unit alone. "
            "Declarations that were estimated or measured:",
            estimated or ["none"],
        ),
        f"{at}mechanisms": _lines(
            "",
            [
                *used,
                (
                    f"Implemented by Tacit {made['tacit']}, whose source has the SHA-256 "
                    f"{made['source_sha256']}."
                ),
                f"Timing: {timing}",
                (
                    "Floating point: noise is drawn as whole numbers by exact samplers, and "
                    "sums are whole numbers on a fixed grid. Mechanisms marked idealised are "
                    "the exception."
                ),
                (
                    "Platform: statements are total and their plans do not depend on "
                    "statistics of the data. Questions of a server run in worker processes "
                    "with limits."
                ),
                (
                    "Access: the server authenticates each caller and has roles for analysts, "
                    "owners, auditors and operators. The tables stay in the owner's engine."
                ),
            ],
        ),
        f"{at}justification": _lines(
            "The owners chose the cap and the declarations, and the ledger records who did. "
            "Decisions about the cap, with their reasons:",
            decided,
        ),
    }


def _administrative(stated: Stated, facts: PopulationFacts) -> Record:
    at = "deployment.administrative."
    missing = (
        [] if stated.sector else ["data_product_sector is left out, because none was given."]
    )
    return {
        f"{at}sources": stated.sources or NOT_STATED,
        f"{at}notes": _lines(
            "",
            [
                "Filled by Tacit from the ledger of the deployment, for an owner to complete.",
                (
                    f"The chain has {spell(facts.book.seq, 'entry', 'entries')}; the hash of "
                    f"the newest is {facts.book.head.hex()}."
                ),
                *missing,
            ],
        ),
        f"{at}registry_authors": list(stated.authors) or ["Tacit, for the owners"],
    }


def number_of(text: str) -> Fraction:
    """Return a number of a record, which is rounded up to 15 decimals."""
    return ceil_to(exact(text), Fraction(1, 10**15))


def _lines(first: str, rest: Iterable[str]) -> str:
    return "\n".join([*([first] if first else []), *(f"- {each}" for each in rest)])


def _nest(flat: Mapping[str, Any]) -> Record:
    record: Record = {}
    for path, value in flat.items():
        *above, last = path.split(".")
        place = record
        for each in above:
            place = place.setdefault(each, {})
        place[last] = value
    return record


# ------------------------------------------------------------------ check


def check_record(record: Mapping[str, Any], *, complete: bool = True) -> None:
    """Raise for a record that the registry would refuse, or that is not complete.

    Raises:
        InvalidValue: A field is unknown, missing, empty, or has a value that is not allowed.
    """
    found = dict(_paths(record))
    for path in found:
        if path not in FIELDS:
            raise InvalidValue(f"The registry has no field {path!r}. Leave it out.")
    for path, told in FIELDS.items():
        if path in found:
            _check_value(path, told, found[path])
        elif told.required or (complete and not told.optional):
            raise InvalidValue(f"The record has no {path!r}, which tier {told.tier} asks for.")


def _check_value(path: str, told: RegistryField, value: object) -> None:
    fits = {
        TEXT: isinstance(value, str) and bool(value.strip()),
        NAMES: isinstance(value, list)
        and bool(value)
        and all(isinstance(each, str) and each.strip() for each in value),
        DAY: isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value) is not None,
        NUMBER: isinstance(value, int | float | Fraction) and not isinstance(value, bool),
    }
    if not fits[told.form] or (told.allowed and str(value) not in told.allowed):
        allowed = f" It is one of: {', '.join(told.allowed)}." if told.allowed else ""
        raise InvalidValue(f"{path!r} of the record needs a {told.form}.{allowed}")


def _paths(record: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in record.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _paths(value, f"{path}.")
        else:
            yield path, value


# ------------------------------------------------------------------ YAML
# The few forms of YAML that a record needs. Text is in double quotes, whose escapes are those
# of JSON, or a block if it has several lines. Numbers have a decimal point and no exponent.


def yaml_of(record: Mapping[str, Any], indent: int = 0) -> str:
    """Return a record as YAML.

    Example:
        >>> print(yaml_of({"tier": 3, "basic": {"name": "A: b", "delta": Fraction(1, 10**6)}}))
        tier: 3
        basic:
          name: "A: b"
          delta: 0.000001
        <BLANKLINE>
    """
    pad, lines = " " * indent, []
    for name, value in record.items():
        if isinstance(value, Mapping):
            lines.append(f"{pad}{name}:\n{yaml_of(value, indent + 2)}".rstrip("\n"))
        elif isinstance(value, list):
            lines.append(f"{pad}{name}:")
            lines += [f"{pad}  - {_quote(each)}" for each in value]
        else:
            lines.append(f"{pad}{name}: {_scalar(value, indent)}")
    return "\n".join(lines) + "\n"


def _scalar(value: object, indent: int) -> str:
    if isinstance(value, Fraction):
        shown = plain(value)
        return shown if "." in shown else f"{shown}.0"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if "\n" in text and _fits_block(text):
        pad = " " * (indent + 2)
        return "|\n" + "\n".join(f"{pad}{line}" for line in text.splitlines())
    return _quote(text)


def _fits_block(text: str) -> bool:
    """Return whether a text can be a block: printable lines that do not begin with a space."""
    lines = text.split("\n")
    return all(line and line.isprintable() and line == line.strip() for line in lines)


def _quote(text: str) -> str:
    """Return a text in double quotes; all but printable ASCII is escaped."""
    shown = "".join(
        each if " " <= each <= "~" and each not in '"\\' else _escape(each) for each in text
    )
    return f'"{shown}"'


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character == "\n":
        return "\\n"
    code = ord(character)
    return f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"
