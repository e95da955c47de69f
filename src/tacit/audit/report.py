"""One thing that was looked at, what came of it, and whether a promise was kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import InvalidValue
from tacit.store import SigningKey, is_signed


@dataclass(frozen=True, slots=True)
class Check:
    """A promise that was put to the test, in words and in figures.

    Example:
        >>> print(Check("neighbours", "200 pairs, none told apart", True, {"pairs": 200}))
        kept: neighbours: 200 pairs, none told apart
    """

    name: str
    found: str
    kept: bool
    figures: Mapping[str, float | int]

    def to_dict(self) -> dict[str, object]:
        """For machines."""
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
    """What the checks were about: a question, or the build itself."""

    subject: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    """What was not looked at, and why."""


# ------------------------------------------------------------------ report
# What an audit found, when, and of what: for owners, and for whoever they answer to.

NEVER = (
    "An audit refutes, and never proves. A bound from draws is wrong once in 1,000 times: "
    "where one is broken, audit again."
)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The checks of one audit, with the time, the version and the project that it is of."""

    made: str
    version: str
    project: str
    digest: str
    """The SHA-256 of the project file, which says what was declared."""
    parts: tuple[AuditedItem, ...]

    @property
    def broken(self) -> tuple[Check, ...]:
        """The promises that were not kept."""
        return tuple(check for part in self.parts for check in part.checks if not check.kept)

    @property
    def verdict(self) -> str:
        """In a sentence."""
        checks = sum(len(part.checks) for part in self.parts)
        told = f"{checks} check{'s' if checks > 1 else ''}"
        if self.broken:
            return f"A promise was broken, in {len(self.broken)} of {told}."
        return f"Every promise was kept, in {told}."

    def to_dict(self) -> dict[str, object]:
        """For machines."""
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


# ------------------------------------------------------------------ signed
# A report with the signature of its project, as one file that anybody can check offline.

VERSION = 1
FIELDS = ("tacit audit", "report", "key", "signature")


@dataclass(frozen=True, slots=True)
class SignedReport:
    """What a report says, and by whose key it was signed.

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
        """The text of the file."""
        return _text(report, key.public.hex(), key.sign(_signed(report)).hex())

    @classmethod
    def of(cls, text: str) -> "SignedReport":
        """What was signed; refused where anything was changed."""
        try:
            told = json.loads(text)
            report, key, signature = (told[field] for field in FIELDS[1:])
            parts = bytes.fromhex(signature), bytes.fromhex(key)
            # written in one way alone, so that no byte is without a meaning
            unchanged = _text(report, parts[1].hex(), parts[0].hex()) == text
            signed = unchanged and is_signed(_signed(report), *parts)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidValue("This is no signed report of `tacit audit`.") from error
        if not signed:
            raise InvalidValue(
                "The signature is not that of this report: it was changed, or not signed by "
                "the key that it names. Ask for the file as it was written."
            )
        return cls(report, key)


def _signed(report: dict[str, Any]) -> bytes:
    """What the signature is under, which nothing else that is signed begins with."""
    return f"tacit audit {VERSION}\n{json.dumps(report, ensure_ascii=False)}".encode()


def _text(report: dict[str, Any], key: str, signature: str) -> str:
    told = dict(zip(FIELDS, (VERSION, report, key, signature), strict=True))
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"
