"""The contract of a mechanism, as one call: for a plug-in, and for whoever writes one.

A mechanism of a plug-in is found by the entry-point group ``tacit.mechanisms``, whose value is
a `MechanismExample`, and is held to this. It is never chosen for a question, by a session or a
server: that takes a proof which others have read, and a commit to Tacit itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np

from tacit.accounting.curve import delta_at
from tacit.accounting.price import loss_of
from tacit.core.event import Event, Nothing
from tacit.core.measure import Measure
from tacit.core.stored_event import decode, encode
from tacit.errors import InvalidValue
from tacit.extras import MECHANISMS, plugins
from tacit.testing.mechanism import Draws, MechanismExample

ODD = 1e-6
"""The p-value below which draws are not of a law."""

EPSILONS = tuple(Fraction(tenths, 10) for tenths in (0, 1, 3, 5, 7, 10, 15, 20, 30))
CONFIDENCES = (Fraction("0.5"), Fraction("0.9"), Fraction("0.99"))
HEADINGS = ("Claim", "Proof", "Exactness", "Groups")
"""What the page of a mechanism says, each in bold type."""

STANDARD_ERRORS = 4
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class MechanismContract:
    """A mechanism at one setting, and the page with its proof.

    Example:
        >>> MechanismContract.of_plugin.__name__
        'of_plugin'
    """

    example: MechanismExample
    page: str
    draws: int = 200_000

    @classmethod
    def of_plugin(cls, name: str, page: str) -> "MechanismContract":
        """Return the contract of an installed plug-in's mechanism."""
        found = [each for each in plugins(MECHANISMS) if each.name == name]
        if len(found) != 1:
            known = ", ".join(sorted(each.name for each in plugins(MECHANISMS))) or "none"
            raise InvalidValue(f"No one plug-in brings a mechanism {name!r}; there: {known}.")
        example = found[0].load()
        if not isinstance(example, MechanismExample):
            raise InvalidValue(f"{found[0]} brings {name!r}, which is no MechanismExample.")
        return cls(example, page)

    def broken(self) -> list[str]:
        """Return what the mechanism does not keep, a sentence each; none for a good one."""
        return [*self.wrong_law(), *self.wrong_loss(), *self.wrong_error(), *self.unwritten()]

    def wrong_law(self) -> Iterator[str]:
        """Draws that are not of the stated law, and a law by which nothing can be told."""
        example = self.example
        if example.p_value(self._drawn(off=False)) <= ODD:
            yield "Draws are not of the law that the example states."
        if example.p_value(self._drawn(off=True)) > ODD:
            yield "A law that is five percent off passes: the example cannot tell."

    def wrong_loss(self) -> Iterator[str]:
        """A loss that is higher than the event says, by the exact curve of the worst pair."""
        event = self.example.mechanism.event(self.example.sensitivity)
        try:
            kept = decode(encode(event)) == event
        except Exception:  # noqa: BLE001 - whatever it is, no ledger could hold it
            kept = False
        if not kept:
            yield "Its event is of a kind that the ledger does not know."
            return
        if self._exceeds(event):
            yield "It loses more than its event says."
        if not self._exceeds(Nothing()):
            yield "The two neighbours are never told apart: the example shows no loss."
        try:
            pure = loss_of(event, Measure.PURE)
        except InvalidValue:
            return
        if self.example.hockey_stick(float(pure.amount)) > ROUNDING:
            yield "It claims a pure loss, and has a delta."

    def wrong_error(self) -> Iterator[str]:
        """An error that is passed more often than it says, and values that are not refused."""
        mechanism, drawn = self.example.mechanism, self._drawn(off=False)
        off = abs(drawn[:, 0] - self.example.left[0])
        for confidence in CONFIDENCES:
            margin = STANDARD_ERRORS * float(confidence * (1 - confidence) / self.draws) ** 0.5
            if np.mean(off <= float(mechanism.error(confidence))) < float(confidence) - margin:
                yield f"Its error at {float(confidence):g} is passed more often than that."
        for field in fields(mechanism):  # type: ignore[arg-type]
            if isinstance(getattr(mechanism, field.name), Fraction):
                try:
                    replace(mechanism, **{field.name: Fraction(-1)})  # type: ignore[type-var]
                except InvalidValue:
                    continue
                yield f"It takes a {field.name} below 0."

    def unwritten(self) -> Iterator[str]:
        """Parts of the page that are missing: without a proof nobody can sign it."""
        for heading in HEADINGS:
            if f"**{heading}.**" not in self.page:
                yield f"Its page has no part **{heading}.**"

    def _exceeds(self, claimed: Event) -> bool:
        """Return whether the exact curve passes the claimed one at one of the epsilons."""
        return any(
            self.example.hockey_stick(float(epsilon))
            > float(delta_at(claimed, epsilon)) * (1 + 1e-9) + ROUNDING
            for epsilon in EPSILONS
        )

    def _drawn(self, *, off: bool) -> Draws:
        mechanism = self.example.off if off else self.example.mechanism
        return self.example.sample(mechanism, self.example.left, self.draws)
