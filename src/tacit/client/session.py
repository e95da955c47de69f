"""A session with a server over HTTP: `connect` returns it, with the methods of `Session`.

Questions are sent as SQL. A model is sent as its name and settings, and its parameters come
back; no code is sent in either direction.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from hashlib import sha256
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import quote as quoted
from urllib.parse import urlencode, urlsplit

from tacit.accounting import with_epsilon
from tacit.certify import Certificate
from tacit.client.line import Line, certificate_from
from tacit.client.question import RemoteQuestion, send_charged
from tacit.client.retry import RetryPolicy
from tacit.core import Answer, Catalog, decode_budget_summary, decode_catalog, decode_loss
from tacit.errors import InvalidValue
from tacit.extras import load
from tacit.frame import Table
from tacit.ledger import USUAL_LIMIT, ChainVerdict, History, HistoryFilter, Status, Units
from tacit.ml.registry import Model, cross_validation_of, learn_from, spec_of
from tacit.numeric import Number, exact, plain
from tacit.plan import Plan, PublicRows, Scan
from tacit.query import Fit, FitPreview, FreeQuestion
from tacit.sql import read_statement


def fit(
    wire: Line, catalog: Catalog, model: Model, asked: Fit, request: str | None = None
) -> Model:
    """Return ``model`` with the parameters that the server released and charged."""
    key = sha256(b"tacit request 1\n" + asked.key)
    key.update(repr(catalog).encode())
    release = send_charged(wire, "/v1/fit", _body(asked), request, key.hexdigest())
    try:
        return learn_from(model, release, asked.features)
    except (LookupError, TypeError, ValueError) as error:
        raise InvalidValue(
            "The server's reply is not a model. Check that the url is that of a Tacit server "
            "of the same version as this client."
        ) from error


def preview(wire: Line, asked: Fit) -> FitPreview:
    """Return the price of fitting a model."""
    reply = wire.post("/v1/fit/quote", _body(asked))
    try:
        standing = with_epsilon(decode_budget_summary(reply["standing"]))
        return FitPreview(standing, tuple(reply["assumptions"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue(
            "The server's reply is not a preview. Check that the url is that of a Tacit server "
            "of the same version as this client."
        ) from error


def asked_for(model: Any, dataset: str, features: Sequence[str], target: str | None) -> Fit:
    """Return the description of a fit that is sent over the network."""
    return Fit(spec_of(model), dataset, tuple(features), target)


def _body(asked: Fit) -> dict[str, Any]:
    columns = {"features": list(asked.features), "target": asked.target}
    return json.loads(asked.spec) | {"dataset": asked.dataset} | columns  # type: ignore[no-any-return]


# ------------------------------------------------------------------ session

COUNTED = ("missed", "locked", "failed", "retried", "frozen", "declaration")
"""Fields of a budget's status that are copied as they are."""


class Connection(Line, Protocol):
    """The connection of a session to a server."""

    url: str

    def get(self, path: str) -> Any:
        """Return the server's reply at ``path``."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class RemoteSession:
    """A session with a server, with the methods of `Session`. `tacit.connect` returns one.

    The catalogue of datasets is read once; connect again when owners have changed it.
    """

    def __init__(self, catalog: Catalog, wire: Connection) -> None:
        self._catalog = catalog
        self._wire = wire

    @classmethod
    def over(cls, wire: Connection) -> Self:
        """Open a session over ``wire``, and read the catalogue from the server."""
        with ExitStack() as closing:
            closing.callback(wire.close)
            catalog = decode_catalog(wire.get("/v1/datasets"))
            closing.pop_all()
        return cls(catalog, wire)

    def sql(self, text: str) -> RemoteQuestion | FreeQuestion:
        """Parse the question ``text``; SQL that is not supported is refused with a reason.

        A statement that needs no data, such as SELECT 1, is answered without the server.
        """
        found = read_statement(text, self.catalog)
        if isinstance(found, PublicRows):
            return FreeQuestion.of(found, self.catalog)
        return self._question(found)

    def table(self, name: str) -> Table[RemoteQuestion]:
        """Return a dataset as a table that can be filtered, grouped and aggregated."""
        return Table(self.catalog, Scan(self.catalog.dataset(name).name), self._question)

    def fit(
        self,
        model: Model,
        dataset: str,
        *,
        features: Sequence[str],
        target: str | None = None,
        request: str | None = None,
    ) -> Model:
        """Fit ``model`` to columns of a dataset. It is charged before any data is read.

        The model is sent as its name and settings, and its parameters come back. The same
        model and columns again are free, with the same parameters.
        """
        asked = asked_for(model, dataset, features, target)
        return fit(self._wire, self.catalog, model, asked, request)

    def cross_validate(  # noqa: PLR0913 - the model, its columns and the scores' settings
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
        """Cross-validate ``model``, and return it with its scores in ``test_scores_``.

        Each score is computed on people that the model was not fitted to.
        """
        asked = cross_validation_of(model, folds, epsilon, delta)
        return self.fit(asked, dataset, features=features, target=target)

    def quote(
        self, model: Any, dataset: str, *, features: Sequence[str], target: str | None = None
    ) -> FitPreview:
        """Return the price of fitting ``model``. This is free, and no data is read."""
        return preview(self._wire, asked_for(model, dataset, features, target))

    def certificate(self, answer: Answer) -> Certificate:
        """Return the certificate of an answer, or of the ``release_`` of a model; free."""
        return certificate_from(self._wire, answer.release_key)

    @property
    def catalog(self) -> Catalog:
        """The datasets that can be queried."""
        return self._catalog

    def status(self, population: str | None = None) -> Status:
        """Return what is spent and left of a budget."""
        name = self.catalog.population(population).name
        for budget in self._wire.get("/v1/status")["budgets"]:
            if budget["population"] == name:
                cap, spent = decode_loss(budget["cap"]), decode_loss(budget["spent"])
                delta = exact(budget["conversion_delta"])
                units = Units.limit(cap), Units.limit(spent)
                least = Units.limit(decode_loss(budget["least"])).amount
                counts: dict[str, Any] = {each: budget[each] for each in COUNTED}
                rests = (Units.limit(decode_loss(each)) for each in budget["quotas_left"])
                return Status(
                    name,
                    cap.measure,
                    delta,
                    *units,
                    **counts,
                    least_amount=least,
                    quotas_left=tuple(rests),
                )
        raise InvalidValue(
            f"The server does not report the budget of {name!r}. Ask an owner for a token "
            "whose scope includes its datasets."
        )

    def history(  # noqa: PLR0913 - the population and one for each filter
        self,
        population: str | None = None,
        *,
        analyst: str | None = None,
        kind: str | Sequence[str] = (),
        since: date | str | None = None,
        until: date | str | None = None,
        limit: int = USUAL_LIMIT,
        receipt: str | None = None,
    ) -> History:
        """Return the ledger of a population in words, for owners and auditors.

        Of the entries that fit, the newest ``limit`` are returned, in their order.
        """
        wanted = HistoryFilter.of(
            analyst=analyst,
            kind=kind,
            since=since,
            until=until,
            limit=limit,
            receipt=receipt,
        )
        name = quoted(self.catalog.population(population).name, safe="")
        reply = self._wire.get(f"/v1/ledger/{name}/history?{urlencode(wanted.to_query())}")
        try:
            return History.from_dict(reply)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidValue(
                "The server's reply is not a history. Check that the url is that of a Tacit "
                "server of the same version as this client."
            ) from error

    def request_quota(
        self,
        population: str | None = None,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        team: str | None = None,
        reason: str = "",
    ) -> str:
        """Ask for a larger quota, of this amount in all, and return the request's name.

        It is for you or for a team that you are in. An owner grants or declines it.
        """
        name = self.catalog.population(population).name
        given = {"epsilon": epsilon, "rho": rho}
        body: dict[str, Any] = {
            unit: plain(exact(amount)) for unit, amount in given.items() if amount is not None
        }
        body |= {"team": team, "reason": reason}
        reply = self._wire.post(f"/v1/ledger/{quoted(name, safe='')}/requests", body)
        return str(reply["id"])

    def verify(self, population: str | None = None) -> ChainVerdict:
        """Let the server verify the chain of a population, for owners and auditors."""
        name = self.catalog.population(population).name
        reply = self._wire.get(f"/v1/ledger/{quoted(name, safe='')}/verify")
        spent, cap = decode_loss(reply["spent"]), decode_loss(reply["cap"])
        head = bytes.fromhex(reply["head"])
        delta = exact(reply["conversion_delta"])
        return ChainVerdict(name, reply["entries"], head, spent, cap, False, delta)

    def close(self) -> None:
        """Close the connection to the server."""
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

    def _question(self, plan: Plan) -> RemoteQuestion:
        return RemoteQuestion(plan, self.catalog, self._wire)


# ------------------------------------------------------------------ connect

TOKEN = "TACIT_TOKEN"  # noqa: S105 - the name of a variable


def connect(
    url: str,
    *,
    token: str | None = None,
    patience: RetryPolicy = RetryPolicy(),  # noqa: B008 - it is frozen
    plain_http: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> RemoteSession:
    """Connect to a server, and return a session with the methods of `Session`.

    ``url`` is the address of the server, such as ``https://tacit.clinic.example``. ``token`` is
    the token that an owner issued to you; the default is the variable ``TACIT_TOKEN`` of
    ``environment``. ``patience`` is the retry policy: how long to wait for an answer, and how
    often to send a request again. With ``plain_http`` the token may be sent without TLS over a
    network that you trust; otherwise it is sent over TLS only, or to this machine.

    Guarantee: a request that is sent again is the same request, with the same idempotency key.
    However often replies are lost, it is charged once.
    """
    _check(url, plain_http=plain_http)
    known = token or environment.get(TOKEN, "")
    if not known:
        raise InvalidValue(
            f"A server needs a token: use connect(url, token=...), or set {TOKEN}. An owner "
            "issues a token with `tacit token issue NAME --role analyst`."
        )
    wire = load("tacit.client.transport", extra="client").Transport(url, known, patience)
    return RemoteSession.over(wire)


def _check(url: str, *, plain_http: bool) -> None:
    split = urlsplit(url)
    if split.scheme not in {"http", "https"} or not split.hostname or split.username:
        raise InvalidValue(
            "The url of a server must be https://host, with its port and path if it has them."
        )
    if split.scheme == "http" and not plain_http and not _is_local(split.hostname):
        raise InvalidValue(
            "Over http:// others could read your token. Use https://, or plain_http=True if "
            "you trust the network."
        )


def _is_local(host: str) -> bool:
    """Return whether ``host`` is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
