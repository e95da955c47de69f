"""Attacks on releases, which measure how much an attacker learns with and without noise.

Linkage, differencing, averaging, reconstruction, tracing and membership inference run on
exact answers and on answers of Tacit, so that an owner can compare both. Only owners can run
them, because they need exact data.
"""

from tacit.attacks.story_texts import STORY_TEXTS

__all__ = ["STORY_TEXTS"]
