"""Every way to tamper with a chain that we could think of, each made from its number.

A kind that ends in "rehashed" belongs to a forger who knows the format: after the change
they number the entries again, correct what refers to a number, and make all hashes follow.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from tacit.ledger.entries import GENESIS, Entry, follow

Chain = list[Entry]
Tampering = Callable[[Chain, Random], Chain]

REFERENCE = re.compile(r'("(?:charge|proposal|entry)":)"([0-9]+)"')
"""Where an entry names the place of an earlier one."""

KINDS: dict[str, Tampering] = {}
"""All kinds by the names that the page uses."""


def tampered(chain: Sequence[Entry], number: int) -> tuple[str, Chain]:
    """The kind of tampering number ``number``, and what it makes of ``chain``."""
    kinds = list(KINDS)
    chance = Random(number)  # noqa: S311 - a lie needs no secret
    kind = kinds[number % len(kinds)]
    changed = list(chain)
    while changed == list(chain):
        changed = KINDS[kind](list(chain), chance)
    return kind, changed


def hashed_anew(chain: Chain) -> Chain:
    """``chain`` with places, references and hashes that follow again."""
    places = {entry.seq: place for place, entry in reversed([*enumerate(chain, start=1)])}
    made: Chain = []
    for entry in chain:
        body, refers = entry.body, REFERENCE.search(entry.body)
        if refers and int(refers[2]) in places:
            body = REFERENCE.sub(rf'\g<1>"{places[int(refers[2])]}"', body)
        previous = made[-1].hash if made else GENESIS
        made.append(follow(previous, entry.population, len(made) + 1, body))
    return made


def kind(name: str) -> Callable[[Tampering], Tampering]:
    def add(tampering: Tampering) -> Tampering:
        KINDS[name] = tampering
        return tampering

    return add


def also_hashed_anew(name: str) -> Callable[[Tampering], Tampering]:
    """The same tampering twice: as it is, and by a forger who hashes anew after it."""

    def add(tampering: Tampering) -> Tampering:
        KINDS[name] = tampering
        KINDS[f"{name}, all after it rehashed"] = lambda chain, chance: hashed_anew(
            tampering(chain, chance)
        )
        return tampering

    return add


@kind("a character edited")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.randrange(len(chain))
    body = list(chain[at].body)
    body[chance.randrange(len(body))] = chr(chance.randrange(32, 1000))
    chain[at] = replace(chain[at], body="".join(body))
    return chain


@kind("a hash edited")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.randrange(len(chain))
    bits = int.from_bytes(chain[at].hash) ^ (1 << chance.randrange(256))
    chain[at] = replace(chain[at], hash=bits.to_bytes(32))
    return chain


@also_hashed_anew("a field edited")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.randrange(len(chain))
    chain[at] = replace(chain[at], body=_edited(chain[at].body, chance))
    return chain


@kind("a field edited, its own entry rehashed")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.randrange(len(chain) - 1)
    body = _edited(chain[at].body, chance)
    previous = chain[at - 1].hash if at else GENESIS
    chain[at] = follow(previous, chain[at].population, at + 1, body)
    return chain


@kind("an entry deleted")
def _(chain: Chain, chance: Random) -> Chain:
    del chain[chance.randrange(len(chain) - 1)]
    return chain


@kind("an entry and what refers to it deleted, all after it rehashed")
def _(chain: Chain, chance: Random) -> Chain:
    gone = chance.choice(chain[:-1])
    return hashed_anew([entry for entry in chain if entry != gone and not _refers(entry, gone)])


@also_hashed_anew("an entry written twice")
def _(chain: Chain, chance: Random) -> Chain:
    at = chance.randrange(len(chain) - 1)
    chain.insert(at, chain[at])
    return chain


@also_hashed_anew("an entry of another place inserted")
def _(chain: Chain, chance: Random) -> Chain:
    chain.insert(chance.randrange(len(chain)), chance.choice(chain))
    return chain


@also_hashed_anew("an edited entry inserted")
def _(chain: Chain, chance: Random) -> Chain:
    found = chance.choice(chain)
    forged = replace(found, body=_edited(found.body, chance))
    chain.insert(chance.randrange(len(chain)), forged)
    return chain


@also_hashed_anew("two entries swapped")
def _(chain: Chain, chance: Random) -> Chain:
    first, second = sorted(chance.sample(range(len(chain)), 2))
    chain[first], chain[second] = chain[second], chain[first]
    return chain


@also_hashed_anew("the start cut off")
def _(chain: Chain, chance: Random) -> Chain:
    return chain[chance.randrange(1, len(chain)) :]


@kind("the end cut off")
def _(chain: Chain, chance: Random) -> Chain:
    return chain[: chance.randrange(len(chain))]


@kind("the whole chain rewritten")
def _(chain: Chain, chance: Random) -> Chain:
    """Another history of the same population: less was charged, and a name has changed."""
    other = chance.choice(("dan", "eve", "flo"))
    renamed = [replace(entry, body=entry.body.replace("olga", other)) for entry in chain]
    spent = [f'"kind":"{kind}"' for kind in ("charged", "kept", "missed", "looked")]
    return hashed_anew([one for one in renamed if not any(act in one.body for act in spent)])


def _refers(entry: Entry, to: Entry) -> bool:
    found = REFERENCE.search(entry.body)
    return found is not None and int(found[2]) == to.seq


def _edited(body: str, chance: Random) -> str:
    """Another canonical text: one field says something else."""
    act: dict[str, Any] = json.loads(body)
    part = act
    if "decision" in act and chance.random() < 0.5:
        part = act["decision"]
    name = chance.choice([name for name in part if name not in {"kind", "decision"}])
    part[name] = _other(part[name], chance)
    return json.dumps(act, sort_keys=True, separators=(",", ":"))


def _other(value: Any, chance: Random) -> Any:
    if isinstance(value, list):
        return [*value, "mallory"] if chance.random() < 0.5 else value[:-1]
    if value.isdecimal():
        number = int(value)
        return str(chance.choice((number + 1, number * 2, number // 2, max(0, number - 1), 0)))
    if value.startswith("{"):  # an event: ten times the noise, and so a tenth of the price
        return value.replace('"10/1"', '"100/1"')
    if len(value) in {32, 64}:
        bits = int(value, 16) ^ (1 << chance.randrange(4 * len(value)))
        return f"{bits:0{len(value)}x}"
    return chance.choice(("ann", "bob", "@oncology", "mallory", value + "x"))
