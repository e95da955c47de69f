"""What a quote of a fit shows, at either door."""

from dataclasses import dataclass

from tacit.core.standing import Standing, rounded


@dataclass(frozen=True, slots=True, repr=False)
class FitPreview:
    """What a fit would cost: free, and the same whatever stands in the tables."""

    standing: Standing
    assumptions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        standing = self.standing
        fits = f"{standing.more} such fits are" if standing.more != 1 else "1 such fit is"
        spent = f"{rounded(standing.spent)} of {rounded(standing.cap)}"
        lines = [
            f"Price: {rounded(standing.cost)}; about {fits} left.",
            f"Spent about {standing.population}: {spent}.",
            *(f"It assumes that {each}." for each in self.assumptions),
        ]
        return "\n".join(lines)
