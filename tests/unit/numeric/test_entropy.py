import copy
import pickle
import threading

import numpy as np
import pytest

from tacit.numeric.entropy import SystemEntropy, forks

CHARGE = b"the hash of a charge"


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_a_stream_gives_as_many_words_of_64_bits_as_asked(count: int) -> None:
    stream = SystemEntropy(CHARGE)
    assert stream.word_bits == 64
    assert stream.words(count).shape == (count,)
    assert stream.words(count).dtype == np.uint64


def test_a_stream_never_repeats_a_word() -> None:
    stream = SystemEntropy(CHARGE)
    seen = np.concatenate([stream.words(1000) for _ in range(10)])
    assert np.unique(seen).size == seen.size


def test_every_bit_of_a_word_is_used() -> None:
    words = SystemEntropy(CHARGE).words(1000)
    assert int(np.bitwise_or.reduce(words)) == 2**64 - 1
    assert int(np.bitwise_and.reduce(words)) == 0


def test_two_streams_of_one_charge_differ() -> None:
    drawn = [SystemEntropy(CHARGE).words(4).tolist() for _ in range(2)]
    assert drawn[0] != drawn[1]


def test_two_threads_of_one_stream_differ() -> None:
    stream = SystemEntropy(CHARGE)
    drawn: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: drawn.append(stream.words(4).tolist()))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 2
    assert drawn[0] != drawn[1]
    assert stream.words(4).tolist() not in drawn


def test_a_stream_is_neither_copied_nor_pickled() -> None:
    stream = SystemEntropy(CHARGE)
    for take in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="stays in its process and cannot be pickled"):
            take(stream)


def test_there_is_no_seed() -> None:
    with pytest.raises(TypeError, match="seed"):
        SystemEntropy(CHARGE, seed=1)


def test_the_cipher_is_kept_until_a_fork_and_made_anew_after_it() -> None:
    stream = SystemEntropy(CHARGE)
    ciphers = [stream._cipher(), stream._cipher()]
    forks.count_fork()
    ciphers.append(stream._cipher())
    assert ciphers[0] is ciphers[1]
    assert ciphers[1] is not ciphers[2]
