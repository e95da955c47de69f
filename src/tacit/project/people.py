"""Populations of the project file: who is protected, by how much, and who decides."""

from dataclasses import dataclass

from tacit.core.population import Population
from tacit.core.unit import Neighbours, PrivacyUnit
from tacit.errors import TacitError
from tacit.project.allowance import Allowance, allowance_of, budget_in
from tacit.project.entry import Entry

NEIGHBOURS = {each.value: each for each in Neighbours}


@dataclass(frozen=True, slots=True)
class People:
    """A population, its owners, its budget, and what each analyst may spend of it."""

    population: Population
    owners: tuple[str, ...]
    budget: Allowance
    quotas: tuple[tuple[str, Allowance], ...] = ()


def people_of(entry: Entry) -> People:
    """One population."""
    parts = entry.fields("unit", "neighbours", "owners", "budget", "quotas")
    owners = tuple(owner.text() for owner in entry.part("owners").items())
    if not owners or len(set(owners)) != len(owners):
        raise parts["owners"].fault("A population has one owner or more, each named once.")
    try:
        population = Population(entry.name, PrivacyUnit(entry.part("unit").text(), _of(parts)))
    except TacitError as error:
        raise entry.fault(str(error)) from error
    quotas = parts["quotas"].parts() if "quotas" in parts else ()
    return People(
        population,
        owners,
        budget_in(entry.part("budget")),
        tuple((holder, allowance_of(quota)) for holder, quota in quotas),
    )


def _of(parts: dict[str, Entry]) -> Neighbours:
    if "neighbours" not in parts:
        return Neighbours.ADD_REMOVE
    if parts["neighbours"].value not in NEIGHBOURS:
        raise parts["neighbours"].fault(f"Neighbours are one of: {', '.join(NEIGHBOURS)}.")
    return NEIGHBOURS[parts["neighbours"].text()]
