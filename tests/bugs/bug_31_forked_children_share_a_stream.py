"""TD-10, 31: forked children go on with their parent's stream, and draw the same noise."""

from collections.abc import Callable
from typing import Any

from tacit.numeric.entropy import SystemEntropy

PLACE = "tacit.numeric.entropy:SystemEntropy._cipher"
CAUGHT_BY = "tests/claims/test_freshness.py::test_forked_workers_share_no_draw"
SHOWN = "short"

Cipher = Callable[[SystemEntropy], Any]


def bug(original: Cipher) -> Cipher:
    def cipher(self: SystemEntropy) -> Any:
        if not hasattr(self._local, "cipher"):
            original(self)
        return self._local.cipher

    return cipher
