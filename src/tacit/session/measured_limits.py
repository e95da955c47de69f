"""A limit of rows that an owner measures and chooses in steps, as over HTTP.

`tacit limits --estimate` asks both questions of `tacit.session.estimate` in one call, on the
owner's own machine. A server has many callers, so that each question is a `PaidQuestion` here.
The chosen limit and its profile are written to the project file and recorded in the ledger.

Guarantee: nothing is charged while the project file has changes of this owner that the ledger
lacks, because the limit could not be recorded without them.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tacit.core import BudgetSummary, Dataset, RowsProfile
from tacit.errors import Conflict, InternalError, InvalidValue, NotPermitted, TacitError
from tacit.ledger import ActSigner
from tacit.project import ProjectText, limit_rows
from tacit.query import FitQuote, Quote
from tacit.session.ask import budget_summary
from tacit.session.changes import Change
from tacit.session.curator import Curator
from tacit.session.estimate import (
    LimitsEstimate,
    beyond,
    check_limit,
    histogram,
    read_limits,
    read_people,
    share_of_cap,
)
from tacit.session.project import apply_project, unrecorded_changes
from tacit.session.question_steps import PaidQuestion, Stage, paid_at


@dataclass(frozen=True, slots=True)
class KnownLimits:
    """The limits of a dataset: public facts, the price of a measurement, and the newest one.

    ``price`` is that of each of the two questions. ``estimate`` is the stored answer of the
    first one, or None if it was not asked yet.
    """

    dataset: Dataset
    unit: str
    profile: RowsProfile | None
    """The profile of the present epoch."""
    price: BudgetSummary
    estimate: LimitsEstimate | None


def known_limits(curator: Curator, name: str) -> KnownLimits:
    """Return what is known about the limits of a dataset. Nothing is charged or read."""
    dataset = curator.catalog.dataset(name)
    people = curator.catalog.population(dataset.population)
    paid = paid_limits(curator, name)
    status = curator.home.ledger.status(dataset.population)
    found = paid.look()
    now, profile = curator.catalog.epochs_of(name), dataset.profile
    return KnownLimits(
        dataset,
        people.unit.name,
        profile if profile is not None and profile.epoch == now else None,
        budget_summary(status, paid.quote, paid=True),
        None if isinstance(found, Stage) else found,
    )


def paid_limits(
    curator: Curator, name: str, request: str | None = None
) -> PaidQuestion[LimitsEstimate]:
    """Price the histogram of a dataset's people by their rows, for its owner."""
    _check_owner(curator, name)
    asked = histogram(curator, name)
    paid = paid_at(asked, share_of_cap(asked), request=request)
    quote = _quote_of(paid.quote)
    return paid.read_by(lambda answer: read_limits(curator, name, answer, quote))


def paid_profile(
    curator: Curator, name: str, limit: int, request: str | None = None
) -> PaidQuestion[RowsProfile]:
    """Price a fresh count of the people with more than ``limit`` rows, for an owner.

    Guarantee: with probability 99%, at most as many people have more rows as the result says.
    """
    _check_owner(curator, name)
    check_limit(limit)
    asked = beyond(curator, name, limit)
    paid = paid_at(asked, share_of_cap(asked), request=request)
    quote, epochs = _quote_of(paid.quote), curator.catalog.epochs_of(name)
    return paid.read_by(
        lambda answer: RowsProfile(
            limit, read_people(answer, quote), epochs, answer.receipt.hex()
        )
    )


def _quote_of(quote: Quote | FitQuote) -> Quote:
    if not isinstance(quote, Quote):
        raise InternalError("A profile is a question, and not a fit.")
    return quote


def _check_owner(curator: Curator, name: str) -> None:
    population = curator.catalog.dataset(name).population
    owners = curator.home.ledger.owners(population)
    if curator.principal not in owners:
        raise NotPermitted(
            f"{curator.principal} does not own {population!r}, and only an owner chooses its "
            f"limits. Ask {', '.join(sorted(owners))}."
        )


# ------------------------------------------------------------------ record


def check_usable(
    file: Path, curator: Curator, name: str, signer: ActSigner | None = None
) -> None:
    """Refuse to go on where a new limit of a dataset could not be recorded.

    The ledger must have all other changes of this owner, and accept the owner's signature.
    """
    ledger, owner = curator.home.ledger, curator.principal
    population = curator.catalog.dataset(name).population
    keys = ledger.owner_keys(population)
    if keys.since and (signer is None or signer.key not in keys.trusted):
        raise NotPermitted(
            f"The acts of owners of {population!r} are signed, and this one would not be. "
            f"Nothing was charged. Run `tacit limits {name} --estimate` where your key is, or "
            "sign in at the identity provider that the owners have decided to trust."
        )
    if any(
        each.stops_questions and owner in ledger.owners(each.population)
        for each in unrecorded_changes(file)
    ):
        raise InvalidValue(
            f"{file.name} has other changes that are not recorded. Run `tacit apply` first."
        )


def use_profile(  # noqa: PLR0913 - a file, a profile, and how an owner acts
    file: Path,
    curator: Curator,
    name: str,
    profile: RowsProfile,
    *,
    environment: Mapping[str, str] = os.environ,
    signer: ActSigner | None = None,
) -> tuple[Change, ...]:
    """Write a limit of rows with its profile to the project file, record it, and return how.

    Guarantee: if nothing is recorded, the project file is as it was, unless another writer
    changed it meanwhile.
    """
    check_usable(file, curator, name, signer)
    before = ProjectText.at(file)
    after = limit_rows(before, name, profile)
    try:
        after.save(file)
        return apply_project(
            file,
            by=curator.principal,
            environment=environment,
            needed_only=True,
            signer=signer,
        )
    except Conflict:
        refusal = InvalidValue(
            f"{file.name} was changed meanwhile, and nothing was recorded. The count is "
            "stored: choose the limit again, for nothing."
        )
    except BaseException:
        if _is_unrecorded(file, curator.catalog.dataset(name).population):
            with suppress(Conflict):
                ProjectText(file.name, before.text, after.text).save(file)
        raise
    raise refusal


def _is_unrecorded(file: Path, population: str) -> bool:
    """Return whether the ledger lacks a declaration of ``population``; others' do not count."""
    try:
        return any(
            each.stops_questions and each.population == population
            for each in unrecorded_changes(file)
        )
    except (TacitError, OSError):
        return False
