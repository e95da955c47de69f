"""Routes for measuring the limit of rows of a table, for a charge, and for using it.

They are open to owners with the right to set up, because the limit is written to the project
file of this server. Each of the two questions is priced, charged and answered as those of
analysts are.
"""

from typing import Annotated, Any, TypeVar

from fastapi import Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from tacit import session
from tacit.core import RowsProfile, encode_budget_summary
from tacit.numeric import plain
from tacit.server.guarded_route import log_fields, new_router, open_to
from tacit.server.identity import Caller
from tacit.server.messages import Calling, Door, RequestKey, Sent, signer_of
from tacit.server.paid_answers import PaidAnswers
from tacit.server.routes.setup import Drafts
from tacit.server.token_policy import Role

router = new_router()

Result = TypeVar("Result")

Name = Annotated[str, Field(min_length=1, max_length=300)]


class MeasuredTable(Sent):
    """The table whose limit of rows is measured."""

    dataset: Name


class ChosenLimit(MeasuredTable):
    """A table and its new limit of rows."""

    limit: Annotated[int, Field(ge=1, le=10**9, strict=True)]


@router.get("/v1/setup/limits", **open_to(Role.OWNER))
def read_limits(
    dataset: Annotated[Name, Query()],
    drafts: Drafts,  # noqa: ARG001 - whether the caller and the operator allow it
    door: Door,
    caller: Calling,
) -> dict[str, Any]:
    """Return the limits of a table, what one measurement costs, and the newest one.

    This is free. `estimate` is null until the table was measured.
    """
    caller.scope.check_datasets((dataset,), door.catalog)
    known = session.known_limits(_asking(door), dataset)
    declared, profile, most = known.dataset, known.profile, known.dataset.most_rows
    return {
        "dataset": declared.name,
        "population": declared.population,
        "unit": known.unit,
        "max_rows": declared.limits.max_rows,
        "max_groups": declared.limits.max_groups,
        "most_rows": None if most is None else {"rows": most.rows, "source": most.source},
        "profile": None if profile is None else _profile_json(profile),
        "price": known.price.price,
        "budget": known.price.progress,
        "standing": encode_budget_summary(known.price),
        "estimate": None if known.estimate is None else _estimate_json(known.estimate),
    }


@router.post("/v1/setup/limits", **open_to(Role.OWNER))
async def measure_limits(  # noqa: PLR0913, PLR0917 - a table, and where the charge goes
    given: MeasuredTable,
    request: Request,
    drafts: Drafts,
    door: Door,
    caller: Calling,
    key: RequestKey = None,
) -> Response:
    """Measure how many people have more rows than each limit, for 2.5% of the budget.

    It is charged before any data is read; the same again is free. Nothing is declared yet.
    """
    signer = signer_of(request, caller)

    def prepare() -> session.PaidQuestion[session.LimitsEstimate]:
        caller.scope.check_datasets((given.dataset,), door.catalog)
        session.check_usable(drafts.file, _asking(door), given.dataset, signer)
        asked = session.paid_limits(_asking(door), given.dataset, key)
        return _within_scope(asked, door, caller)

    def respond(found: session.LimitsEstimate) -> Response:
        log_fields(request)["charge"] = found.answer.receipt.hex()
        return JSONResponse(_estimate_json(found))

    answers: PaidAnswers = request.app.state.paid
    return await answers.answer(request.state.waiting, prepare, respond)


@router.post("/v1/setup/limits/use", **open_to(Role.OWNER))
async def use_limit(  # noqa: PLR0913, PLR0917 - a table, and where the charge goes
    given: ChosenLimit,
    request: Request,
    drafts: Drafts,
    door: Door,
    caller: Calling,
    key: RequestKey = None,
) -> dict[str, Any]:
    """Count the people beyond a limit again, for 2.5% of the budget, and declare both.

    The project file gets `max_rows`, `max_length` and the profile, and the ledger records
    them. The same count again is free.
    """
    found: list[RowsProfile] = []
    signer = signer_of(request, caller)

    def prepare() -> session.PaidQuestion[RowsProfile]:
        caller.scope.check_datasets((given.dataset,), door.catalog)
        session.check_usable(drafts.file, _asking(door), given.dataset, signer)
        asked = session.paid_profile(_asking(door), given.dataset, given.limit, key)
        return _within_scope(asked, door, caller)

    def respond(profile: RowsProfile) -> Response:
        log_fields(request)["charge"] = profile.release
        found.append(profile)
        return Response(status_code=204)

    answers: PaidAnswers = request.app.state.paid
    await answers.answer(request.state.waiting, prepare, respond)

    def record() -> tuple[session.Change, ...]:
        request.state.waiting.check()  # the token may have been revoked meanwhile
        return session.use_profile(
            drafts.file,
            _asking(door),
            given.dataset,
            found[-1],
            environment=drafts.environment,
            signer=signer,
        )

    recorded = await request.app.state.lanes.owners.run(record, who=caller.account)
    request.app.state.current.look()
    return {
        "dataset": given.dataset,
        "profile": _profile_json(found[-1]),
        "recorded": [{"text": each.text, "details": list(each.details)} for each in recorded],
    }


def _asking(asked: session.Session) -> session.Curator:
    return asked._curator  # noqa: SLF001 - a session in steps


def _within_scope(
    asked: session.PaidQuestion[Result], door: session.Session, caller: Caller
) -> session.PaidQuestion[Result]:
    """Return a question whose price the token permits; raise `NotPermitted` otherwise."""
    if caller.scope.most is not None:
        status = door.status(asked.quote.population.name)
        caller.scope.check_loss(asked.question.loss, status)
    return asked


def _profile_json(profile: RowsProfile) -> dict[str, Any]:
    return {
        "rows": profile.rows,
        "people": profile.people,
        "epoch": profile.epoch,
        "release": profile.release,
    }


def _estimate_json(found: session.LimitsEstimate) -> dict[str, Any]:
    return {
        "now": plain(found.now),
        "suggested": plain(found.suggested),
        "receipt": found.answer.receipt.hex(),
        "limits": [
            {
                "limit": plain(rung.limit),
                "noise": plain(rung.noise),
                "people": [rung.low, rung.high],
                "least_cut": None
                if rung.limit >= found.suggested
                else f"{float(rung.least_cut):.2g}",
            }
            for rung in found.shown
        ],
        "notes": list(found.notes),
    }
