"""The words for entries of a ledger: one kind and one sentence for each, wherever it is read.

`tacit ledger show`, the route of the history, reports and proposals all use them. Amounts are
shown with their epsilon first, and rho in brackets. Under a budget in rho, the epsilons of
parts do not add up (`NOT_ADDED`), so that a raise is shown by the caps before and after it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Self, get_args

from tacit.accounting import show_loss, to_approximate_dp
from tacit.core import Loss, Measure, amount_text
from tacit.ledger import entries as acts
from tacit.ledger.budget import Status
from tacit.ledger.chain_acts import Checkpointed, Restored
from tacit.ledger.charge import Units
from tacit.ledger.owner_acts import Attested, KeySet, SignInsEnded, SignInsTrusted, fingerprint
from tacit.numeric import exact, plain
from tacit.render import spell

NOT_ADDED = (
    "The epsilons of parts do not add up: the ledger adds up rho, and the epsilon of a sum is "
    "smaller than the sum of the epsilons."
)
"""The sentence that stands next to several epsilons of one budget in rho."""

KINDS: dict[type, str] = {
    acts.Opened: "opening",
    acts.Charged: "charge",
    acts.AnswerStored: "answer",
    acts.Missed: "late",
    acts.Retried: "retry",
    acts.Failed: "failure",
    acts.Looked: "review",
    acts.StateSealed: "state",
    acts.QuotaSet: "quota",
    acts.DefaultQuotaSet: "quota",
    acts.LeastSet: "least price",
    acts.QuotaRequested: "request",
    acts.QuotaDeclined: "request",
    acts.Joined: "team",
    acts.MemberRemoved: "team",
    acts.FactsDeclared: "declaration",
    acts.Described: "declaration",
    acts.Inherited: "inheritance",
    acts.Frozen: "freeze",
    acts.Thawed: "thaw",
    Checkpointed: "checkpoint",
    Restored: "restore",
    acts.CapLowered: "cap",
    acts.Proposed: "proposal",
    acts.Approved: "approval",
    acts.ProposalWithdrawn: "withdrawal",
    Attested: "signature",
}
"""The kind of each entry in a history. An act that is not listed has its stored name."""

COMPLETING = frozenset({"answer", "state", "checkpoint", "signature"})
"""Kinds that have a line only if they are asked for."""

NAMES = {
    name: KINDS.get(act, name)
    for name, act in acts.ACTS.items()
    if act not in get_args(acts.Decision)  # which are parts of proposals
}
"""The kind in a history, by the stored name of an act."""

SHORT = 8
"""Number of digits by which questions are distinguished."""


def time_text(at: int) -> str:
    """Return a time in milliseconds since 1970 as a day and a time in UTC.

    Example:
        >>> time_text(86_400_000)
        '1970-01-02 00:00:00'
    """
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


@lru_cache(maxsize=1024)
def epsilon_text(loss: Loss, conversion_delta: Fraction) -> str:
    """Return the epsilon of a loss at the delta of a conversion, rounded up."""
    return amount_text(to_approximate_dp(loss, conversion_delta).amount)


@dataclass(frozen=True, slots=True)
class AmountTexts:
    """Amounts of one budget as text, with the epsilon first."""

    measure: Measure
    conversion_delta: Fraction

    @classmethod
    def of(cls, status: Status) -> Self:
        """Return the texts of amounts of the budget that ``status`` is about."""
        return cls(status.measure, status.conversion_delta)

    def loss(self, units: Units) -> Loss:
        """Return units as a loss in the measure of the budget."""
        return units.loss(self.measure)

    def part(self, units: Units) -> str:
        """Return a part of the budget: a cost or a quota."""
        return show_loss(self.loss(units), self.conversion_delta)

    def cap(self, units: Units) -> str:
        """Return a cap with the whole delta, which includes that of the conversion."""
        return show_loss(self.loss(units), self.conversion_delta, whole=True)

    def decision(self, decision: acts.Decision, cap: Units | None) -> str:
        """Return a decision in words; ``cap`` is the cap before it, if that is known."""
        match decision:
            case acts.CapRaised(amount, delta, reason):
                return (
                    f"raise the cap {self._rise(Units(amount, delta), cap)}{_because(reason)}"
                )
            case acts.OwnerAdded():
                return f"add the owner {decision.owner}"
            case acts.OwnerRemoved():
                return f"remove the owner {decision.owner}"
            case KeySet():  # its fingerprint must come from the owner
                return f"set the key of {decision.owner}"
            case SignInsTrusted():
                return f"trust sign-ins at {decision.issuer}"
            case SignInsEnded():
                found = fingerprint(decision.key)
                return f"end the trust in the sign-ins of server {found}"

    def _rise(self, rise: Units, cap: Units | None) -> str:
        if cap is not None:
            return f"from {self.cap(cap)} to {self.cap(cap + rise)}"
        alone = f"by {self.part(rise)}"
        if self.measure is not Measure.ZCDP:
            return alone
        return f"{alone}, which is not the difference of the epsilons before and after"

    def words(  # noqa: C901, PLR0911, PLR0912 - one case a kind
        self, act: acts.Act, cap: Units | None = None
    ) -> str:
        """Return what an entry says, without its kind, its cost and who acted.

        ``cap`` is the cap before the entry, if that is known.
        """
        match act:
            case acts.Opened():
                owned, most = ", ".join(act.owners), self.cap(Units(act.amount, act.delta))
                return f"budget of {most} for each {act.unit}, owned by {owned}"
            case acts.Charged():
                others = len(act.populations) - 1
                joint = f", with {spell(others, 'other population')}" if others else ""
                return f"question {act.plan[:SHORT]}{joint}"
            case acts.AnswerStored() | acts.Missed() | acts.Retried() | acts.Failed():
                return f"of charge {act.charge}"
            case acts.Looked():
                return "late and failed answers reviewed"
            case acts.StateSealed():
                return f"state {act.state[:SHORT]}, version {act.version}"
            case acts.QuotaSet():
                return f"quota of {act.holder}: {self.part(Units(act.amount, act.delta))}"
            case acts.DefaultQuotaSet():
                most = self.part(Units(act.amount, act.delta))
                return f"quota of analysts without one: {most}"
            case acts.LeastSet():
                return f"a question costs at least {plain(exact(act.share))} of the cap"
            case acts.QuotaRequested():
                most, why = self.part(Units(act.amount, act.delta)), _because(act.reason)
                return f"{most} for {act.holder}{why}"
            case acts.QuotaDeclined():
                return f"request {act.request} declined"
            case acts.Joined():
                return f"{act.principal} joined {act.group}"
            case acts.MemberRemoved():
                return f"{act.principal} left {act.group}"
            case acts.FactsDeclared() | acts.Described():
                tables = {fact.partition(":")[0].partition(".")[0] for fact in act.facts}
                return f"{spell(len(act.facts), 'fact')}, {spell(len(tables), 'table')}"
            case acts.Inherited():
                return f"loss spent under {act.source}, on the same tables"
            case acts.Frozen():
                return "all charges stopped"
            case acts.Thawed():
                return "charges allowed again"
            case Checkpointed():
                return f"state {act.state[:SHORT]}"
            case Restored():
                return f"an older copy was restored; entry {act.place} is lost"
            case acts.CapLowered():
                most, why = self.cap(Units(act.amount, act.delta)), _because(act.reason)
                return f"lower the cap to {most}{why}"
            case acts.Proposed():
                return self.decision(act.decision, cap)
            case Attested():
                return f"of entry {act.entry}, by {'a sign-in' if act.sign_in else 'a key'}"
            case acts.Approved() | acts.ProposalWithdrawn():
                return f"of proposal {act.proposal}"


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""
