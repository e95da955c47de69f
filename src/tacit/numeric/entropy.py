"""The only source of randomness: a cryptographic generator, with a fresh key for each release.

No other code in Tacit draws random bits, and there is no seed. A generator is AES-256 in
counter mode. Its key is derived from the operating system's entropy and from the hash of the
charge that pays for the release. The operating system of a restored virtual machine may repeat
its random numbers, but the noise is not repeated, because the charges are different.
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

# ------------------------------------------------------------------ fork detection
# A forked child inherits the memory of its parent, generators included. If both used the same
# generator, they would draw the same noise. The process id alone does not detect every fork,
# because the operating system reuses process ids.


class ForkGuard:
    """A counter of the forks between the first process and this one.

    Example:
        >>> forks.count >= 0
        True
    """

    count = 0

    def __init__(self) -> None:
        self._locks: dict[int, threading.Lock] = {}

    def count_fork(self) -> None:
        """Count one fork; this is called when a child process begins."""
        self.count += 1

    def lock(self) -> threading.Lock:
        """Return a lock of this process, which no thread of a parent process can hold.

        Threads of a child take it before they replace what the child inherited.
        """
        return self._locks.setdefault(self.count, threading.Lock())


forks = ForkGuard()
os.register_at_fork(after_in_child=forks.count_fork)


Words = NDArray[np.uint64]
"""Independent uniform integers below 2**word_bits."""

KEY_BYTES = 32
NONCE_BYTES = 16


class Entropy(Protocol):
    """A source of independent uniform words.

    In production, words have 64 bits. A test may supply its own words with fewer bits.
    """

    @property
    def word_bits(self) -> int:
        """Number of random bits in a word, at most 64."""
        ...

    def words(self, count: int) -> Words:
        """Return ``count`` fresh words, which are secret and never returned again."""
        ...


class SystemEntropy:
    """A cryptographic generator for one release, with a key from the system and the charge.

    Guarantee: two threads, two processes (forked ones included) or two generators never share a
    key, apart from a collision of 256-bit keys. There is no seed, so that the noise of a
    release cannot be drawn twice.
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
        """Number of random bits in a word: 64."""
        return 64

    def words(self, count: int) -> Words:
        """Return ``count`` fresh 64-bit words, from the key of this thread and process."""
        return np.frombuffer(self._cipher().update(bytes(8 * count)), dtype=np.uint64)

    def __reduce__(self) -> str:
        raise SecretMisuse(
            "A generator of random words stays in its process and cannot be pickled. Make a "
            "new one in the other process."
        )

    def _cipher(self) -> CipherContext:
        """Return the cipher of this thread, and make a new one in a forked child process."""
        here = (os.getpid(), forks.count)
        if getattr(self._local, "home", None) != here:
            self._local.cipher = _keyed_cipher(self._charge)
            self._local.home = here
        cipher: CipherContext = self._local.cipher
        return cipher


def fresh_bytes(count: int) -> bytes:
    """Return ``count`` random bytes of the operating system, for a key, nonce or token.

    Example:
        >>> len(fresh_bytes(32))
        32
    """
    return os.urandom(count)


def _keyed_cipher(charge: bytes) -> CipherContext:
    """Return a counter-mode cipher, with a key from the system's entropy and the charge."""
    fresh = os.urandom(KEY_BYTES + NONCE_BYTES)
    made = HKDF(
        algorithm=SHA256(), length=KEY_BYTES + NONCE_BYTES, salt=charge, info=b"tacit noise 1"
    ).derive(fresh)
    return Cipher(AES(made[:KEY_BYTES]), CTR(made[KEY_BYTES:])).encryptor()
