"""TD-10, 40: a request's key stands for whoever sent it, and not for what they asked."""

from collections.abc import Callable, Sequence
from hashlib import sha256

PLACE = "tacit.ledger.charge:binding_of"
CAUGHT_BY = "tests/ledger/test_path.py::test_a_key_stands_for_one_question[sqlite]"
SHOWN = "DID NOT RAISE"

Binding = Callable[[str, Sequence[str], bytes], bytes]


def bug(_: Binding) -> Binding:
    def binding_of(principal: str, _populations: Sequence[str], _release_key: bytes) -> bytes:
        return sha256(principal.encode()).digest()

    return binding_of
