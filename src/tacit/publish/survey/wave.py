"""A wave is an entry in the ledger, made before the first report is taken."""

from fractions import Fraction

from tacit.core.budget import Budget
from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.errors import BudgetExceeded, InvalidValue
from tacit.ledger.charge import Charge
from tacit.ledger.declared import AnyDeclaration, Declaration
from tacit.ledger.ledger import Ledger
from tacit.ledger.question import Question, Target
from tacit.local.ratio import epsilon_of, event_of
from tacit.numeric.exact import plain
from tacit.publish.survey.survey import Question as Asked
from tacit.publish.survey.survey import Survey, fingerprint_of

POLICY = "survey 1"
"""How waves are charged; another way gets another name."""

LEASE_MS = 5_000


def open_wave(survey: Survey, ledger: Ledger, *, by: str) -> None:
    """Charge what one respondent of this wave loses, question by question, once.

    A question that browsers remember is the same in every wave: it is charged in the first,
    since its later reports are copies. All others are charged in every wave, and again where
    anything that respondents read was changed.

    Guarantee: when this returns, the charges are durable and within the budget. Where they do
    not fit into it nothing is charged, but for what others charge at the same moment.
    """
    people = survey.population
    ledger = ledger.under(AnyDeclaration())  # no table is read, so none has a part in the price
    if people.name not in ledger.populations():
        with ledger.governing(by=by) as acts:
            acts.open_budget(people, Budget(Loss.pure(survey.epsilon)), (by,))
            acts.declare({people.name: Declaration()})
    _check_promise(survey, ledger.status(people.name).total)
    asked = [_charged(survey, question, by) for question in survey.questions]
    new = [each for each in asked if not _paid(ledger, each)]
    events = Composed(tuple(each.targets[0].event for each in new))
    if new and not ledger.status(people.name).questions_like(events):
        loss = float(sum((each.loss.amount for each in new), Fraction(0)))
        raise BudgetExceeded(
            f"The wave {survey.wave!r} loses ε = {loss:.3g}, which does not fit into what is "
            f"left of the budget of {people.name!r}: {ledger.status(people.name).left}. Ask "
            "fewer questions, at a smaller epsilon, or let browsers remember."
        )
    for each in new:
        charge = ledger.reserve(each, lease_ms=LEASE_MS)
        if isinstance(charge, Charge):
            ledger.keep(charge, b"A wave of reports, each made by a respondent's own browser.")


def _check_promise(survey: Survey, total: Loss) -> None:
    """Refuse a form that promises less than what the ledger allows to be lost."""
    if total.amount > survey.epsilon:
        raise InvalidValue(
            f"The form promises ε = {plain(survey.epsilon)} for all waves, and the budget of "
            f"{survey.population.name!r} allows {total}. Write that as epsilon."
        )


def _paid(ledger: Ledger, question: Question) -> bool:
    """Whether it is charged, be it by somebody else or by one who died before it was kept."""
    (people,) = question.populations
    return (
        ledger.was_charged(question.principal, people, question.release_key)
        or ledger.released(question) is not None
    )


def _charged(survey: Survey, question: Asked, by: str) -> Question:
    """The same in every wave for what is remembered, and else a new one for each form.

    Browsers draw anew for a form that is not the same to the letter, so it is charged anew.
    """
    fingerprint = fingerprint_of(question)
    return Question(
        targets=(Target(survey.population, event_of(question.ratio)),),
        principal=by,
        request=f"survey {survey.fingerprint} {fingerprint}",
        plan=bytes.fromhex(fingerprint),
        loss=Loss.pure(epsilon_of(question.ratio)),
        policy=POLICY,
        epochs=() if question.remember else (survey.fingerprint,),
    )
