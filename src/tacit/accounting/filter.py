"""Adaptive spending: what may be asked next, whatever was answered before."""

from dataclasses import dataclass, replace

from tacit.core.loss import Loss
from tacit.errors import BudgetExceeded


@dataclass(frozen=True, slots=True)
class Filter:
    """A cap under one measure, fixed beforehand, and what was spent of it.

    Guarantee: however each loss is chosen after the answers so far, and whenever the analyst
    stops, all that was admitted together satisfies the cap. This holds because sums of one
    measure are compared; the least over several accountants would not do.
    Reference: Rogers, Roth, Ullman, Vadhan 2016 (filters); Feldman, Zrnic 2021, theorem 3.3
    (Rényi filters at a fixed order); Whitehouse, Ramdas, Rogers, Wu 2023 (zCDP with delta).

    Example:
        >>> week = Filter(Loss.pure(1)).admit(Loss.pure("0.4")).admit(Loss.pure("0.6"))
        >>> week.admits(Loss.pure("0.000000000001"))
        False
    """

    cap: Loss
    spent: Loss

    def __init__(self, cap: Loss, spent: Loss | None = None) -> None:
        object.__setattr__(self, "cap", cap)
        object.__setattr__(self, "spent", spent or Loss(cap.measure, cap.amount * 0))

    def admits(self, loss: Loss) -> bool:
        """Whether ``loss`` still fits."""
        return self.spent + loss <= self.cap

    def admit(self, loss: Loss) -> "Filter":
        """The filter after spending ``loss``; refused where it does not fit."""
        if not self.admits(loss):
            raise BudgetExceeded(
                f"{loss} does not fit: {self.spent} of {self.cap} is spent. "
                "Ask for less, or ask the owner to raise the cap."
            )
        return replace(self, spent=self.spent + loss)
