"""The report of an audit: checks, their figures, and a signature that can be verified.

`Check` is the result of one test, `AuditReport` holds all results of an audit, and
`SignedReport` is the file format that anybody can verify offline.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import InvalidValue
from tacit.store import SigningKey, is_signed


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one test of the guarantee, in words and in figures.

    Example:
        >>> print(Check("neighbours", "200 pairs, none distinguished", True, {"pairs": 200}))
        kept: neighbours: 200 pairs, none distinguished
    """

    name: str
    found: str
    kept: bool
    figures: Mapping[str, float | int]

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "check": self.name,
            "kept": self.kept,
            "found": self.found,
            "figures": dict(self.figures),
        }

    def __str__(self) -> str:
        return f"{'kept' if self.kept else 'BROKEN'}: {self.name}: {self.found}"


@dataclass(frozen=True, slots=True)
class AuditedItem:
    """A question, or the build itself, with the results of its checks."""

    subject: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    """Remarks on checks that were not possible, and why."""


NEVER = (
    "An audit can find a violation, but it cannot prove that there is none. A bound from "
    "draws is wrong once in 1,000 times: if one is broken, audit again."
)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The results of one audit, with its time, the version of Tacit and the project."""

    made: str
    version: str
    project: str
    digest: str
    """The SHA-256 of the project file, which holds the declarations."""
    parts: tuple[AuditedItem, ...]

    @property
    def broken(self) -> tuple[Check, ...]:
        """The checks that found a violation."""
        return tuple(check for part in self.parts for check in part.checks if not check.kept)

    @property
    def verdict(self) -> str:
        """The result of all checks, in one sentence."""
        checks = sum(len(part.checks) for part in self.parts)
        counted = f"{checks} check{'s' if checks > 1 else ''}"
        if self.broken:
            return f"A promise was broken, in {len(self.broken)} of {counted}."
        return f"Every promise was kept, in {counted}."

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "made": self.made,
            "tacit": self.version,
            "project": self.project,
            "project_sha256": self.digest,
            "verdict": self.verdict,
            "kept": not self.broken,
            "parts": [
                {
                    "subject": part.subject,
                    "checks": [check.to_dict() for check in part.checks],
                    "notes": list(part.notes),
                }
                for part in self.parts
            ],
            "remark": NEVER,
        }

    def __str__(self) -> str:
        lines = [f"Audit of {self.project} by Tacit {self.version}, {self.made}"]
        for part in self.parts:
            notes = [f"note: {note}" for note in part.notes]
            lines += ["", part.subject, *(f"  {line}" for line in (*part.checks, *notes))]
        return "\n".join([*lines, "", self.verdict, NEVER])


# ------------------------------------------------------------------ signed report

VERSION = 1
FIELDS = ("tacit audit", "report", "key", "signature")


@dataclass(frozen=True, slots=True)
class SignedReport:
    """A report, and the public key with which it was signed.

    Guarantee: a text with one byte changed, added or left out is refused.

    Example:
        >>> text = SignedReport.sign({"kept": True}, SigningKey(bytes(32)))
        >>> SignedReport.of(text).report
        {'kept': True}
    """

    report: dict[str, Any]
    key: str

    @staticmethod
    def sign(report: dict[str, Any], key: SigningKey) -> str:
        """Return the text of the signed file."""
        return _text(report, key.public.hex(), key.sign(_message(report)).hex())

    @classmethod
    def of(cls, text: str) -> "SignedReport":
        """Return the signed report, and raise if its text was changed."""
        try:
            stored = json.loads(text)
            report, key, signature = (stored[field] for field in FIELDS[1:])
            parts = bytes.fromhex(signature), bytes.fromhex(key)
            # the text has one canonical form, so that a change of any byte is found
            unchanged = _text(report, parts[1].hex(), parts[0].hex()) == text
            signed = unchanged and is_signed(_message(report), *parts)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidValue(
                "This is not a signed report of `tacit audit`. Name the file that it wrote."
            ) from error
        if not signed:
            raise InvalidValue(
                "The signature does not match this report: the report was changed, or it was "
                "not signed with the key that it names. Ask for the original file."
            )
        return cls(report, key)


def _message(report: dict[str, Any]) -> bytes:
    """Return the signed bytes, whose prefix no other kind of signed message has."""
    return f"tacit audit {VERSION}\n{json.dumps(report, ensure_ascii=False)}".encode()


def _text(report: dict[str, Any], key: str, signature: str) -> str:
    content = dict(zip(FIELDS, (VERSION, report, key, signature), strict=True))
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
