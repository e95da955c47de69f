"""Certificates: what was released, what it may cost a person, and how to check that offline.

A certificate is written from the ledger alone: from the entry of a charge, the declarations
that the entry names, and the stored answer. It holds no value of the answer, only the hash of
the stored bytes. It does not name the analyst, so that it can be published with the release.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from tacit import core
from tacit.accounting import (
    cost_of,
    gaussian_mu,
    leaves,
    odds_of,
    odds_of_event,
    show_loss,
    to_approximate_dp,
)
from tacit.certify.certificate_page import page_of
from tacit.certify.fact_words import fact_texts
from tacit.certify.signed_files import CERTIFICATE, SignedPage, Statement
from tacit.certify.software import software
from tacit.errors import InvalidValue
from tacit.ledger import ChargeFacts, Status, Units
from tacit.ledger.entries import follow
from tacit.numeric import plain
from tacit.store import SigningKey

PRIOR = Fraction(1, 10)
"""The belief of an attacker before the release, for which the odds are given."""

MEASURES = {
    core.Measure.PURE: "pure differential privacy",
    core.Measure.APPROXIMATE: "approximate differential privacy",
    core.Measure.ZCDP: "zero-concentrated differential privacy",
}

NOT_PROTECTED = (
    (
        "Facts about the population as a whole. They can be learned whether or not a person "
        "took part, and they may be true of that person."
    ),
    "The declarations: names of tables and columns, bounds, public keys, limits and epochs.",
    "That a question was asked, what it cost and on which day it was charged.",
    "What is released about the same people without this ledger.",
    "The tables themselves, which the people who administer them can read.",
)
"""The facts that the guarantee of no release protects, in sentences."""

HOW = (
    "Run `tacit verify FILE --key KEY` with the public key of the installation, which you got "
    "from its owner and not from this file. It needs no network. It checks the signature, and "
    "that the hash of the charge follows from its text and from the hash before it. The owner "
    "can show the same entry in the ledger (`tacit ledger verify`)."
)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A signed certificate: its ``text`` is JSON, and its ``page`` is HTML that prints well.

    Both can be verified offline (`tacit verify`).
    """

    text: str
    page: str

    @property
    def content(self) -> dict[str, Any]:
        """The content of the certificate as plain values, after its signature was checked."""
        return verify_certificate(self.text).content

    def save(self, file: str | Path) -> Path:
        """Write the certificate to ``file``: the page if its name ends in .html, else JSON."""
        place = Path(file)
        html = place.suffix.lower() in {".html", ".htm"}
        place.write_text(self.page if html else self.text, encoding="utf-8", newline="\n")
        return place

    def __repr__(self) -> str:
        content = self.content
        loss = content["loss"]["this"]["text"]
        return f"<certificate of {content['release']['receipt'][:16]}…: {loss}>"

    def _repr_html_(self) -> str:
        return self.page


def verify_certificate(text: str) -> Statement:
    """Return the statement in a certificate's text, after its signature and chain were checked.

    Raises:
        InvalidValue: The file was changed, or its charge does not follow from the entry before.
    """
    statement = Statement.of(text)
    if statement.kind != CERTIFICATE:
        raise InvalidValue(
            f"This file is a {statement.kind.removeprefix('tacit ')}, and not a certificate. "
            "Name the file of a certificate."
        )
    try:
        chain, release = statement.content["chain"], statement.content["release"]
        previous = bytes.fromhex(chain["previous"])
        found = follow(previous, chain["population"], chain["entry"], chain["text"])
        follows = found.hash.hex() == chain["hash"] == release["receipt"]
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise InvalidValue(
            "This certificate has no entry of a chain. A newer version of Tacit may have "
            "written it: install the newest version."
        ) from error
    if not follows:
        raise InvalidValue(
            "The hash of the charge does not follow from its text and the hash before it, so "
            "that this certificate is about no charge of a ledger. Ask for the original file."
        )
    return statement


def certificate_of(
    facts: ChargeFacts,
    *,
    made: int,
    audits: Sequence[Mapping[str, Any]] = (),
    placed: bool = True,
) -> dict[str, Any]:
    """Return the content of a certificate; ``made`` is the time in milliseconds since 1970.

    ``audits`` are summaries of signed audits of the installation. A certificate that is
    ``placed`` has the newest entry of the chain, to which its sums belong. Analysts of a server
    do not get it: the number of the newest entry shows when somebody's answer was stored.
    """
    status, act = facts.status, facts.charged
    loss = Units(act.amount, act.delta).loss(status.measure)
    release = _decode_answer(facts)
    population = _population_of(facts, release)
    return {
        "made": time_text(made),
        "software": dict(software()),
        "population": population,
        "release": {
            "receipt": facts.entry.hash.hex(),
            "charged": time_text(act.at),
            "outcome": _outcome(facts),
            "sha256": facts.digest,
            "populations": list(act.populations),
            **_contents(release),
        },
        "loss": {
            "measure": MEASURES[status.measure],
            "this": loss_parts(loss, status.conversion_delta)
            | {"gdp_mu": _mu_text(facts.event)},
            "so_far": loss_parts(status.spent, status.conversion_delta),
            "at_most": loss_parts(status.cap, status.conversion_delta, whole=True),
        },
        "odds": {
            "this": odds_of_event(facts.event, loss, PRIOR).to_dict(),
            "at_most": odds_of(status.cap, PRIOR).to_dict(),
            "in_words": str(odds_of(status.cap, PRIOR)),
        },
        "events": event_parts(facts.event),
        "declarations": {"number": act.declaration, "facts": fact_texts(facts.facts)},
        "coverage": [] if release is None else list(release.coverage),
        "guarantee": None if release is None else str(release.guarantee),
        "assumptions": _assumptions(status, release),
        "not_protected": list(NOT_PROTECTED),
        "incidents": {
            "late": status.missed,
            "failed": status.failed,
            "run_twice": status.retried,
        },
        "audits": [dict(each) for each in audits],
        "chain": {
            "population": facts.entry.population,
            "entry": facts.entry.seq,
            "text": facts.entry.body,
            "previous": facts.previous.hex(),
            "hash": facts.entry.hash.hex(),
            "newest_entry": facts.head[0] if placed else None,
            "newest_hash": facts.head[1].hex() if placed else None,
            "in_words": _place_text(facts, placed=placed),
        },
        "how_to_verify": HOW,
    }


def issue(
    facts: ChargeFacts,
    key: SigningKey,
    *,
    made: int,
    audits: Sequence[Mapping[str, Any]] = (),
    placed: bool = True,
) -> Certificate:
    """Return the signed certificate of a charge (`certificate_of`)."""
    content = certificate_of(facts, made=made, audits=audits, placed=placed)
    page = SignedPage.sign(page_of(content, key.public.hex()), key)
    return Certificate(Statement.sign(CERTIFICATE, content, key), page)


# ------------------------------------------------------------------ parts


def time_text(milliseconds: int) -> str:
    """Return a time of the ledger as text in UTC.

    Example:
        >>> time_text(1_800_000_000_000)
        '2027-01-15 08:00:00 UTC'
    """
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def loss_parts(
    loss: core.Loss, conversion_delta: Fraction, *, whole: bool = False
) -> dict[str, Any]:
    """Return a loss as text and as numbers: its epsilon and delta, and its rho if it has one.

    The text of a cap has the ``whole`` delta, which includes that of the conversion.

    Example:
        >>> loss_parts(core.Loss.pure(1), Fraction(0))
        {'text': 'epsilon 1', 'epsilon': '1', 'delta': '0', 'rho': None}
    """
    total = loss
    if loss.measure is core.Measure.ZCDP and conversion_delta:
        total = to_approximate_dp(loss, conversion_delta)
    rho = plain(loss.amount) if loss.measure is core.Measure.ZCDP else None
    return {
        "text": show_loss(loss, conversion_delta, whole=whole),
        "epsilon": plain(total.amount),
        "delta": plain(total.delta),
        "rho": rho,
    }


EVENT_NAMES: dict[type[core.Event], str] = {
    core.LaplaceNoise: "discrete Laplace noise",
    core.GaussianNoise: "discrete Gaussian noise",
    core.RealGaussianNoise: "Gaussian noise on real numbers",
    core.TruncatedLaplaceNoise: "truncated discrete Laplace noise",
    core.BallNoise: "L2 ball noise",
    core.CubeNoise: "L-infinity noise",
    core.DelayNoise: "a random delay of the answer",
    core.ExponentialSelection: "selection by the exponential mechanism",
    core.PermuteAndFlipSelection: "selection by permute and flip",
    core.RandomisedResponseEvent: "randomised response",
    core.KeySelection: "selection of keys with enough people",
    core.AboveThreshold: "the sparse vector technique",
    core.LomaxNoise: "Lomax noise scaled to a smooth sensitivity",
    core.StudentNoise: "Student's t noise scaled to a smooth sensitivity",
    core.SmoothLaplaceNoise: "Laplace noise scaled to a smooth sensitivity",
    core.ProposeTestReleaseEvent: "propose-test-release",
    core.Sampled: "a random sample",
    core.Nothing: "nothing that depends on the data",
}
"""The name of each mechanism in words."""


def event_name(leaf: core.Event) -> str:
    """Return the name of the mechanism of a leaf.

    Example:
        >>> event_name(core.LaplaceNoiseV2(Fraction(1), Fraction(10)))
        'discrete Laplace noise'
    """
    for kind in type(leaf).__mro__:
        if kind in EVENT_NAMES:
            return EVENT_NAMES[kind]
    return type(leaf).__name__


def event_parts(event: core.Event) -> list[dict[str, Any]]:
    """Return the mechanisms of an event: name, parameters, and whether the noise is exact.

    Example:
        >>> [found] = event_parts(
        ...     core.Repeated(core.LaplaceNoise(Fraction(1), Fraction(10)), 3)
        ... )
        >>> found["mechanism"], found["times"], found["parameters"], found["noise"]
        ('discrete Laplace noise', 3, {'sensitivity': '1', 'scale': '10'}, 'exact')
    """
    found = []
    for leaf, times in leaves(event):
        parameters = {
            name: plain(value) if isinstance(value, Fraction) else value
            for name in leaf.__dataclass_fields__
            if isinstance(value := getattr(leaf, name), Fraction | int)
        }
        parts = {
            "mechanism": event_name(leaf),
            "times": times,
            "parameters": parameters,
            "noise": leaf.numerics.value,
        }
        if not isinstance(leaf, core.Nothing | core.SmoothLaplaceNoise):
            cost = cost_of(leaf)
            parts["rho_each"] = plain(cost.rho)
            parts["epsilon_each"] = None if cost.epsilon is None else plain(cost.epsilon)
        found.append(parts)
    return found


def _mu_text(event: core.Event) -> str | None:
    mu = gaussian_mu(event)
    return None if mu is None else plain(mu)


def _decode_answer(facts: ChargeFacts) -> core.Release | None:
    """Return the stored release; None for an answer of another form, such as a stream's."""
    if facts.answer is None:
        return None
    try:
        return core.decode_release(facts.answer)
    except InvalidValue:
        return None


def _population_of(facts: ChargeFacts, release: core.Release | None) -> dict[str, Any]:
    told = {"name": facts.entry.population}
    if release is not None:
        unit = release.guarantee.population.unit
        told |= {
            "unit": unit.name,
            "neighbours": unit.neighbours.value,
            "in_words": f"{unit}",
        }
    return told


def _contents(release: core.Release | None) -> dict[str, Any]:
    """Return the names of a release's columns and its number of rows, and no value."""
    if release is None:
        return {}
    columns = [
        {
            "name": column.name,
            "noisy": column.confidence is not None,
            "confidence": None if column.confidence is None else plain(column.confidence),
        }
        for column in release.columns
    ]
    rows = len(release.columns[0].values) if release.columns else 0
    return {"columns": columns, "rows": rows}


def _outcome(facts: ChargeFacts) -> str:
    if facts.answer is not None:
        return "answered"
    return "charged, and no answer is stored"


def _place_text(facts: ChargeFacts, *, placed: bool) -> str:
    """Return which entries of the chain a certificate speaks about."""
    sums = "The sums of all releases, the cap, the incidents and the assumptions are those "
    sums += (
        f"after entry {facts.head[0]}, the newest one when the certificate was made."
        if placed
        else "of the time when the certificate was made."
    )
    declaration = facts.charged.declaration
    declared = f", and was priced by the declaration in entry {declaration}"
    name = facts.entry.population
    others = " and ".join(each for each in facts.charged.populations if each != name)
    joint = (
        f"It is about {others} too: their chains have entries of their own for this charge, "
        "each with its loss and its certificate. "
    )
    return (
        f"This release was charged in entry {facts.entry.seq} of the chain of "
        f"{name}{declared if declaration else ''}. {joint if others else ''}{sums}"
    )


def _assumptions(status: Status, release: core.Release | None) -> list[str]:
    own = () if release is None else release.guarantee.assumptions
    return list(dict.fromkeys((*own, *status.record.assumptions)))


def digest_of(release: core.Release) -> str:
    """Return the SHA-256 of a release as it is stored, to compare with a certificate.

    A release that was sorted, divided or rounded after it was read from the ledger has another.
    """
    return sha256(core.encode_release(release)).hexdigest()
