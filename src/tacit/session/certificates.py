"""Certificates of a session's answers: facts of its ledger, signed by its installation."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from tacit.certify import AUDIT, Certificate, Statement, issue
from tacit.core import Release
from tacit.errors import InvalidValue
from tacit.session.curator import Curator, LedgerFolder, private_folder
from tacit.store import SigningKey

AUDITS = "tacit-audit-*.json"
"""The names of the files that `tacit audit` writes into the folder of a project."""

MOST_AUDITS = 5
LONGEST_AUDIT = 2**22
"""Largest number of bytes of an audit that is read."""


def certificate_for(curator: Curator, receipt: bytes, *, placed: bool = True) -> Certificate:
    """Return the signed certificate of the charge with this receipt; it is free.

    It has the newest entry of the chain unless ``placed`` is false.

    Raises:
        UnknownName: The ledger has no such charge, or the session may not see its population.
    """
    facts = curator.home.ledger.charge_facts(receipt)
    curator.catalog.population(facts.entry.population)
    return certify(curator.home, receipt, placed=placed)


def certify(home: LedgerFolder, receipt: bytes, *, placed: bool = True) -> Certificate:
    """Return the signed certificate of any charge of a ledger; no engine is needed."""
    key = installation_key(home)
    facts = home.ledger.charge_facts(receipt)
    audits = audits_in(home.private_folder, key)
    return issue(facts, key, made=home.ledger.now(), audits=audits, placed=placed)


def certifier_of(curator: Curator) -> Callable[[Release], Certificate]:
    """Return the function that writes the certificate of an answer of this curator."""
    return lambda answer: certificate_for(curator, answer.receipt)


def receipt_of(release: Release | str) -> bytes:
    """Return the receipt of a release, which may be given in hexadecimal digits instead."""
    if isinstance(release, Release):
        return release.receipt
    try:
        return bytes.fromhex(release)
    except ValueError:
        raise InvalidValue(
            f"{release!r} is not a receipt. Give an answer, or its receipt as 64 hexadecimal "
            "digits."
        ) from None


def installation_key(home: LedgerFolder) -> SigningKey:
    """Return the key with which this installation signs documents; create it if needed."""
    if home.private_folder is None:
        raise InvalidValue("This ledger has no folder with a signing key. Open it in a folder.")
    return SigningKey.from_file(private_folder(home.private_folder) / "signing-key")


def audits_in(place: Path | None, key: SigningKey) -> list[dict[str, Any]]:
    """Return summaries of the newest audits that this installation signed, the newest last.

    Files that are changed, or signed by another key, are left out.
    """
    if place is None:
        return []
    files = [each for each in place.parent.glob(AUDITS) if each.is_file()]
    found = [audit_in(each, key) for each in sorted(files)[-MOST_AUDITS:]]
    return [each for each in found if each is not None]


def audit_in(file: Path, key: SigningKey | None = None) -> dict[str, Any] | None:
    """Return the summary of one audit; None if it is not signed, or not by ``key``."""
    if file.stat().st_size > LONGEST_AUDIT:
        return None
    content = file.read_bytes()
    try:
        statement = Statement.of(content.decode())
    except (InvalidValue, UnicodeDecodeError):
        return None
    if statement.kind != AUDIT or (key is not None and statement.key != key.public.hex()):
        return None
    report = statement.content
    return {
        "made": str(report.get("made", "")),
        "tacit": str(report.get("tacit", "")),
        "verdict": str(report.get("verdict", "")),
        "kept": report.get("kept") is True,
        "sha256": sha256(content).hexdigest(),
    }
