"""Errors of a server as a session raises them, and servers that are busy or odd."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from serving import running
from site_of_clients import NONE, QUESTION, QUICK, Site, made_site

import tacit
from tacit.client.retry import KINDS, error_of
from tacit.core.catalog import Catalog
from tacit.core.codec import encode_catalog
from tacit.errors import (
    AnswerLost,
    AnswerPending,
    InternalError,
    InvalidValue,
    KeyReused,
    NotPermitted,
    SecretMisuse,
    StoreFailed,
    TacitError,
)
from tacit.server.refusal import ErrorBody, refusal_of


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with made_site(tmp_path_factory.mktemp("site")) as made:
        yield made


class Odd:
    """A server that says what may be asked about, and to all else the same, in turn."""

    def __init__(self, catalog: Catalog, *replies: tuple[int, object]) -> None:
        self.catalog, self.replies, self.asked = encode_catalog(catalog), list(replies), 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        await receive()
        status, told = 200, self.catalog
        if scope["path"] != "/v1/datasets":
            self.asked += 1
            status, told = self.replies[min(self.asked, len(self.replies)) - 1]
        headers = [(b"content-type", b"application/json"), (b"retry-after", b"0")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(told).encode()})


BUSY = (503, {"error": {"code": "store_failed", "message": "The store is away."}})
PENDING = (409, {"error": {"code": "answer_pending", "message": "Wait."}})
REUSED = (409, {"error": {"code": "key_reused", "message": "Another."}})


@pytest.mark.parametrize(
    ("replies", "asked", "kind", "told"),
    [
        ([BUSY], 4, StoreFailed, "The store is away."),
        ([BUSY, PENDING, REUSED], 3, KeyReused, "Another."),
        ([PENDING], 4, AnswerPending, "being answered for another request"),
        ([(500, BUSY[1])], 1, StoreFailed, "The store is away."),
        ([(301, {})], 1, InternalError, "Check the url"),
        ([(200, {"release": 1})], 1, InvalidValue, "is not an answer"),
    ],
)
def test_a_busy_server_is_asked_again_and_a_refusal_is_not(
    site: Site, replies: list[tuple[int, object]], asked: int, kind: type, told: str
) -> None:
    with tacit.connect(site.url, token=site.token) as known:
        odd = Odd(known.catalog, *replies)
    with running(odd) as url, tacit.connect(url, token=NONE, patience=QUICK) as session:
        with pytest.raises(kind, match=told):
            session.sql(QUESTION).ask(epsilon=1, request="mine")
        assert odd.asked == asked


def test_what_is_no_quote_and_no_budget_is_told_of(site: Site) -> None:
    with tacit.connect(site.url, token=site.token) as known:
        odd = Odd(known.catalog, (200, {"columns": []}), (200, {"budgets": []}))
    with running(odd) as url, tacit.connect(url, token=NONE) as session:
        with pytest.raises(InvalidValue, match="is not a preview"):
            session.sql(QUESTION).quote()
        with pytest.raises(InvalidValue, match="does not report the budget of 'patients'"):
            session.status()


ERRORS = [
    AnswerLost(),
    AnswerPending(7),
    *[
        kind("what was wrong")
        for kind in KINDS.values()
        if kind.__module__ == TacitError.__module__  # not those that audits raise
        and kind not in {AnswerLost, AnswerPending, InternalError, TacitError, SecretMisuse}
    ],
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_the_server_is_raised_as_the_same_error(error: TacitError) -> None:
    refused = refusal_of(error)
    told = error_of(refused.status, ErrorBody(error=refused.told).model_dump())
    assert type(told) is type(error)
    assert str(told) == str(error)


@pytest.mark.parametrize(
    ("status", "told", "kind"),
    [
        (401, {"error": {"code": "unauthenticated", "message": "no"}}, NotPermitted),
        (
            422,
            {"error": {"code": "new", "message": "no", "allowed": "a", "next": "b"}},
            InvalidValue,
        ),
        (500, {"error": {"code": "new", "message": "no"}}, InternalError),
        (200, ["no"], InternalError),
        (502, None, InternalError),
        (404, {"detail": "Not Found"}, InternalError),
    ],
)
def test_what_we_do_not_know_is_told_by_its_status(
    status: int, told: object, kind: type[TacitError]
) -> None:
    assert type(error_of(status, told)) is kind
