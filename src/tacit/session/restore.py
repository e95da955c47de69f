"""Charge what a restored ledger has forgotten, as an owner of a project."""

import os
from collections.abc import Mapping
from pathlib import Path

from tacit.errors import InvalidValue, LedgerBroken, NotPermitted
from tacit.ledger import (
    ActSigner,
    Anchor,
    AnchorFile,
    Difference,
    HeadMark,
    newest_anchor,
    renew_anchor,
    wall_clock,
)
from tacit.session.curator import FOLDER, MARK, LedgerFolder
from tacit.session.project import project_and_ledger


def charge_difference(
    path: Path,
    *,
    by: str,
    anchors: Path | None = None,
    signer: ActSigner | None = None,
    environment: Mapping[str, str] = os.environ,
) -> tuple[Difference, ...]:
    """Charge the difference between the newest anchor of a project and its restored ledger.

    ``anchors`` is a file of anchors, where the project file names no place for them. Entries
    that only the mark in the ledger's folder has seen are charged for too. Populations of other
    owners wait for these owners: until then, no anchor is written, and the mark stays.
    """
    mark = HeadMark(path.parent / FOLDER / MARK)
    with project_and_ledger(path, environment, checked=False) as (_, home):
        ledger, found = home.ledger.signed_by(signer), list[Difference]()
        for anchor in (_newest(home, anchors, path), mark.read()):
            if anchor is None:
                continue
            try:
                found += ledger.charge_difference(anchor, by=by)
            except NotPermitted:  # the other populations wait for their owners
                if not found:
                    raise
        try:
            if home.place is not None and home.signer is not None:
                renew_anchor(home.store, home.place, home.signer, wall_clock())
            mark.check(home.store)
        except LedgerBroken:  # opening the ledger says why
            if not found:
                raise
            return tuple(found)
    mark.forget()
    return tuple(found)


def _newest(home: LedgerFolder, anchors: Path | None, path: Path) -> Anchor:
    """Return the newest anchor; refuse a place that has none."""
    found = None
    if anchors is not None:
        found = AnchorFile(anchors).newest()
    elif home.place is not None:
        found = newest_anchor(home.place, None)
    if found is None:
        raise InvalidValue(
            f"There is no anchor, so that the difference is not known. Name a file by "
            f"--anchors, or correct [anchors] in {path.name}."
        )
    return found
