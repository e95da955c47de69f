"""The status of a budget as people and programs read it: printed, in a notebook, and as JSON.

Whatever shows a status also says whether charges are stopped, and what an owner does about it.
"""

from collections.abc import Mapping
from fractions import Fraction
from html import escape
from typing import Any, Protocol

from tacit.accounting import show_loss
from tacit.core import Loss, encode_loss, spent_text
from tacit.numeric import plain
from tacit.render import safe, spell


class Figures(Protocol):
    """The parts of a status that are shown."""

    @property
    def population(self) -> str:
        """The population whose budget it is."""
        ...

    @property
    def conversion_delta(self) -> Fraction:
        """The delta at which a rho is converted."""
        ...

    @property
    def cap(self) -> Loss:
        """The largest total loss."""
        ...

    @property
    def spent(self) -> Loss:
        """The sum of all charges."""
        ...

    @property
    def left(self) -> Loss:
        """The loss that still fits."""
        ...

    @property
    def total(self) -> Loss:
        """The (epsilon, delta) of the cap."""
        ...

    @property
    def total_so_far(self) -> Loss:
        """The (epsilon, delta) of the sum of all charges."""
        ...

    @property
    def least(self) -> Loss:
        """The least price of a question."""
        ...

    @property
    def quotas(self) -> tuple[Loss, ...]:
        """The rest of each quota of the analyst."""
        ...

    @property
    def missed(self) -> int:
        """Number of late answers."""
        ...

    @property
    def failed(self) -> int:
        """Number of failed answers."""
        ...

    @property
    def retried(self) -> int:
        """Number of answers that were run twice."""
        ...

    @property
    def locked(self) -> bool:
        """Whether an owner must review incidents first."""
        ...

    @property
    def frozen(self) -> bool:
        """Whether an owner has stopped all charges."""
        ...

    @property
    def declaration(self) -> int:
        """Number of the current declaration."""
        ...


class ReadableStatus:
    """The text of a status, for `print` and for notebooks."""

    __slots__ = ()

    def __str__(self: Figures) -> str:
        return "\n  ".join(status_lines(self))

    def _repr_html_(self: Figures) -> str:
        first, *others = (escape(line) for line in status_lines(self))
        return "<br>".join((f"<b>{first}</b>", *others))


def status_lines(status: Figures) -> list[str]:
    """Return a status in words: what is spent and left, and whether charges are stopped."""
    spent = spent_text(status.spent, status.cap, status.total_so_far, status.total)
    lines = [f"{safe(status.population)}: spent {spent}"]
    lines.append(f"left for one question: {_loss_text(status, status.left)}")
    lines += [f"left of a quota of yours: {_loss_text(status, each)}" for each in status.quotas]
    return lines + incident_lines(status)


def incident_lines(status: Figures) -> list[str]:
    """Return what was late or failed, and why nothing is charged, if it is so."""
    lines = []
    people = safe(status.population)
    if status.missed or status.failed or status.retried or status.locked:
        late = (
            f"{spell(status.missed, 'late answer')}, {status.failed} failed, "
            f"{status.retried} run twice"
        )
        if status.locked:
            late += (
                "; nothing is charged until an owner has reviewed this: run "
                f"`tacit ledger look {people}`"
            )
        lines.append(late)
    if status.frozen:
        lines.append(
            f"an owner has stopped all charges; to allow them again, run `tacit thaw {people}`"
        )
    return lines


def stopped_text(status: Figures) -> str | None:
    """Return why nothing is charged about a population now; None if it is charged.

    Everybody who may ask about the population may read it, as a charge that is refused says it.
    """
    people = safe(status.population)
    if status.frozen:
        return (
            f"An owner has stopped all charges about {people}. Until an owner allows them "
            f"again (`tacit thaw {people}`), a new question is refused, and not charged."
        )
    if status.locked:
        return (
            f"Answers about {people} were late or failed. Until an owner has reviewed this "
            f"(`tacit ledger look {people}`), a new question is refused, and not charged."
        )
    return None


def status_fields(status: Figures) -> dict[str, Any]:
    """Return a status as plain values for JSON."""
    return {
        "population": status.population,
        "conversion_delta": plain(status.conversion_delta),
        **holder_fields(status),
        "total": encode_loss(status.total),
        "total_so_far": encode_loss(status.total_so_far),
        "missed": status.missed,
        "locked": status.locked,
        "failed": status.failed,
        "retried": status.retried,
        "least": encode_loss(status.least),
        "frozen": status.frozen,
        "declaration": status.declaration,
        "quotas_left": [encode_loss(each) for each in status.quotas],
    }


def holder_fields(status: Figures) -> Mapping[str, dict[str, str]]:
    """Return the cap, the spent and the remaining loss as plain values for JSON."""
    amounts = {"cap": status.cap, "spent": status.spent, "left": status.left}
    return {name: encode_loss(loss) for name, loss in amounts.items()}


def _loss_text(status: Figures, loss: Loss) -> str:
    return show_loss(loss, status.conversion_delta, down=True)
