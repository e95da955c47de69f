"""Acts of owners after a loss: charge what a restored ledger forgot, and begin new anchors.

Both change what a later opening of the ledger is compared with. So an anchor counts only if a
key signed it that is known, and new anchors are begun by an owner, with the owner's key where
acts are signed.
"""

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
    fingerprint,
    is_key,
    newest_anchor,
    renew_anchor,
    start_anchors,
    wall_clock,
)
from tacit.session.curator import FOLDER, MARK, LedgerFolder
from tacit.session.project import project_and_ledger


def charge_difference(  # noqa: PLR0913 - a file, and how an owner acts
    path: Path,
    *,
    by: str,
    anchors: Path | None = None,
    anchor_key: str | None = None,
    signer: ActSigner | None = None,
    environment: Mapping[str, str] = os.environ,
) -> tuple[Difference, ...]:
    """Charge the difference between the newest anchor of a project and its restored ledger.

    ``anchors`` is a file of anchors, where the project file names no place for them. The anchor
    must be signed with the key of this ledger or of one of its owners, or with the key whose
    fingerprint is ``anchor_key``, which an owner names if the sealing key is lost. Entries
    that only the mark in the ledger's folder has seen are charged for too. Populations of other
    owners wait for these owners: until then, no anchor is written, and the mark stays.
    """
    mark = HeadMark(path.parent / FOLDER / MARK)
    with project_and_ledger(path, environment, checked=False) as (_, home):
        ledger, found = home.ledger.signed_by(signer), list[Difference]()
        for anchor in (_newest(home, anchors, path, anchor_key), mark.read()):
            if anchor is None:
                continue
            try:
                found += ledger.charge_difference(anchor, by=by)
            except NotPermitted:  # the other populations wait for their owners
                if not found:
                    raise
        try:
            if home.place is not None and home.signer is not None:
                renew_anchor(home.store, home.place, home.signer, wall_clock)
            mark.check(home.store)
        except LedgerBroken:  # opening the ledger says why
            if not found:
                raise
            return tuple(found)
    mark.forget()
    return tuple(found)


def _newest(home: LedgerFolder, anchors: Path | None, path: Path, named: str | None) -> Anchor:
    """Return the newest anchor; refuse a place that has none, and an unknown key."""
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
    _check_key(home, found, named)
    return found


def _check_key(home: LedgerFolder, anchor: Anchor, named: str | None) -> None:
    """Refuse an anchor that anybody may have written, with whatever sums."""
    if not anchor.signature:
        raise InvalidValue(
            "This anchor is not signed, so that anybody may have written it, and nothing was "
            "charged. Name anchors that `tacit ledger anchor` wrote."
        )
    ledger, key = home.ledger, anchor.key.hex()
    keys = {} if home.signer is None else {home.signer.public.hex(): ""}
    for name in ledger.populations():
        keys |= dict.fromkeys(ledger.owner_keys(name).current.values(), name)
    shown = fingerprint(key) if is_key(key) else key
    if key not in keys and (named is None or named.strip().lower() != shown):
        raise InvalidValue(
            f"This anchor was signed with the key {shown}, which is neither the key of this "
            "ledger nor of one of its owners, so that nothing was charged. Restore the sealing "
            "key with the ledger: .tacit/key, or TACIT_STATE_KEY. If that key is lost, compare "
            "with an older anchor that you have filed, and name its key: --anchor-key "
            f"{shown}."
        )


# ------------------------------------------------------------------ new anchors


def begin_anchors(
    path: Path,
    *,
    by: str,
    signer: ActSigner | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Anchor:
    """Begin new anchors in the place that a project names, as the owner ``by``.

    The ledger is not compared with the anchors before. Raise `NotPermitted` if ``by`` owns no
    population, or does not sign with the own key although the acts of owners are signed.
    """
    with project_and_ledger(path, environment, checked=False) as (_, home):
        if home.place is None or home.signer is None:
            raise InvalidValue(
                f"{path.name} names no place for anchors. Add the section [anchors] with a "
                "file, a folder or a command."
            )
        _check_owner(home, by, signer)
        return start_anchors(home.store, home.place, home.signer, wall_clock)


def _check_owner(home: LedgerFolder, by: str, signer: ActSigner | None) -> None:
    ledger = home.ledger
    names = ledger.populations()
    if not names:
        raise InvalidValue(
            "This ledger has no budget, so that there is nothing to anchor. An owner opens one "
            "with `tacit apply`."
        )
    owned = [name for name in names if by in ledger.owners(name)]
    signed = [name for name in names if ledger.owner_keys(name).since]
    if not owned or (signed and not set(owned) & set(signed)):
        raise NotPermitted(
            f"New anchors are begun by an owner of {', '.join(map(repr, signed or names))}, "
            f"and {by} is none. Name the owner by --as."
        )
    for name in set(owned) & set(signed):
        key = ledger.owner_keys(name).key_of(by)
        if key is None or signer is None or signer.sign_in or signer.key != key:
            raise NotPermitted(
                f"The acts of owners of {name!r} are signed, so that new anchors are begun "
                f"with the key of {by}: name its file by --key or in TACIT_KEY."
            )
