"""What an audit found, when, and of what: for owners, and for whoever they answer to."""

from dataclasses import dataclass

from tacit.audit.check import Check, Part

NEVER = (
    "An audit refutes, and never proves. A bound from draws is wrong once in 1,000 times: "
    "where one is broken, audit again."
)


@dataclass(frozen=True, slots=True)
class Report:
    """The checks of one audit, with the time, the version and the project that it is of."""

    made: str
    version: str
    project: str
    digest: str
    """The SHA-256 of the project file, which says what was declared."""
    parts: tuple[Part, ...]

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
