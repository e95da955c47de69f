"""No two workers, threads or streams ever share a draw."""

import os
import threading
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from conftest import Bar
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from tacit.numeric.entropy import SystemEntropy, Words

pytestmark = pytest.mark.claim

WORKERS = int(os.environ.get("TACIT_FORKS", "1000"))
THREADS = 64
WORDS = 1000


def repeats(draws: list[Words]) -> int:
    """How many words occur more than once, anywhere."""
    words = np.concatenate(draws)
    return int(words.size - np.unique(words).size)


def forked(draw: Callable[[], Words], workers: int) -> list[Words]:
    """What each of so many forked children draws."""
    draws = []
    for _ in range(workers):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, draw().tobytes())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            draws.append(np.frombuffer(pipe.read(), dtype=np.uint64))
        os.waitpid(child, 0)
    return draws


def test_forked_workers_share_no_draw(bar: Bar) -> None:
    stream = SystemEntropy(b"freshness")
    mine = stream.words(WORDS)  # the stream is keyed before the children inherit it
    draws = forked(partial(stream.words, WORDS), WORKERS)
    draws += [mine, stream.words(WORDS)]
    assert all(words.size == WORDS for words in draws)
    found = repeats(draws)
    bar(f"equal words among {WORKERS} forked workers", found, "0", found == 0)


def test_grandchildren_share_no_draw() -> None:
    stream = SystemEntropy(b"freshness")
    stream.words(1)

    def child_and_its_child() -> Words:
        return np.concatenate([*forked(partial(stream.words, WORDS), 1), stream.words(WORDS)])

    assert repeats(forked(child_and_its_child, 5)) == 0


def test_a_generator_that_does_not_notice_a_fork_is_caught() -> None:
    naive = Cipher(AES(os.urandom(32)), CTR(os.urandom(16))).encryptor()
    draws = forked(lambda: np.frombuffer(naive.update(bytes(8 * WORDS)), dtype=np.uint64), 3)
    assert repeats(draws) == 2 * WORDS


def test_threads_share_no_draw(bar: Bar) -> None:
    stream = SystemEntropy(b"freshness")
    draws: list[Words] = []
    together = threading.Barrier(THREADS)

    def draw() -> None:
        together.wait()
        draws.extend(stream.words(WORDS) for _ in range(10))

    threads = [threading.Thread(target=draw) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(draws) == 10 * THREADS
    found = repeats(draws)
    bar(f"equal words among {THREADS} threads", found, "0", found == 0)


def test_a_restored_machine_does_not_repeat_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    # an operating system that repeats itself, as after a restored snapshot
    monkeypatch.setattr(os, "urandom", bytes)
    first = SystemEntropy(b"the hash of one charge").words(WORDS)
    again = SystemEntropy(b"the hash of one charge").words(WORDS)
    other = SystemEntropy(b"the hash of the next charge").words(WORDS)
    assert repeats([first, again]) == WORDS
    assert repeats([first, other]) == 0
