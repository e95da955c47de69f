"""What whoever asked receives: a release, and where the budget stands after it."""

from dataclasses import dataclass

from tacit.core.release import Release
from tacit.core.standing import Standing


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Release):
    """A release as the asker sees it; what may be published of it is the release.

    The ledger keeps it under ``release_key``.
    """

    standing: Standing
    release_key: bytes = b""

    @classmethod
    def of(cls, release: Release, standing: Standing, release_key: bytes = b"") -> "Answer":
        """``release`` beside what it left of the budget."""
        columns, guarantee, receipt = release.columns, release.guarantee, release.receipt
        return cls(columns, guarantee, receipt, standing, release_key)

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands below the table wherever it is shown."""
        return (str(self.guarantee), str(self.standing))
