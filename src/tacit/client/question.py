"""Questions to a server: send a charged request, preview a question, ask it.

A question is sent as SQL, which the server parses as if a person had typed it. Every charged
request has an idempotency key. Unless the caller names one, the key is a hash of the question
and of the declarations, so that the same question asked again is charged once.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from tacit import core
from tacit.accounting import with_epsilon
from tacit.client.line import Line, certificate_from
from tacit.errors import InvalidValue, KeyReused
from tacit.frame import FrameQuery as Asked
from tacit.numeric import Number, exact
from tacit.plan import canonical
from tacit.query import Expected, check_sizes
from tacit.render import html, text
from tacit.sql import show


def send_charged(
    wire: Line, path: str, body: dict[str, Any], request: str | None, usual: str
) -> core.Answer:
    """Send a charged request, and return the answer.

    ``request`` is the idempotency key; without it, the key is ``usual``.

    Guarantee: however often the request is sent, it is charged once.
    """
    try:
        reply = wire.post(path, body, usual if request is None else request)
    except KeyReused:
        if request is not None:
            raise
        raise KeyReused(
            "This question was asked before owners changed a declaration, for example the "
            "epoch. Connect again to ask it under the current declarations."
        ) from None
    try:
        release = core.decode_release(json.dumps(reply["release"]).encode())
        standing = with_epsilon(core.decode_budget_summary(reply["standing"]))
        key = bytes.fromhex(reply["release_key"])
        return core.Answer.of(release, standing, key, lambda _: certificate_from(wire, key))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue(
            "The server's reply is not an answer. Check that the url is that of a Tacit server "
            "of the same version as this client."
        ) from error


@dataclass(frozen=True, slots=True, repr=False)
class RemotePreview:
    """The preview of a question: its price and the margin of error to expect.

    A preview is free and does not depend on the data.
    """

    columns: tuple[core.ReleasedColumn, ...]
    notes: tuple[str, ...]
    errors: tuple[Expected, ...]
    advice: tuple[str, ...]
    standing: core.BudgetSummary

    @classmethod
    def of(cls, reply: dict[str, Any]) -> "RemotePreview":
        """Parse the preview in a server's reply."""
        try:
            columns = [
                core.ReleasedColumn(name, tuple(v)) for name, v in reply["columns"].items()
            ]
            errors = [
                Expected(
                    each["name"],
                    None if each["always"] is None else exact(each["always"]),
                    tuple((size, exact(error)) for size, error in each["by_size"]),
                    tuple((name, exact(error)) for name, error in each.get("by_table", ())),
                )
                for each in reply["errors"]
            ]
            notes, advice = tuple(reply["notes"]), tuple(reply["advice"])
            return cls(
                tuple(columns),
                notes,
                tuple(errors),
                advice,
                with_epsilon(core.decode_budget_summary(reply["standing"])),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidValue(
                "The server's reply is not a preview. Check that the url is that of a Tacit "
                "server of the same version as this client."
            ) from error

    def __repr__(self) -> str:
        return "\n".join((text(self.columns), "", *self.notes))

    def _repr_html_(self) -> str:
        return html(self.columns, self.notes)


@dataclass(frozen=True, slots=True, repr=False)
class RemoteQuestion(Asked):
    """A plan, and the server that can answer it. Nothing is read or charged until `ask`.

    It is sent over the network as SQL.
    """

    catalog: core.Catalog
    wire: Line

    def quote(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        within: Number | None = None,
        assume_size: Sequence[int] | None = None,
    ) -> RemotePreview:
        """Return the price of the question and the margin of error to expect.

        This is free, and no data is read. Without an amount, the question is priced at a tenth
        of the budget. With ``within``, it is priced at the least loss that reaches this margin
        of error. Errors that depend on the number of rows in a group are reported for groups of
        ``assume_size``.
        """
        body = self._body(_amounts(epsilon, rho, delta, within, assume_size))
        return RemotePreview.of(self.wire.post("/v1/quote", body))

    def explain(self) -> str:
        """Explain how the question would be answered, and what would make it faster.

        This is free, and no data is read.
        """
        reply = self.wire.post("/v1/explain", self._body({}))
        return str(reply["explained"])

    def ask(  # noqa: PLR0913 - an amount, or an error, and an idempotency key
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        within: Number | None = None,
        assume_size: Sequence[int] | None = None,
        request: str | None = None,
    ) -> core.Answer:
        """Answer the question. It is charged before any data is read; the same again is free.

        Instead of an amount, ``within=25`` asks for the least loss at which the margin of error
        is 25, and ``within="2%", assume_size=[1000]`` for 2% of 1,000 rows. A ``delta`` is
        needed for groups whose keys are not public. If an answer was lost, the same question
        raises `AnswerLost`; a new idempotency key ``request`` is charged for a new answer.
        """
        amounts = _amounts(epsilon, rho, delta, within, assume_size)
        body, key = self._body(amounts), self._key(amounts)
        answer = send_charged(self.wire, "/v1/ask", body, request, key)
        return replace(answer, standing=replace(answer.standing, rho_first=rho is not None))

    def __repr__(self) -> str:
        return show(self.plan, self.catalog)

    def _body(self, amounts: dict[str, Any]) -> dict[str, Any]:
        return {"sql": show(self.plan, self.catalog), **amounts}

    def _key(self, amounts: dict[str, Any]) -> str:
        """Return the idempotency key of the question.

        The key is the same for all texts of one question, and changes with the declarations.
        """
        hashed = sha256(b"tacit request 1\n" + canonical(self.plan).hash)
        hashed.update(repr((sorted(amounts.items()), self.catalog)).encode())
        return hashed.hexdigest()


def _amounts(
    epsilon: Number | None,
    rho: Number | None,
    delta: Number,
    within: Number | None,
    assume_size: Sequence[int] | None,
) -> dict[str, Any]:
    """Return the amounts that were given, as exact text, and the sizes."""
    given = {"epsilon": epsilon, "rho": rho, "delta": delta or None}
    found: dict[str, Any] = {
        name: str(exact(each)) for name, each in given.items() if each is not None
    }
    if within is not None:
        share = isinstance(within, str) and within.endswith("%")
        found["within"] = str(within) if share else str(exact(within))
    if assume_size is not None:
        check_sizes(assume_size)
        found["assume_size"] = list(assume_size)
    return found
