"""A question to a server: what it would cost and miss by, and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from tacit.client.paid import Line, paid
from tacit.client.preview import RemotePreview
from tacit.core.answer import Answer
from tacit.core.catalog import Catalog
from tacit.frame.table import Answer as Asked
from tacit.numeric.exact import Number, exact
from tacit.plan.canonical import canonical
from tacit.query.expected import SIZES, check_sizes
from tacit.sql.show import show


@dataclass(frozen=True, slots=True, repr=False)
class RemoteQuestion(Asked):
    """A plan, and the server that can answer it. Nothing is read or charged until `ask`.

    It goes over the network as SQL, which the server reads as if a person had typed it.
    """

    catalog: Catalog
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
    ) -> Answer:
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
