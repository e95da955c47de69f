"""Hazards are judged by what a ledger shows, also one that was restored."""

from dataclasses import replace
from fractions import Fraction

from tacit.accounting import odds_of
from tacit.certify.certificate import PRIOR
from tacit.certify.hazards import AnchorCheck, Evidence, hazards_of
from tacit.certify.population_facts import PopulationFacts
from tacit.core.loss import Loss, Measure
from tacit.ledger import NO_UNITS, Book, Status, Units
from tacit.ledger.entries import Opened

NAME = "The record of losses is changed, or restored from an old copy"


def test_a_restored_copy_is_not_an_unchanged_record() -> None:
    cap = Units.limit(Loss.pure("1"))
    book = Book("patients")
    book.owners, book.seq = {"olga"}, 9
    book.opened = Opened(
        "person", "add or remove one", "pure", cap.amount, 0, "0", 0, ("olga",), "olga", 1
    )
    facts = PopulationFacts(book, Status("patients", Measure.PURE, Fraction(0), cap, NO_UNITS))
    evidence = Evidence(
        facts, odds_of(Loss.pure("1"), PRIOR), anchored=AnchorCheck(7, 1_000, 7_300_000)
    )
    [kept] = [each for each in hazards_of(evidence) if each.name == NAME]
    assert kept.kept
    assert "anchor, of entry 7, which was 2 hours old. 2 later entries" in kept.evidence
    [never] = [
        each for each in hazards_of(replace(evidence, anchored=None)) if each.name == NAME
    ]
    assert not never.kept
    assert "not compared with an anchor" in never.evidence
    book.lost = {"d7" * 32: 9}
    [found] = [each for each in hazards_of(evidence) if each.name == NAME]
    assert not found.kept
    assert "lacks entry 9" in found.evidence
