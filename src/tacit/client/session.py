"""Fit over the network: a model goes as its name and settings, and parameters come back."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import quote as quoted
from urllib.parse import urlsplit

from tacit.client.question import Line, RemoteQuestion, paid
from tacit.client.retry import RetryPolicy
from tacit.core import Catalog, decode_catalog, decode_loss, decode_standing
from tacit.errors import InvalidValue
from tacit.extras import load
from tacit.frame import Table
from tacit.ledger import ChainVerdict, Status, Units
from tacit.ml.registry import Model, folded, spec_of, taught
from tacit.numeric import exact
from tacit.plan import Plan, Scan
from tacit.query import Fit, FitPreview
from tacit.sql import parse


def fit(
    wire: Line, catalog: Catalog, model: Model, asked: Fit, request: str | None = None
) -> Model:
    """``model`` with the parameters that a server released, and was charged for."""
    told = sha256(b"tacit request 1\n" + asked.key)
    told.update(repr(catalog).encode())
    release = paid(wire, "/v1/fit", _body(asked), request, told.hexdigest())
    try:
        return taught(model, release, asked.features)
    except (LookupError, TypeError, ValueError) as error:
        raise InvalidValue("What the server told is no model.") from error


def preview(wire: Line, asked: Fit) -> FitPreview:
    """What fitting would cost."""
    told = wire.post("/v1/fit/quote", _body(asked))
    try:
        return FitPreview(decode_standing(told["standing"]), tuple(told["assumptions"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue("What the server told is no quote.") from error


def asked_for(model: Any, dataset: str, features: Sequence[str], target: str | None) -> Fit:
    """What is to be fitted, as it is told over the network."""
    return Fit(spec_of(model), dataset, tuple(features), target)


def _body(asked: Fit) -> dict[str, Any]:
    columns = {"features": list(asked.features), "target": asked.target}
    return json.loads(asked.spec) | {"dataset": asked.dataset} | columns  # type: ignore[no-any-return]


# ------------------------------------------------------------------ session
# The one door over the network: questions, their prices and their answers.

COUNTED = ("missed", "locked", "failed", "retried", "frozen", "declaration")
"""What a server tells of answers that did not come, and of what an owner did."""


class Connection(Line, Protocol):
    """What a session speaks over."""

    url: str

    def get(self, path: str) -> Any:
        """What a server tells."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class RemoteSession:
    """Tables of a server that can be asked about, in the words of `Session`.

    `tacit.connect` makes one. What may be asked about is read once; connect again when owners
    have changed it.
    """

    def __init__(self, catalog: Catalog, wire: Connection) -> None:
        self._catalog = catalog
        self._wire = wire

    @classmethod
    def over(cls, wire: Connection) -> Self:
        """A session over ``wire``; the server says what may be asked about."""
        with ExitStack() as closing:
            closing.callback(wire.close)
            catalog = decode_catalog(wire.get("/v1/datasets"))
            closing.pop_all()
        return cls(catalog, wire)

    def sql(self, text: str) -> RemoteQuestion:
        """The question that ``text`` asks; refused, with the reason, where it is not known."""
        return self._asked(parse(text, self.catalog))

    def table(self, name: str) -> Table[RemoteQuestion]:
        """The rows of a dataset, to be filtered, grouped and counted."""
        return Table(self.catalog, Scan(self.catalog.dataset(name).name), self._asked)

    def fit(
        self,
        model: Model,
        dataset: str,
        *,
        features: Sequence[str],
        target: str | None = None,
        request: str | None = None,
    ) -> Model:
        """``model``, fitted to columns of a dataset, and paid for before any data is touched.

        It goes over the network as its name and settings, and its parameters come back. The
        same model and columns again are free, with the same parameters.
        """
        asked = asked_for(model, dataset, features, target)
        return fit(self._wire, self.catalog, model, asked, request)

    def cross_validate(  # noqa: PLR0913 - a model, what it is fitted to, and its scores
        self,
        model: Any,
        dataset: str,
        *,
        features: Sequence[str],
        target: str,
        folds: int = 5,
        epsilon: float = 1.0,
        delta: float = 1e-6,
    ) -> Any:
        """How well ``model`` does on people whom it was not fitted to, as ``test_scores_``."""
        asked = folded(model, folds, epsilon, delta)
        return self.fit(asked, dataset, features=features, target=target)

    def quote(
        self, model: Any, dataset: str, *, features: Sequence[str], target: str | None = None
    ) -> FitPreview:
        """What fitting ``model`` would cost: free, and without data."""
        return preview(self._wire, asked_for(model, dataset, features, target))

    @property
    def catalog(self) -> Catalog:
        """What may be asked about."""
        return self._catalog

    def status(self, population: str | None = None) -> Status:
        """What is spent and left of a budget."""
        name = self.catalog.population(population).name
        for told in self._wire.get("/v1/status")["budgets"]:
            if told["population"] == name:
                cap, spent = decode_loss(told["cap"]), decode_loss(told["spent"])
                delta = exact(told["conversion_delta"])
                units = Units.limit(cap), Units.limit(spent)
                least = Units.limit(decode_loss(told["least"])).amount
                counts: dict[str, Any] = {each: told[each] for each in COUNTED}
                return Status(name, cap.measure, delta, *units, **counts, least_amount=least)
        raise InvalidValue(f"The server tells nothing of the budget of {name!r}.")

    def verify(self, population: str | None = None) -> ChainVerdict:
        """Have the server walk the whole chain of a population: for owners and auditors."""
        name = self.catalog.population(population).name
        told = self._wire.get(f"/v1/ledger/{quoted(name, safe='')}/verify")
        spent, cap = decode_loss(told["spent"]), decode_loss(told["cap"])
        head = bytes.fromhex(told["head"])
        return ChainVerdict(name, told["entries"], head, spent, cap, anchored=False)

    def close(self) -> None:
        """Let go of the server."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.catalog.tables)
        people = ", ".join(population.name for population in self.catalog.populations)
        return f"<session at {self._wire.url} about {people}: {tables}>"

    def _asked(self, plan: Plan) -> RemoteQuestion:
        return RemoteQuestion(plan, self.catalog, self._wire)


# ------------------------------------------------------------------ connect
# Connect: the one door, over the network.

TOKEN = "TACIT_TOKEN"  # noqa: S105 - the name of a variable


def connect(
    url: str,
    *,
    token: str | None = None,
    patience: RetryPolicy = RetryPolicy(),  # noqa: B008 - it is frozen
    plain_http: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> RemoteSession:
    """A session over a server, in the words of `Session`.

    Args:
        url: where the server is, such as ``https://tacit.clinic.example``.
        token: what an owner gave you; without it, what the variable ``TACIT_TOKEN`` holds.
        patience: how long to wait for an answer, and how often to send a request again.
        plain_http: believe the network on the way; without it a token goes over TLS alone, or
            to this machine.
        environment: where the variable is looked for.

    Guarantee: a request that is sent again is the same request, under the same key: however
    often replies are lost, it is charged once.
    """
    _check(url, plain_http=plain_http)
    known = token or environment.get(TOKEN, "")
    if not known:
        raise InvalidValue(
            f"A server lets in who has a token: connect(url, token=...), or set {TOKEN}. An "
            "owner makes one: tacit token issue NAME --role analyst"
        )
    wire = load("tacit.client.transport", extra="client").Transport(url, known, patience)
    return RemoteSession.over(wire)


def _check(url: str, *, plain_http: bool) -> None:
    split = urlsplit(url)
    if split.scheme not in {"http", "https"} or not split.hostname or split.username:
        raise InvalidValue("The url of a server is https://host, with its port and path.")
    if split.scheme == "http" and not plain_http and not _here(split.hostname):
        raise InvalidValue(
            "Over http:// others could read your token on its way; take https://, or say "
            "plain_http=True where you trust that network."
        )


def _here(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
