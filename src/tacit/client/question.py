"""A paid request to a server, and the answer that it gives."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

from tacit import core
from tacit.errors import InvalidValue, KeyReused
from tacit.frame import FrameQuery as Asked
from tacit.numeric import Number, exact
from tacit.plan import canonical
from tacit.query import SIZES, Expected, check_sizes
from tacit.render import html, text
from tacit.sql import show


class Line(Protocol):
    """What a question is sent over."""

    def post(self, path: str, body: dict[str, Any], key: str | None = None) -> Any:
        """What a server answers."""
        ...


def paid(
    wire: Line, path: str, body: dict[str, Any], request: str | None, usual: str
) -> core.Answer:
    """The answer to ``body``, under the name of the ``request``, or its ``usual`` one.

    Guarantee: however often it is sent, it is charged once.
    """
    try:
        told = wire.post(path, body, usual if request is None else request)
    except KeyReused:
        if request is not None:
            raise
        raise KeyReused(
            "This was asked before owners declared something else, such as another epoch; "
            "connect again, and it is asked about what there is now."
        ) from None
    try:
        release = core.decode_release(json.dumps(told["release"]).encode())
        standing = core.decode_standing(told["standing"])
        return core.Answer.of(release, standing, bytes.fromhex(told["release_key"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue("What the server told is no answer.") from error


# ------------------------------------------------------------------ preview
# What a quote of a server shows.


@dataclass(frozen=True, slots=True, repr=False)
class RemotePreview:
    """A quote as it is shown: free, and the same whatever stands in the tables."""

    columns: tuple[core.ReleasedColumn, ...]
    notes: tuple[str, ...]
    errors: tuple[Expected, ...]
    advice: tuple[str, ...]
    standing: core.BudgetSummary

    @classmethod
    def of(cls, told: dict[str, Any]) -> "RemotePreview":
        """The quote that a server told."""
        try:
            columns = [
                core.ReleasedColumn(name, tuple(v)) for name, v in told["columns"].items()
            ]
            errors = [
                Expected(
                    each["name"],
                    None if each["always"] is None else exact(each["always"]),
                    tuple((size, exact(error)) for size, error in each["by_size"]),
                )
                for each in told["errors"]
            ]
            notes, advice = tuple(told["notes"]), tuple(told["advice"])
            return cls(
                tuple(columns),
                notes,
                tuple(errors),
                advice,
                core.decode_standing(told["standing"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidValue("What the server told is no quote.") from error

    def __repr__(self) -> str:
        return "\n".join((text(self.columns), "", *self.notes))

    def _repr_html_(self) -> str:
        return html(self.columns, self.notes)


# ------------------------------------------------------------------ question
# A question to a server: what it would cost and miss by, and its answer.


@dataclass(frozen=True, slots=True, repr=False)
class RemoteQuestion(Asked):
    """A plan, and the server that can answer it. Nothing is read or charged until `ask`.

    It goes over the network as SQL, which the server reads as if a person had typed it.
    """

    catalog: core.Catalog
    wire: Line

    def quote(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        assume_size: Sequence[int] = SIZES,
    ) -> RemotePreview:
        """What answering would cost and miss by: free, and without data.

        Without an amount it is a quote for a tenth of the budget. Errors that depend on how
        many rows a group has are told for groups of ``assume_size``.
        """
        check_sizes(assume_size)
        body = self._body(_amounts(epsilon, rho, delta)) | {"assume_size": list(assume_size)}
        return RemotePreview.of(self.wire.post("/v1/quote", body))

    def explain(self) -> str:
        """How it would be answered, and what would make that faster: free, and without data."""
        told = self.wire.post("/v1/explain", self._body({}))
        return str(told["explained"])

    def ask(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        request: str | None = None,
    ) -> core.Answer:
        """The answer, paid for before any data is touched; the same again is free.

        A ``delta`` is for groups whose keys are not public. Where an answer was lost, the same
        question says so; a ``request`` under a new name pays for a new answer.
        """
        amounts = _amounts(epsilon, rho, delta)
        return paid(self.wire, "/v1/ask", self._body(amounts), request, self._key(amounts))

    def __repr__(self) -> str:
        return show(self.plan, self.catalog)

    def _body(self, amounts: dict[str, str]) -> dict[str, Any]:
        return {"sql": show(self.plan, self.catalog), **amounts}

    def _key(self, amounts: dict[str, str]) -> str:
        """The same for the same question, in whatever words, about what is declared now."""
        told = sha256(b"tacit request 1\n" + canonical(self.plan).hash)
        told.update(repr((sorted(amounts.items()), self.catalog)).encode())
        return told.hexdigest()


def _amounts(epsilon: Number | None, rho: Number | None, delta: Number) -> dict[str, str]:
    """The amounts that were named, exactly."""
    given = {"epsilon": epsilon, "rho": rho, "delta": delta or None}
    return {name: str(exact(each)) for name, each in given.items() if each is not None}
