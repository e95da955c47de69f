"""However replies are lost or late: one charge, and the client says what became of it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest
from losing import LosingWire, curator_over, served, token_for
from site_of_clients import AMOUNTS, QUESTION, QUICK, Site, made_site, project

import tacit
from tacit.client.retry import RetryPolicy
from tacit.client.session import RemoteSession
from tacit.client.transport import Tell, Transport
from tacit.errors import (
    AnswerLost,
    ConnectionLost,
    KeyReused,
    PopulationLocked,
)
from tacit.session.project import apply_project


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with made_site(tmp_path_factory.mktemp("site")) as made:
        yield made


class FreshKeys(Transport):
    """The lie: a client that names each sending anew."""

    def _send(self, request: object, tell: Tell) -> object:
        send = self._http.send

        def renamed(given: object) -> object:
            given.headers["Idempotency-Key"] = uuid4().hex  # type: ignore[attr-defined]
            return send(given)  # type: ignore[arg-type]

        self._http.send = renamed  # type: ignore[method-assign, assignment]
        try:
            return super()._send(request, tell)  # type: ignore[arg-type]
        finally:
            self._http.send = send  # type: ignore[method-assign]


def test_a_lost_reply_is_fetched_again_for_nothing(site: Site) -> None:
    before, amount = site.charges(), next(AMOUNTS)
    with LosingWire(site.url, losses=2) as wire, site.client(wire.url) as session:
        answer = session.sql(QUESTION).ask(epsilon=amount)
    assert len(wire.heard) == 3
    assert len(set(wire.heard)) == 1
    assert wire.heard[0] != ""
    assert site.charges() == before + 1
    with site.client(site.url) as session:
        again = session.sql(QUESTION).ask(epsilon=amount)
    assert again.columns == answer.columns


def charged_after_a_failure(site: Site, session: RemoteSession) -> int:
    """Charges of a question whose answer failed, and whose failure did not arrive."""
    before = site.charges()
    site.engine.failures = 2  # the first is run once more
    with suppress(AnswerLost, PopulationLocked):
        session.sql(QUESTION).ask(epsilon=next(AMOUNTS))
    site.look()
    return site.charges() - before


def test_an_answer_that_was_lost_is_not_paid_for_twice_unawares(site: Site) -> None:
    with LosingWire(site.url, losses=1) as wire, site.client(wire.url) as session:
        assert charged_after_a_failure(site, session) == 1
    assert len(wire.heard) == 2
    # a client that lies, with a fresh key for each sending, meets the lock
    with LosingWire(site.url, losses=1) as wire:
        lying = RemoteSession.over(FreshKeys(wire.url, site.token, QUICK))
        with lying:
            assert charged_after_a_failure(site, lying) == 1


def test_a_slow_answer_is_waited_for_and_charged_once(site: Site) -> None:
    before = site.charges()
    site.engine.seconds = 0.6
    hasty = RetryPolicy(reply=0.2, tries=8, pause=0.05)
    try:
        with site.client(site.url, hasty) as session:
            answer = session.sql(QUESTION).ask(epsilon=next(AMOUNTS))
    finally:
        site.engine.seconds = 0.0
    assert answer["ward"].values == ("north", "south")
    assert site.charges() == before + 1


def test_where_no_reply_comes_at_all_the_same_again_is_charged_once(site: Site) -> None:
    before, amount = site.charges(), next(AMOUNTS)
    with LosingWire(site.url, losses=4) as wire, site.client(wire.url) as session:
        with pytest.raises(ConnectionLost, match="Ask the same question again"):
            session.sql(QUESTION).ask(epsilon=amount)
        answer = session.sql(QUESTION).ask(epsilon=amount)
    assert site.charges() == before + 1
    assert answer.standing.cost.amount == 0


def test_the_same_question_in_other_words_has_the_same_key(site: Site) -> None:
    other = "SELECT COUNT(*) AS many, ward FROM visits GROUP BY ward ORDER BY many LIMIT 1"
    with LosingWire(site.url) as wire, site.client(wire.url) as session:
        session.sql(QUESTION).ask(epsilon="0.2")
        session.sql(other).ask(epsilon=0.2)
        session.sql(QUESTION).ask(epsilon="0.3")
        session.sql(QUESTION).ask(epsilon="0.2", request="my own")
    same, again, dearer, own = wire.heard
    assert same == again != dearer
    assert own == "my own"


def test_what_was_asked_of_an_older_state_is_not_paid_for_again_unawares(
    tmp_path: Path,
) -> None:
    file = project(tmp_path)
    curator = curator_over(file)
    token = token_for(curator)
    with served(curator) as url, tacit.connect(url, token=token) as old:
        old.sql(QUESTION).ask(epsilon=1)
    file.write_text(file.read_text().replace("2026-W46", "2026-W47"))
    apply_project(file, by="olga")
    later = curator_over(file)
    with served(later) as url, tacit.connect(url, token=token, patience=QUICK) as new:
        stale = RemoteSession(old.catalog, new._wire)
        with pytest.raises(KeyReused, match="Connect again"):
            stale.sql(QUESTION).ask(epsilon=1)
        assert len(later.home.ledger.book("patients").requests) == 1
        assert new.sql(QUESTION).ask(epsilon=1).standing.cost.amount > 0
