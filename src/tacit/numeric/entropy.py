"""The one door to randomness: cryptographic words, fresh for each release, in bulk.

Nothing else in Tacit draws a random bit, and nobody can seed this. A stream is AES-256 in
counter mode under a key made from the operating system's entropy and the hash of the charge
that pays for the release: a restored virtual machine, whose operating system may repeat itself,
still does not repeat noise, because its charges differ.
"""

import os
import threading
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from tacit.errors import SecretMisuse

# ------------------------------------------------------------------ forks
# How many forks lie between this process and the first: told without a system call.


class ForkGuard:
    """Counts forks. A reused process id cannot fool it.

    Example:
        >>> forks.count >= 0
        True
    """

    count = 0

    def forked(self) -> None:
        """A child process begins."""
        self.count += 1


forks = ForkGuard()
os.register_at_fork(after_in_child=forks.forked)


Words = NDArray[np.uint64]
"""Independent uniform integers below two to the ``word_bits``."""

KEY_BYTES = 32
NONCE_BYTES = 16


class Entropy(Protocol):
    """A source of independent uniform words.

    Production has 64-bit words; a test may script narrower ones.
    """

    @property
    def word_bits(self) -> int:
        """How many random bits a word holds, 64 at most."""
        ...

    def words(self, count: int) -> Words:
        """``count`` words that nobody has seen and that never come again."""
        ...


class SystemEntropy:
    """A cryptographic stream for one release, keyed by the operating system and the charge.

    Guarantee: no two threads, no two processes, forked ones included, and no two streams share
    a key, up to a collision of 256-bit keys. There is no seed: a release cannot be drawn twice.
    Reference: NIST SP 800-38A (counter mode), RFC 5869 (HKDF).

    Example:
        >>> stream = SystemEntropy(charge=b"the hash of a charge")
        >>> stream.words(3).shape
        (3,)
    """

    __slots__ = ("_charge", "_local")

    def __init__(self, charge: bytes) -> None:
        self._charge = charge
        self._local = threading.local()

    @property
    def word_bits(self) -> int:
        """The width of a word: 64."""
        return 64

    def words(self, count: int) -> Words:
        """``count`` fresh 64-bit words, under a key of this thread in this process alone."""
        return np.frombuffer(self._cipher().update(bytes(8 * count)), dtype=np.uint64)

    def __reduce__(self) -> str:
        raise SecretMisuse(
            "A stream of entropy stays in its process; make a new one elsewhere."
        )

    def _cipher(self) -> CipherContext:
        """This thread's cipher.

        Made anew in a child process, which inherits its parent's memory.
        """
        here = (os.getpid(), forks.count)
        if getattr(self._local, "home", None) != here:
            self._local.cipher = _keyed(self._charge)
            self._local.home = here
        cipher: CipherContext = self._local.cipher
        return cipher


def fresh_bytes(count: int) -> bytes:
    """``count`` random bytes of the operating system, for a key, a nonce or a token.

    Example:
        >>> len(fresh_bytes(32))
        32
    """
    return os.urandom(count)


def _keyed(charge: bytes) -> CipherContext:
    """A counter-mode cipher under a key of the operating system, mixed with the charge."""
    fresh = os.urandom(KEY_BYTES + NONCE_BYTES)
    made = HKDF(
        algorithm=SHA256(), length=KEY_BYTES + NONCE_BYTES, salt=charge, info=b"tacit noise 1"
    ).derive(fresh)
    return Cipher(AES(made[:KEY_BYTES]), CTR(made[KEY_BYTES:])).encryptor()
