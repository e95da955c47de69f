"""What may be published: a loss, for whom, and under which assumptions."""

from dataclasses import dataclass

from tacit.core.event import Numerics
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.population import Population

_NAMES = {
    Measure.PURE: "differential privacy",
    Measure.APPROXIMATE: "approximate differential privacy",
    Measure.ZCDP: "zero-concentrated differential privacy",
}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A sentence that can be published, as a value.

    Example:
        >>> from tacit.core.unit import PrivacyUnit
        >>> patients = Population("patients", PrivacyUnit("person"))
        >>> print(Guarantee(patients, Loss.pure(1), ("visits.patient names the person",)))
        By itself, this release about patients satisfies differential privacy with ε = 1
        for adding or removing one person, with all their rows.
        It assumes that visits.patient names the person.
    """

    population: Population
    loss: Loss
    assumptions: tuple[str, ...] = ()
    numerics: Numerics = Numerics.EXACT

    def __str__(self) -> str:
        claim = (
            f"By itself, this release about {self.population.name} satisfies "
            f"{_NAMES[self.loss.measure]} with {self.loss}\nfor {self.population.unit}."
        )
        assumed = self.assumptions
        if self.numerics is Numerics.IDEALISED:
            assumed = (
                *assumed,
                "noise computed with rounded real numbers has the law of exact ones",
            )
        return f"{claim}\nIt assumes that {'; that '.join(assumed)}." if assumed else claim
