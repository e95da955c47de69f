"""Routes for the first setup: connect a database, declare its tables, and apply.

They are open to owners with the right to set up, which only the command line gives, or a
sign-in that the operator names. No answer contains a password.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request, Response
from pydantic import Field, SecretStr, StrictBool, StrictInt

from tacit import session
from tacit.accounting import AttackOdds, odds_of
from tacit.errors import InvalidValue
from tacit.numeric import exact, plain
from tacit.project import Allowance, RowRules
from tacit.server.guarded_route import new_router, open_to
from tacit.server.messages import AllTables, Amount, Calling, Sent, signer_of
from tacit.server.refusal import Refusal, Refused, Told
from tacit.server.setup_drafts import SetupDrafts
from tacit.server.token_policy import Role

router = new_router()

PRIOR = Fraction(1, 100)
"""The belief of the attacker in the words about a budget."""

EPSILONS = tuple(map(Fraction, ("0.1", "0.25", "0.5", "1", "1.5", "2", "3", "4", "6", "8")))
"""The epsilons among which a budget is chosen by its odds."""

USUAL_DELTA = "1e-6"
USUAL_ODDS = {"0.5": 55, "1": 58, "1.5": 62, "2": 65, "3": 71, "4": 76, "6": 85, "8": 91}
"""Of 100 pairs, those that the best attacker tells apart at most, by epsilon, with this delta.

They are stored because each takes a second; a test computes three of them again.
"""

Name = Annotated[str, Field(min_length=1, max_length=300)]
Short = Annotated[str, Field(min_length=1, max_length=63)]
Count = Annotated[StrictInt, Field(ge=1, le=10**9)]


async def drafts_of(request: Request, caller: Calling) -> SetupDrafts:
    """Return the drafts of this server, if the caller and the operator allow it."""
    if not caller.may_set_up:
        raise Refused(
            Refusal(
                403,
                Told(
                    code="not_permitted",
                    message="Your token does not permit to set up a population.",
                    allowed="an owner's token with the right to set up",
                    next="Ask the operator for `tacit token issue YOU --role owner --setup`.",
                ),
            )
        )
    drafts: SetupDrafts | None = request.app.state.setup
    if drafts is None:
        raise Refused(
            Refusal(
                404,
                Told(
                    code="no_setup",
                    message="On this server no database can be connected over HTTP.",
                    next="Use `tacit init` and `tacit apply`, or ask the operator to name the "
                    'databases: [server.setup] allow = ["db.internal:5432"].',
                ),
            )
        )
    return drafts


Drafts = Annotated[SetupDrafts, Depends(drafts_of)]


class DatabaseBody(Sent):
    """A PostgreSQL database in parts, and the name of the people whose rows it has."""

    host: Annotated[str, Field(min_length=1, max_length=253)]
    port: Annotated[StrictInt, Field(ge=1, le=65_535)] = 5432
    database: Short
    role: Short
    password: Annotated[SecretStr, Field(min_length=1, max_length=1000)]
    population: Short = "people"


class LinkBody(Sent):
    """A foreign key that leads to the person."""

    column: Name
    parent: Name
    parent_column: Name
    unique_by_constraint: StrictBool = False


class TableBody(Sent):
    """A table, the person of each row, and the limits of one person; or that it is left out."""

    name: Name
    protect: StrictBool = True
    unit: Name | None = None
    link: LinkBody | None = None
    max_groups: Count | None = None
    max_rows: Count | None = None
    most_rows: Count | None = None
    most_rows_source: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    min_people: Count | None = None
    one_row: StrictBool = False


class ColumnBody(Sent):
    """The bounds or the keys of a column, and where they are known from."""

    table: Name
    column: Name
    bounds: Annotated[list[Amount], Field(min_length=2, max_length=2)] | None = None
    keys: Annotated[list[str | StrictInt], Field(min_length=1, max_length=1000)] | None = None
    provenance: Literal["public", "policy"] | None = None
    max_total: Amount | None = None


class BudgetBody(Sent):
    """A budget: an epsilon, or the most of 100 pairs that the best attacker may tell apart."""

    epsilon: Amount | None = None
    of_100: Annotated[StrictInt, Field(gt=50, lt=100)] | None = None
    delta: Amount = 0


@router.post("/v1/setup/databases", status_code=201, **open_to(Role.OWNER))
def connect(
    given: DatabaseBody, drafts: Drafts, caller: Calling, curator: AllTables
) -> dict[str, Any]:
    """Connect to a PostgreSQL that the operator allows, and list its tables and columns.

    No row is read. The password is never returned. A setup that was under way ends.
    """
    draft = session.connect_database(
        drafts.file,
        drafts.settings,
        session.DatabasePlace(
            given.host,
            given.port,
            given.database,
            given.role,
            given.password.get_secret_value(),
        ),
        population=given.population,
        owner=caller.principal,
        ledger=curator.home.ledger,
        environment=drafts.environment,
    )
    drafts.begin(draft)
    return _draft_json(draft)


@router.get("/v1/setup/draft", response_model=None, **open_to(Role.OWNER))
def read_draft(
    drafts: Drafts,
    caller: Calling,
    form: Annotated[Literal["json", "toml"], Query(alias="format")] = "json",
) -> dict[str, Any] | Response:
    """Return what is declared so far, and what is missing: as JSON, or as TOML to download.

    The TOML has the sections that this setup adds, and none of other owners. `applied` is what
    the caller applied last, and `choices` are budgets with their odds.
    """
    if form == "toml":
        headers = {"Content-Disposition": 'attachment; filename="tacit.toml"'}
        text = drafts.get(caller.principal).added.text
        return Response(text, headers=headers, media_type="application/toml")
    draft = drafts.find(caller.principal)
    return {
        "allowed": [{"host": host, "port": port} for host, port in drafts.settings.allow],
        "draft": None if draft is None else _draft_json(draft),
        "choices": [
            {"epsilon": epsilon, "delta": USUAL_DELTA, "of_100": pairs}
            for epsilon, pairs in USUAL_ODDS.items()
        ],
        "applied": drafts.last_applied(caller.principal),
    }


@router.delete("/v1/setup/draft", status_code=204, **open_to(Role.OWNER))
def end_draft(drafts: Drafts, caller: Calling) -> Response:
    """End the setup that is under way; nothing of it was written."""
    drafts.end(caller.principal)
    return Response(status_code=204)


@router.post("/v1/setup/tables", **open_to(Role.OWNER))
def declare_table(given: TableBody, drafts: Drafts, caller: Calling) -> dict[str, Any]:
    """Declare which person each row of a table belongs to, and the limits of one person."""

    def change(draft: session.SetupDraft) -> session.SetupDraft:
        if not given.protect:
            return draft.leave_out(given.name)
        _check_table(given, known=given.name in draft.declared)
        link = None if given.link is None else given.link.model_dump(exclude_defaults=True)
        rules = given.model_dump(exclude={"name", "protect", "link"})
        return draft.protect(given.name, RowRules(**rules, link=link))

    return _draft_json(drafts.change(caller.principal, change))


def _check_table(given: TableBody, *, known: bool) -> None:
    """Refuse rules that contradict each other, or are missing the first time."""
    people = [each for each in (given.unit, given.link) if each is not None]
    if len(people) > 1 or not (people or known):
        raise InvalidValue(
            "Say in one way which person a row belongs to: `unit`, the column with the person, "
            "or `link`, a column that leads to a row of another table."
        )
    if not known and (given.max_groups is None or given.max_rows is None):
        raise InvalidValue(
            "Say how much of one person counts: `max_groups` and `max_rows`, such as 1 and 10."
        )
    if (given.most_rows is None) != (given.most_rows_source is None):
        raise InvalidValue(
            "Give `most_rows` together with `most_rows_source`, the public fact from which it "
            "is known."
        )


@router.post("/v1/setup/columns", **open_to(Role.OWNER))
def declare_column(given: ColumnBody, drafts: Drafts, caller: Calling) -> dict[str, Any]:
    """Declare the bounds or the keys of a column, and where they are known from."""
    if (given.bounds is None) == (given.keys is None):
        raise InvalidValue("Give either `bounds`, two numbers or days, or `keys`.")
    if given.provenance is None:
        raise InvalidValue(
            f"Say where this is known from, for {given.table}.{given.column}: `public`, a fact "
            "outside the tables, or `policy`, a rule that was set without looking at the data."
        )
    provenance = given.provenance
    found: dict[str, Any] = {"keys": given.keys}
    if given.bounds is not None:
        found = {"bounds": [_end(each) for each in given.bounds]}
    total = None if given.max_total is None else plain(exact(given.max_total))
    change: Callable[[session.SetupDraft], session.SetupDraft] = lambda draft: draft.declare(  # noqa: E731
        given.table, given.column, found, provenance, total
    )
    return _draft_json(drafts.change(caller.principal, change))


def _end(value: str | float) -> date | str:
    """Return an end of bounds: a day if it is one, and otherwise the text of a number."""
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        number = exact(value)
        return value if isinstance(value, str) else plain(number)


@router.post("/v1/setup/budget", **open_to(Role.OWNER, lane="audit"))
def choose_budget(given: BudgetBody, drafts: Drafts, caller: Calling) -> dict[str, Any]:
    """Declare the budget of everything together, and return its odds in words.

    With `of_100` instead of an epsilon, the largest of some epsilons is chosen of which the
    best attacker tells a release with a person from one without in no more of 100 tries.
    """
    if (given.epsilon is None) == (given.of_100 is None):
        raise InvalidValue("Give either `epsilon`, such as 3, or the odds, `of_100`.")
    drafts.get(caller.principal)
    delta = exact(given.delta)
    if given.epsilon is not None:
        epsilon = exact(given.epsilon)
    else:
        epsilon = _epsilon_within(Fraction(given.of_100 or 0, 100), delta)
    _odds_json(epsilon, delta)  # before anything is declared, because it may be refused
    text = given.epsilon if isinstance(given.epsilon, str) else plain(epsilon)
    sent = None if not delta else given.delta
    sent = plain(delta) if isinstance(sent, int | float) else sent
    draft = drafts.change(caller.principal, lambda each: each.spend(text, sent))
    return _draft_json(draft)


def _epsilon_within(most: Fraction, delta: Fraction) -> Fraction:
    """Return the largest of `EPSILONS` whose odds are within ``most``; they grow with it."""
    low, high = 0, len(EPSILONS)
    while low < high:
        middle = (low + high) // 2
        if _odds(EPSILONS[middle], delta).pairs <= most:
            low = middle + 1
        else:
            high = middle
    if not low:
        raise InvalidValue("No useful budget has odds this small. Allow 53 of 100 or more.")
    return EPSILONS[low - 1]


@lru_cache(maxsize=1000)
def _odds(epsilon: Fraction, delta: Fraction) -> AttackOdds:
    return odds_of(session.budget_of(Allowance(epsilon=epsilon, delta=delta)).cap, PRIOR)


def _odds_json(epsilon: Fraction, delta: Fraction) -> dict[str, Any]:
    if epsilon <= 0 or delta < 0 or delta >= 1:
        raise InvalidValue("epsilon must be above 0, and delta at least 0 and below 1.")
    odds = _odds(epsilon, delta)
    return {
        **odds.to_dict(),
        "epsilon": plain(epsilon),
        "of_100": ceil(100 * odds.pairs),
        "in_words": str(odds),
    }


@router.get("/v1/setup/changes", **open_to(Role.OWNER))
def look(drafts: Drafts, caller: Calling, curator: AllTables) -> dict[str, Any]:
    """Return what applying would record in the ledger, in words; nothing is written."""
    draft = _complete(drafts, caller.principal)
    found = session.plan_draft(draft, drafts.file, curator.home.ledger, drafts.environment)
    return {"changes": [{"text": each.text, "details": list(each.details)} for each in found]}


@router.post("/v1/setup/apply", **open_to(Role.OWNER))
def apply(
    request: Request, drafts: Drafts, caller: Calling, curator: AllTables
) -> dict[str, Any]:
    """Write the project file and its secret, and record the declarations in the ledger.

    The server then loads the new tables, which can take some seconds.
    """
    draft = _complete(drafts, caller.principal)
    found = session.apply_draft(
        draft,
        drafts.file,
        curator.home.ledger,
        drafts.environment,
        signer_of(request, caller),
    )
    recorded = {
        "population": draft.population,
        "tables": list(draft.declared),
        "recorded": [{"text": each.text, "details": list(each.details)} for each in found],
    }
    drafts.keep_applied(caller.principal, recorded)
    request.app.state.current.look()
    return recorded


def _complete(drafts: SetupDrafts, owner: str) -> session.SetupDraft:
    """Return the owner's draft; raise `InvalidValue` if something must still be declared."""
    draft = drafts.get(owner)
    missing = draft.missing()
    if missing:
        raise InvalidValue(" ".join(f"{each['what']} {each['next']}" for each in missing))
    return draft


# ------------------------------------------------------------------ answers


def _draft_json(draft: session.SetupDraft) -> dict[str, Any]:
    declared = draft.declared
    budget = draft.budget
    return {
        "population": draft.population,
        "address": draft.engine.address,
        "tables": [
            {
                "name": each.name,
                "table": list(each.table),
                "why_left_out": each.why,
                "columns": [
                    {
                        "name": column.name,
                        "kind": column.kind.value,
                        "takes": draft.takes(each.name, column),
                    }
                    | dict(_domain(declared.get(each.name), column.name))
                    for column in each.columns
                ],
                "left_out": [{"name": name, "type": kind} for name, kind in each.unused],
                "declared": _rules_json(declared.get(each.name)),
            }
            for each in draft.tables
        ],
        "budget": None if budget is None else {key: str(each) for key, each in budget.items()},
        "odds": None if budget is None else _odds_of_budget(budget),
        "missing": draft.missing(),
        "advice": draft.advice(),
        "toml": draft.added.text,
    }


def _odds_of_budget(budget: Mapping[str, Any]) -> dict[str, Any]:
    return _odds_json(exact(budget["epsilon"]), exact(budget.get("delta", 0)))


def _domain(section: Any, column: str) -> Iterator[tuple[str, Any]]:
    facts = None if section is None else section["columns"].get(column)
    for key in ("bounds", "keys", "provenance", "max_total"):
        if isinstance(facts, dict) and key in facts:
            found = facts[key]
            yield key, [str(each) for each in found] if key == "bounds" else found


def _rules_json(section: Any) -> dict[str, Any] | None:
    if section is None:
        return None
    left = {"columns", "population", "engine", "table", "epoch"}
    return {key: each for key, each in section.items() if key not in left}
