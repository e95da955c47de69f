"""TD-10, 30: a seed that made some test repeatable stays, and all noise can be foretold."""

from collections.abc import Callable

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

PLACE = "tacit.numeric.entropy:_keyed_cipher"
CAUGHT_BY = "tests/unit/numeric/test_entropy.py::test_two_streams_of_one_charge_differ"
SHOWN = "assert drawn[0] != drawn[1]"

Keyed = Callable[[bytes], CipherContext]


def bug(_: Keyed) -> Keyed:
    def keyed_cipher(charge: bytes) -> CipherContext:
        del charge
        return Cipher(AES(bytes(32)), CTR(bytes(16))).encryptor()

    return keyed_cipher
