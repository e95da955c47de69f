"""A report with the signature of its project, as one file that anybody can check offline."""

import json
from dataclasses import dataclass
from typing import Any

from tacit.errors import InvalidValue
from tacit.store.signing_key import SigningKey, is_signed

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
