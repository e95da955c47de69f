"""The rules for signed acts: whose key signs what, and how keys are set, replaced and lost.

Until an owner has a key, nothing is signed. From the first key on, these rules hold:

1. Every act of an owner is signed by that owner's own key, or by a sign-in that the owners
   trust. The only exception is a freeze: it is an emergency, and takes nothing from anybody.
2. The decision to set an owner's key is proposed by that owner. It is signed in any case, also
   before the first key. The *new* key may sign it where a second owner must approve: so an
   owner gets a first key, and replaces a lost one. A single owner needs the old key, or a
   trusted sign-in: otherwise anybody with a shell could replace the key.
3. A key is set once. Two owners have two keys, and a key that was replaced stays replaced.
4. A proposal from before the first key is not approved later, since nobody signed it, and
   neither is one that its owner signed with a key that was replaced since.
5. The rules stay on for good, even if all owners with keys have been removed.
6. When an owner is removed, no proposal of this owner waits any longer. When the sign-ins of an
   installation are no longer trusted, no proposal waits at all, since a sign-in may have signed
   it. The writing path withdraws these proposals first. So nobody regains a proposal by being
   added again, or by being trusted again.

`OwnerKeys` decides these rules as pure functions. The path that writes (`attest`, and
`tacit.ledger.govern`) and the path that verifies (`SignatureReader`, for `tacit.ledger.book`)
both call them, so that the two cannot come to differ. The rest of this file reads and writes
the table of keys, which lets the writing path decide without the whole chain.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import insert as upsert

from tacit.errors import InvalidValue, LedgerBroken, NotPermitted
from tacit.ledger.chain import append
from tacit.ledger.entries import (
    Act,
    Decision,
    Entry,
    Frozen,
    Opened,
    OwnerRemoved,
    Proposed,
    Signature,
)
from tacit.ledger.owner_acts import (
    ActSigner,
    Attested,
    KeySet,
    SignInsEnded,
    SignInsTrusted,
    fingerprint,
    fits,
    is_key,
)
from tacit.store import Work
from tacit.store.tables import owner_keys

# ------------------------------------------------------------------ rules


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key in a chain: the key of an owner, or of an installation with an issuer.

    ``since`` is the number of the entry that set it, and ``current`` whether it still counts.
    """

    owner: str
    issuer: str
    since: int
    current: bool


@dataclass(frozen=True, slots=True)
class OwnerKeys:
    """All keys that a population's chain ever set, by the key in hexadecimal.

    Example:
        >>> none, key = OwnerKeys(), "d7" * 32
        >>> held = none.after(KeySet("olga", key), 5)
        >>> none.since, held.since, held.key_of("olga") == key, held.key_of("omar")
        (0, 5, True, None)
        >>> held.broken_rule(KeySet("omar", key))
        'two owners have two keys'
    """

    known: Mapping[str, KnownKey] = field(default_factory=dict)

    @property
    def since(self) -> int:
        """Number of the entry that set the first key of an owner; 0 if acts are not signed."""
        return min((each.since for each in self.known.values() if each.owner), default=0)

    @property
    def trusted(self) -> dict[str, str]:
        """The issuer of each installation whose sign-ins are accepted, by its key."""
        return {
            key: each.issuer
            for key, each in self.known.items()
            if each.current and not each.owner
        }

    @property
    def current(self) -> dict[str, str]:
        """The present key of each owner who has one, by the owner's name."""
        return {
            each.owner: key for key, each in self.known.items() if each.current and each.owner
        }

    def key_of(self, owner: str) -> str | None:
        """Return the present key of ``owner``, or None."""
        return self.current.get(owner)

    def broken_proposal(self, by: str, decision: Decision) -> str | None:
        """Return the rule that a proposal of ``decision`` by ``by`` would break, or None."""
        if isinstance(decision, KeySet) and decision.owner != by:
            return "an owner proposes a key for themselves, and for nobody else"
        return self.broken_rule(decision)

    def broken_rule(self, decision: Decision) -> str | None:
        """Return the rule that the effect of ``decision`` would break, or None."""
        match decision:
            case KeySet(owner, key):
                return self._rule_of_key(owner, key)
            case SignInsTrusted(key, issuer):
                return self._rule_of_trust(key, issuer)
            case SignInsEnded(key) if key not in self.trusted:
                return "only a trusted installation loses its trust"
        return None

    def _rule_of_key(self, owner: str, key: str) -> str | None:
        known = self.known.get(key)
        if not is_key(key):
            return "a key is 64 hexadecimal digits that only one person can sign for"
        if not owner:
            return "an owner has a name"  # the keys of installations have none
        if known is None:
            return None
        if known.owner != owner:
            return "two owners have two keys"
        return "a key is set once, and a key that was replaced stays replaced"

    def _rule_of_trust(self, key: str, issuer: str) -> str | None:
        known = self.known.get(key)
        if not is_key(key):
            return "a key is 64 hexadecimal digits that only one person can sign for"
        if not issuer or not issuer.isascii() or " " in issuer:
            return "an issuer is named by its address"
        if known is not None and (known.owner or known.current):
            return "an installation is trusted once, and its key is nobody else's"
        return None if self.since else "sign-ins are trusted after an owner has a key"

    def after(self, decision: Decision, seq: int) -> "OwnerKeys":
        """Return the keys after ``decision``, which takes effect by entry ``seq``.

        It must not break a rule. A removed owner's key no longer counts.
        """
        known = dict(self.known)
        match decision:
            case KeySet(owner, key):
                self._retire(known, owner)
                known[key] = KnownKey(owner, "", seq, current=True)
            case OwnerRemoved(owner):
                self._retire(known, owner)
            case SignInsTrusted(key, issuer):
                known[key] = KnownKey("", issuer, seq, current=True)
            case SignInsEnded(key):
                known[key] = replace(known[key], current=False)
        return OwnerKeys(known)

    def _retire(self, known: dict[str, KnownKey], owner: str) -> None:
        key = self.key_of(owner)
        if key is not None:
            known[key] = replace(known[key], current=False)

    def can_approve(self, proposal: int, act: Proposed) -> bool:
        """Return whether the proposal ``act`` in this entry has a signature that still counts.

        The proposal of a key has a signature also before the first key.
        """
        own = self.key_of(act.by)
        last = 0 if own is None else self.known[own].since
        first = 0 if isinstance(act.decision, KeySet) else self.since
        return proposal > max(first, last)

    def signature_for(self, act: Act | Decision, owners: Collection[str]) -> "Required | None":
        """Return the signature that ``act`` needs, of an owner among ``owners``, or None.

        Every act with a field ``by`` is an owner's. A new kind of act is therefore signed, too,
        unless it is written down here that it is not.
        """
        by: str | None = getattr(act, "by", None)
        if by is None or isinstance(act, (Opened, Frozen)):
            return None
        keys = {key for key in (self.key_of(by),) if key is not None}
        trusted = self.trusted
        match act.decision if isinstance(act, Proposed) else None:
            case KeySet(_, key):
                if not self.since or len(owners) > 1:
                    keys.add(key)
            case SignInsEnded(key):
                trusted.pop(key, None)  # who ends a trust must be able to act without it
            case _ if not self.since:
                return None
        return Required(by, frozenset(keys), trusted, self)


def ends_proposal(decision: Decision, waiting: Proposed) -> bool:
    """Return whether the proposal ``waiting`` must be withdrawn before ``decision`` counts.

    Example:
        >>> rise = Proposed(OwnerRemoved("eve"), by="omar", at=7)
        >>> [ends_proposal(OwnerRemoved(who), rise) for who in ("olga", "omar")]
        [False, True]
    """
    match decision:
        case OwnerRemoved(owner):
            return waiting.by == owner
        case SignInsEnded():
            return True
    return False


@dataclass(frozen=True, slots=True)
class Required:
    """The signature that an act of the owner ``by`` needs: by one of ``keys``, or a sign-in."""

    by: str
    keys: frozenset[str]
    trusted: Mapping[str, str]
    all_keys: OwnerKeys

    def accepts(self, signer: ActSigner) -> bool:
        """Return whether ``signer`` has one of the keys, or vouches for a trusted sign-in."""
        if signer.sign_in:
            return self.trusted.get(signer.key) == signer.sign_in.rpartition(" ")[0]
        return signer.key in self.keys

    def fault_of(self, given: Attested, seq: int, entry_hash: bytes) -> str | None:
        """Return why ``given`` is not the signature of this act in entry ``seq``, or None."""
        if given.entry != seq:
            return (
                f"the signature of entry {seq} is missing: the entry after it signs entry "
                f"{given.entry}"
            )
        if given.sign_in:
            issuer = self.trusted.get(given.key)
            if issuer is None or given.sign_in.rpartition(" ")[0] != issuer:
                return (
                    f"entry {seq} was signed for a sign-in that the owners of this population "
                    "do not trust"
                )
        elif given.key not in self.keys:
            known = self.all_keys.known.get(given.key)
            whose = "a key that no owner has"
            if known is not None and known.owner == self.by:
                whose = f"a key that {self.by} no longer has"
            elif known is not None:
                whose = f"the key of {known.owner or 'an installation'}"
            return f"entry {seq} is an act of {self.by}, and it was signed with {whose}"
        if not fits(given, entry_hash):
            return (
                f"the signature does not fit entry {seq}: the act or an entry before it was "
                "changed, or the signature was made for something else"
            )
        return None


class SignatureReader:
    """The signatures of a chain that is read entry by entry, from its first one."""

    def __init__(self) -> None:
        self._waiting: tuple[Required, int, bytes] | None = None
        self._seen: dict[str, int] = {}
        self.signed: set[int] = set()
        """Numbers of the entries whose signatures were checked."""

    def read(
        self,
        act: Act | Decision,
        seq: int,
        entry_hash: bytes,
        keys: OwnerKeys,
        owners: Collection[str],
    ) -> None:
        """Check the next act, in entry ``seq`` with this hash, before it takes effect.

        Raise `LedgerBroken` if it should be the signature of the act before and is not.
        """
        if isinstance(act, Attested):
            self._check(act)
            return
        self.check_end()
        required = keys.signature_for(act, owners)
        self._waiting = None if required is None else (required, seq, entry_hash)

    def check_end(self) -> None:
        """Raise `LedgerBroken` if the act before needs a signature, which must follow now."""
        if self._waiting is not None:
            required, seq, _ = self._waiting
            raise LedgerBroken(
                f"the signature of entry {seq} is missing: an act of {required.by} is followed "
                "by its signature"
            )

    def _check(self, given: Attested) -> None:
        if self._waiting is None:
            again = given.entry in self.signed
            raise LedgerBroken(
                f"entry {given.entry} is signed twice: an act has one signature"
                if again
                else f"entry {given.entry} has a signature, and needs none at this place"
            )
        required, seq, entry_hash = self._waiting
        before = self._seen.get(given.signature)
        if before is not None:
            raise LedgerBroken(
                f"the signature of entry {seq} is missing: a copy of the signature of entry "
                f"{before} is in its place"
            )
        fault = required.fault_of(given, seq, entry_hash)
        if fault is not None:
            raise LedgerBroken(fault)
        self._seen[given.signature] = seq
        self.signed.add(seq)
        self._waiting = None


# ------------------------------------------------------------------ writing

_KEYS = select(
    owner_keys.c.key,
    owner_keys.c.owner,
    owner_keys.c.issuer,
    owner_keys.c.since,
    owner_keys.c.current,
).where(owner_keys.c.population == bindparam("at"))
_new = upsert(owner_keys)
_SET = _new.on_conflict_do_update(
    index_elements=[owner_keys.c.population, owner_keys.c.key],
    set_={name: _new.excluded[name] for name in ("owner", "issuer", "since", "current")},
)


def keys_in(work: Work, population: str) -> OwnerKeys:
    """Return the keys of a population's owners, as the table has them."""
    return OwnerKeys(
        {
            key: KnownKey(owner, issuer, since, bool(current))
            for key, owner, issuer, since, current in work.all(_KEYS, {"at": population})
        }
    )


def write_keys(work: Work, population: str, keys: OwnerKeys) -> None:
    """Write ``keys`` to the table. No row is ever removed from it."""
    before = keys_in(work, population).known
    for key, each in sorted(keys.known.items()):
        if before.get(key) != each:
            row = {"population": population, "key": key, "owner": each.owner}
            more = {"issuer": each.issuer, "since": each.since, "current": int(each.current)}
            work.run(_SET, row | more)


def apply_to_keys(work: Work, population: str, decision: Decision, seq: int) -> None:
    """Apply ``decision``, which takes effect by entry ``seq``, to the table of keys."""
    keys = keys_in(work, population)
    _refuse(keys.broken_rule(decision))
    write_keys(work, population, keys.after(decision, seq))


def _refuse(rule: str | None) -> None:
    """Raise `InvalidValue` if a rule about keys would be broken."""
    if rule is not None:
        raise InvalidValue(
            f"Nothing was recorded, because of the rule that {rule}. `tacit key list` shows "
            "the keys of a population, and `tacit key new` makes another one."
        )


def attest(
    work: Work, entry: Entry, act: Act, signed: Signature, owners: Collection[str]
) -> None:
    """Append the signature of the act that was just written in ``entry``, if it needs one.

    It must be called before the act takes effect, since an act is signed by the keys from
    before it. Raise `NotPermitted` if the signer does not have the right key, and
    `InvalidValue` if the act proposes a key that cannot be set.
    """
    keys = keys_in(work, entry.population)
    if isinstance(act, Proposed):
        _refuse(keys.broken_proposal(act.by, act.decision))
    required = keys.signature_for(act, owners)
    if required is None:
        return
    if signed.signer is None:
        raise NotPermitted(_explain_missing(entry.population, required))
    given = signed.signer.attest(entry.seq, entry.hash)
    fault = required.fault_of(given, entry.seq, entry.hash)
    if fault is not None:
        raise NotPermitted(_explain_wrong(entry.population, required, given))
    append(work, entry.population, given)


def can_sign(
    work: Work, population: str, act: Act, signed: Signature, owners: Collection[str]
) -> bool:
    """Return whether ``act`` needs no signature, or the signer can make the right one."""
    required = keys_in(work, population).signature_for(act, owners)
    if required is None:
        return True
    return signed.signer is not None and required.accepts(signed.signer)


def check_signed(work: Work, population: str, proposal: int, act: Proposed) -> None:
    """Raise `NotPermitted` if the proposal ``act`` has no signature that still counts."""
    if not keys_in(work, population).can_approve(proposal, act):
        raise NotPermitted(
            f"Proposal {proposal} of {population!r} is older than the first key of an owner or "
            f"the present key of {act.by}, so that no key that counts signed it. Propose the "
            "same again, and sign it."
        )


def check_fingerprint(act: Proposed | None, given: str | None) -> None:
    """Raise `NotPermitted` if ``act`` proposes a key, and ``given`` is not its fingerprint.

    The second owner must have it from the first one in another way than from the ledger, since
    anybody with a shell can propose a key there.
    """
    if act is None or not isinstance(act.decision, KeySet):
        return
    owner = act.decision.owner
    if given is None or given.strip().lower() != fingerprint(act.decision.key):
        other = "" if given is None else "Its fingerprint is another one than you gave. "
        raise NotPermitted(
            f"This proposal gives {owner} a key. {other}Ask {owner} in person or by telephone "
            "for the fingerprint, which `tacit key show` prints, and approve with it: "
            "--fingerprint, or `fingerprint` over HTTP. Nothing was recorded."
        )


def _explain_missing(population: str, required: Required) -> str:
    """Return the message for an owner whose act came without a signature."""
    by, key = required.by, required.all_keys.key_of(required.by)
    if key is None:
        return (
            f"The acts of owners of {population!r} are signed, and {by} has no key, so that "
            f"nothing was recorded. {by} makes a key with `tacit key new FILE`, proposes it "
            f"with `tacit key set {population} FILE`, and another owner approves it."
        )
    return (
        f"The acts of owners of {population!r} are signed, and this one was not, so that "
        f"nothing was recorded. {by} signs with the key {fingerprint(key)}: name its file by "
        "--key or in TACIT_KEY. Over HTTP, an owner signs in at the identity provider that "
        "the owners have decided to trust."
    )


def _explain_wrong(population: str, required: Required, given: Attested) -> str:
    """Return the message for an owner whose act was signed with a wrong key."""
    if given.sign_in:
        return (
            f"The owners of {population!r} do not trust the sign-ins of this server, so that "
            "nothing was recorded. Use your key on the machine of the ledger, or let the "
            f"owners decide: `tacit key trust {population}`."
        )
    key, shown = required.all_keys.key_of(required.by), fingerprint(given.key)
    if key is None:
        return (
            f"{required.by} has no key for {population!r} yet, and {shown} is not set, so that "
            f"nothing was recorded. Propose it with `tacit key set {population} FILE`, and let "
            "another owner approve it."
        )
    return (
        f"{required.by} signs acts about {population!r} with the key {fingerprint(key)}, and "
        f"not with {shown}, so that nothing was recorded. Name the right file by --key or in "
        "TACIT_KEY. A lost key is replaced with the approval of another owner."
    )
