"""The things that wait for an owner, in words, with the acts that decide them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tacit.server.console.budget_words import share_of, short
from tacit.server.console.catalogue_words import day_in_words
from tacit.server.console.templates_of import percent
from tacit.server.console.visit import Visit

Json = Mapping[str, Any]

INCIDENTS = {
    "late": "An answer missed its deadline",
    "failure": "An answer failed after it was charged",
    "retry": "An answer was run twice",
}
MOST_LINES = 1000


@dataclass(frozen=True, slots=True)
class ActShown:
    """A button that decides: where its form is sent, and what it asks for."""

    label: str
    path: str
    is_main: bool = False
    asks_fingerprint: bool = False
    asks_percent: bool = False


@dataclass(frozen=True, slots=True)
class WaitingItem:
    """One thing that waits for an owner; its number in the ledger is 0 if it has several."""

    population: str
    number: int
    badge: str
    look: str
    title: str
    text: str
    meta: tuple[str, ...]
    acts: tuple[ActShown, ...]
    incidents: tuple[str, ...] = field(default=())


APPROVE = ActShown("Approve", "approve", is_main=True)
WITHDRAW = ActShown("Withdraw", "withdraw")


def moment(at: int | None) -> str:
    """Return a time in milliseconds since 1970 for people, in UTC.

    Example:
        >>> moment(86_400_000)
        '2 Jan 1970, 00:00 UTC'
    """
    if not at:
        return ""
    time = datetime.fromtimestamp(at / 1000, UTC)
    return f"{day_in_words(time.date().isoformat())}, {time:%H:%M} UTC"


async def waiting_for(visit: Visit, budgets: Sequence[Json]) -> list[WaitingItem]:
    """Return what waits in the populations of ``budgets``: what stops questions is first."""
    stopped: list[WaitingItem] = []
    others: list[WaitingItem] = []
    counts = {each["population"]: each for each in await _counts(visit)}
    for budget in budgets:
        name = budget["population"]
        count = counts[name]
        if count["locked"]:
            stopped.append(await _describe_incidents(visit, name))
        if count["requests"]:
            told = await visit.api("GET", "/v1/ledger/{}/requests", name)
            quotas = await visit.api("GET", "/v1/ledger/{}/quotas", name)
            others += _requests(name, told["requests"], quotas["quotas"], budget["cap"])
        if count["proposals"]:
            told = await visit.api("GET", "/v1/ledger/{}/proposals", name)
            me = visit.sign_in.principal
            others += [_proposal(name, each, me) for each in told["proposals"]]
    return stopped + others


async def count_waiting(visit: Visit) -> int:
    """Return how many things wait for this owner, for the badge of the menu."""
    return sum(
        each["locked"] + each["requests"] + each["proposals"] for each in await _counts(visit)
    )


async def _counts(visit: Visit) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await visit.api("GET", "/v1/waiting"))["waiting"]
    return found


# ------------------------------------------------------------------ late and failed answers


async def _describe_incidents(visit: Visit, population: str) -> WaitingItem:
    query = {"kind": [*INCIDENTS, "review"], "limit": MOST_LINES}
    told = await visit.api("GET", "/v1/ledger/{}/history", population, query=query)
    since: list[Json] = []
    for each in told["lines"]:
        since = [] if each["kind"] == "review" else [*since, each]
    kinds = {each["kind"] for each in since}
    badge = {"late": "late answer", "failure": "failed answer", "retry": "run twice"}
    lines = tuple(
        f"{INCIDENTS[each['kind']]}: {each['what']}, {moment(each['at'])}, "
        f"ledger entry {each['entry']}"
        for each in since
    )
    one = len(since) == 1
    title = (
        INCIDENTS[since[0]["kind"]] if one else f"{len(since):,} answers were late or failed"
    )
    return WaitingItem(
        population,
        0,
        badge[kinds.pop()] if len(kinds) == 1 else "late or failed",
        "bad",
        f"{title} ({population})",
        "How long an answer takes, or that it fails, can tell something about the data. So "
        f"new charges about {population} are stopped until an owner has looked. What was "
        "charged stays charged.",
        (),
        (ActShown("Look and resume", "look", is_main=True),),
        lines,
    )


# ------------------------------------------------------------------ requests


def reason_in_words(reason: str) -> str:
    """Return a reason as a sentence of its own.

    Example:
        >>> reason_in_words("a second study"), reason_in_words("")
        ('Reason given: a second study.', 'No reason was given.')
    """
    if not reason:
        return "No reason was given."
    return f"Reason given: {reason}" + ("" if reason[-1] in {*".!?"} else ".")


def _requests(
    population: str, found: Sequence[Json], quotas: Sequence[Json], cap: Json
) -> Iterator[WaitingItem]:
    now = {each["holder"]: each["quota"] for each in quotas}
    for each in found:
        holder, asker = each["holder"], each["principal"]
        old = now.get(holder) or now.get(None)
        wanted = percent(share_of(each["quota"], cap))
        instead = "no quota" if old is None else percent(share_of(old, cap))
        for_whom = "" if holder == asker else f" for {holder}"
        reason = reason_in_words(each["reason"])
        yield WaitingItem(
            population,
            each["number"],
            "quota",
            "warn",
            f"{asker} asks for {wanted} instead of {instead}{for_whom}",
            f"{reason} The cap of {population} stays as it is.",
            (f"asked by {asker}, {moment(each['at'])}", "needs 1 owner"),
            (
                ActShown("Grant", "grant", is_main=True),
                ActShown("Grant another share", "grant", asks_percent=True),
                ActShown("Decline", "decline"),
            ),
        )


# ------------------------------------------------------------------ proposals


def _proposal(population: str, told: Json, me: str) -> WaitingItem:
    badge, title, text = _decision(population, told)
    own = told["by"] == me
    meta = [f"proposed by {told['by']}, {moment(told['at'])}"]
    meta.append("needs another owner" if own else "needs you")
    if told["lapses"]:
        meta.append(f"lapses {moment(told['lapses'])}")
    is_key = told["decision"] == "key set"
    approve = ActShown("Approve", "approve", is_main=True, asks_fingerprint=is_key)
    acts = (WITHDRAW,) if own else (approve, WITHDRAW)
    return WaitingItem(
        population, told["number"], badge, "warn", title, text, tuple(meta), acts
    )


def _decision(population: str, told: Json) -> tuple[str, str, str]:
    """Return the badge, the title and the text of a proposal."""
    match told["decision"]:
        case "cap raised":
            return _raise(population, told)
        case "owner added":
            said = f"{told['owner']} could then decide about {population} as you do."
            found = ("owner", f"Add the owner {told['owner']} to {population}", said)
        case "owner removed":
            said = f"{told['owner']} could then decide nothing more about {population}."
            found = ("owner", f"Remove the owner {told['owner']} from {population}", said)
        case "key set":
            said = (
                f"Ask {told['owner']} in person for the fingerprint of the key, and type it "
                "here. It is not shown, so that nobody approves a key unseen."
            )
            found = ("key", f"Set the key with which {told['owner']} signs", said)
        case "sign-ins trusted":
            said = f"Acts of owners who sign in there would count: {told['issuer']}"
            found = ("key", f"Trust sign-ins for {population}", said)
        case "sign-ins ended":
            said = "Acts of owners who sign in by this installation would no longer count."
            found = ("key", f"End the trust in sign-ins for {population}", said)
        case other:
            found = ("proposal", f"{other} ({population})", "See the ledger for what it does.")
    return found


def _raise(population: str, told: Json) -> tuple[str, str, str]:
    now, then = (short(told["total"][each]["amount"]) for each in ("now", "then"))
    unit = "rho" if told["raise"]["measure"].startswith("rho") else "epsilon"
    text = (
        f"{reason_in_words(told['reason'])} What is spent of a raise cannot be taken back. "
        f"It adds {unit} {short(told['raise']['amount'])} to the cap."
    )
    return "cap", f"Raise the cap of {population} from ε {now} to ε {then}", text
