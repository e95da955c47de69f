"""An answer is a release beside what it left of the budget."""

from dataclasses import replace

from tacit.core.loss import Loss
from tacit.core.privacy_unit import Population, PrivacyUnit
from tacit.core.release import Answer, BudgetSummary, Guarantee, Release, ReleasedColumn

RELEASE = Release(
    (ReleasedColumn("ward", ("east", "west")),),
    Guarantee(Population("patients", PrivacyUnit("person")), Loss.pure(1)),
    receipt=b"\x01\xff",
)
STANDING = BudgetSummary(
    "patients",
    Loss.zcdp("0.05"),
    Loss.zcdp("0.05"),
    Loss.zcdp("0.1"),
    Loss.approximate("1.5", "1e-6"),
    Loss.approximate(2, "1e-6"),
    more=1,
)


def test_an_answer_is_its_release_with_a_standing_and_a_key() -> None:
    answer = Answer.of(RELEASE, STANDING, b"key")
    assert (answer.columns, answer.guarantee) == (RELEASE.columns, RELEASE.guarantee)
    assert answer.receipt == RELEASE.receipt
    assert (answer.standing, answer.release_key) == (STANDING, b"key")
    assert Answer.of(RELEASE, STANDING).release_key == b""
    assert answer != Answer.of(RELEASE, replace(STANDING, more=2), b"key")


def test_both_are_told_below_the_table() -> None:
    answer = Answer.of(RELEASE, STANDING)
    assert answer.notes == (str(RELEASE.guarantee), str(STANDING))
