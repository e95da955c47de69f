"""A publication: a question, its periods and its price, under a name."""

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.errors import InvalidValue
from tacit.plan.calendar import Span
from tacit.session.session import Session
from tacit.stream.open_stream import OpenStream
from tacit.stream.stream import Periods
from tacit.stream.window import Window


@dataclass(frozen=True, slots=True)
class Publication:
    """What is published, of which periods, and how many days after the end of each.

    Rows that come within ``wait`` days after a period count in it, and later ones do not.
    """

    name: str
    sql: str
    periods: Periods
    loss: Loss
    window: Window
    max_steps: int | None = None
    wait: int = 0

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise InvalidValue(
                f"A publication is named by letters, digits and _, and {self.name!r} is not: "
                "its files are called by its name."
            )
        if self.wait < 0:
            raise InvalidValue(f"Waiting takes 0 days or more, and {self.wait} were given.")

    def stream(self, session: Session) -> OpenStream:
        """The stream that is released, in a session over its tables."""
        return session.stream(
            session.sql(self.sql),
            self.loss,
            self.periods,
            window=self.window,
            max_steps=self.max_steps,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        loss, periods = self.loss, self.periods
        return {
            "name": self.name,
            "sql": self.sql,
            "day": periods.day,
            "every": periods.span.value,
            "first": periods.first.isoformat(),
            "steps": periods.horizon,
            "loss": [loss.measure.value, str(loss.amount), str(loss.delta)],
            "window": self.window.steps,
            "max_steps": self.max_steps,
            "wait": self.wait,
        }

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "Publication":
        """The publication that `to_dict` told."""
        measure, amount, delta = told["loss"]
        first = date.fromisoformat(told["first"])
        return cls(
            told["name"],
            told["sql"],
            Periods(told["day"], Span(told["every"]), first, told["steps"]),
            Loss(Measure(measure), Fraction(amount), Fraction(delta)),
            Window(told["window"]),
            told["max_steps"],
            told["wait"],
        )
