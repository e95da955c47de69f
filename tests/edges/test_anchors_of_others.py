"""Which anchors an honest restore takes, and who may begin new ones."""

from pathlib import Path

import pytest
from serving import make_project
from signing import key_of

from tacit.errors import InvalidValue, NotPermitted
from tacit.ledger import ActSigner, KeySet, entries, fingerprint, sign_in_of
from tacit.ledger.anchor_places import newest_anchor
from tacit.ledger.chain import Anchor, take_anchor
from tacit.ledger.chain_acts import Restored
from tacit.server.notices import notice_of
from tacit.session.project import project_and_ledger
from tacit.session.restore import begin_anchors, charge_difference
from tacit.store.key_files import SigningKey

OTHER = SigningKey(b"2" * 32)
ANCHORS = '[anchors]\nfile = "kept.anchors"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A project with an owner of patients, olga, and one of staff, oscar."""
    return make_project(tmp_path / "clinic", more=ANCHORS)


def anchor_of(file: Path) -> Anchor:
    with project_and_ledger(file) as (_, home):
        return take_anchor(home.store)


def set_key(file: Path) -> ActSigner:
    """Olga signs from now on."""
    olga = key_of("olga")
    with project_and_ledger(file) as (_, home):
        home.ledger.signed_by(olga).propose("patients", KeySet("olga", olga.key), by="olga")
    return olga


def written(file: Path, anchor: Anchor) -> Path:
    path = file.parent / "named.anchors"
    path.write_text(f"{anchor.text}\n")
    return path


def test_an_anchor_of_an_unknown_key_is_named_by_its_fingerprint(file: Path) -> None:
    named = written(file, anchor_of(file).sign(OTHER, 7))
    shown = fingerprint(OTHER.public.hex())
    with pytest.raises(InvalidValue, match=f"--anchor-key {shown}"):
        charge_difference(file, by="olga", anchors=named)
    with pytest.raises(InvalidValue, match="neither the key of this ledger"):
        charge_difference(file, by="olga", anchors=named, anchor_key=fingerprint("d7" * 32))
    assert charge_difference(file, by="olga", anchors=named, anchor_key=shown) == ()


def test_an_anchor_that_nobody_signed_is_refused(file: Path) -> None:
    named = written(file, anchor_of(file))
    with pytest.raises(InvalidValue, match="is not signed"):
        charge_difference(file, by="olga", anchors=named)


def test_an_anchor_of_an_owner_is_taken_while_the_key_counts(file: Path) -> None:
    olga = set_key(file)
    named = written(file, anchor_of(file).sign(olga.signing, 7))
    assert charge_difference(file, by="olga", anchors=named) == ()
    with project_and_ledger(file) as (_, home):
        new = key_of("olga's second key")
        home.ledger.signed_by(olga).propose("patients", KeySet("olga", new.key), by="olga")
    with pytest.raises(InvalidValue, match="neither the key of this ledger"):
        charge_difference(file, by="olga", anchors=named)


def test_new_anchors_are_begun_by_an_owner(file: Path) -> None:
    with pytest.raises(NotPermitted, match="begun by an owner of 'patients', 'staff'"):
        begin_anchors(file, by="eve")
    assert begin_anchors(file, by="oscar").generation == 1


def test_where_acts_are_signed_new_anchors_need_the_key(file: Path) -> None:
    olga = set_key(file)
    server = ActSigner(olga.signing, sign_in_of("https://id.example", "a token"))
    for signer in (None, key_of("omar"), server):
        with pytest.raises(NotPermitted, match="begun with the key of olga"):
            begin_anchors(file, by="olga", signer=signer)
    with pytest.raises(NotPermitted, match="begun by an owner of 'patients', and oscar"):
        begin_anchors(file, by="oscar")
    assert begin_anchors(file, by="olga", signer=olga).generation == 1


def test_new_anchors_do_not_forget_a_key_that_the_ledger_lost(file: Path) -> None:
    olga = set_key(file)
    with project_and_ledger(file) as (_, home):
        assert home.place is not None
        found = newest_anchor(home.place, home.signer)
    assert found is not None
    assert olga.key in found.heads[0].keys
    other = make_project(file.parent.parent / "other", more=ANCHORS)  # it has no keys
    (other.parent / "kept.anchors").write_text((file.parent / "kept.anchors").read_text())
    with pytest.raises(InvalidValue, match="First set the keys of the owners again"):
        begin_anchors(other, by="olga")


def test_owners_are_notified_of_a_restore() -> None:
    act = Restored(9, "d7" * 32, 0, 0, "olga", 7)
    found = notice_of("patients", entries.Entry("patients", 3, entries.encode_act(act), b""))
    assert found is not None
    assert (found.what, found.by) == ("restored", "olga")
