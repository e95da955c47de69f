"""A forked process draws differently than its parent."""

import os

import pytest

from tacit.numeric.entropy import SystemEntropy

CHARGE = b"the hash of a charge"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_draws_differently() -> None:
    stream = SystemEntropy(CHARGE)
    stream.words(1)  # the child inherits a cipher that is under way
    inbox, outbox = os.pipe()
    child = os.fork()
    if not child:  # pragma: no cover - the child's lines are not counted
        os.write(outbox, stream.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(outbox)
    told = os.read(inbox, 32)
    os.close(inbox)
    assert len(told) == 32
    assert told != stream.words(4).tobytes()
