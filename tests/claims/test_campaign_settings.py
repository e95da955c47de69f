"""No setting and no row makes a fit move by more than is declared, or fail.

`TACIT_SETTINGS` says how many fits are generated, 300 where it is not set; with
`TACIT_CAMPAIGN`, a folder, another run goes on where the last one stopped (`just
campaign-settings`).
"""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from conftest import Bar
from made_fits import FITTED, REFUSED, made_fit, outcome

from tacit.ml import clipped_sum
from tacit.ml.clipped_sum import STEPS, reach_of
from tacit.ml.finite_algebra import Floats
from tacit.noise.integers import Integers

pytestmark = pytest.mark.claim

FITS = int(os.environ.get("TACIT_SETTINGS", "300"))
CAMPAIGN = os.environ.get("TACIT_CAMPAIGN")
WITHIN = 500
"""Fits within which the old code must be found."""


def test_no_settings_move_a_sum_too_far_or_fail_on_one_neighbour(bar: Bar) -> None:
    so_far = Path(CAMPAIGN) / "settings" if CAMPAIGN else None
    told: dict[int, str] = {}
    ended: Counter[str] = Counter()
    start = int(so_far.read_text() or 0) if so_far and so_far.exists() else 0
    for place in range(start, FITS):
        how, apart = outcome(made_fit(place))
        ended[how] += 1
        if apart:
            told[place] = apart
        if so_far and place % 100 == 99 and not told:
            so_far.parent.mkdir(exist_ok=True)
            so_far.write_text(str(place + 1))
    if so_far and not told:
        so_far.parent.mkdir(exist_ok=True)
        so_far.write_text(str(FITS))
    assert not told, "\n".join(f"{place}: {text}" for place, text in list(told.items())[:20])
    moved = sum("moved" in text for text in told.values())
    bar("settings: fits that move a sum by more than declared", moved, "0", moved == 0)
    bar("settings: fits that fail below the charge", len(told) - moved, "0", len(told) == moved)
    if start < FITS:
        shown = f"{ended[FITTED]} fitted, {ended[REFUSED]} refused before any row"
        bar("settings: generated fits", f"{FITS} ({shown})", f">= {FITS}", ended[FITTED] > 0)


def clipped_in_0_1_0(vectors: Floats, clip: float) -> Integers:
    """The lie: squares may underflow, and the guard may wrap."""
    with np.errstate(all="ignore"):
        norms = np.sqrt((vectors**2).sum(axis=1))
        factors = STEPS / np.maximum(norms, clip)
        steps = np.rint(np.nan_to_num(vectors * factors[:, None])).astype(np.int64)
        sure = np.einsum("ij,ij->i", steps, steps) <= reach_of(vectors.shape[1]) ** 2
    return np.asarray(steps * sure[:, None])


def test_the_old_clipping_is_found(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipped_sum, "clipped_steps", clipped_in_0_1_0)
    told = ((place, outcome(made_fit(place))[1]) for place in range(WITHIN))
    found = next((place for place, text in told if text and "moved" in text), WITHIN)
    bar("settings: the clipping of 0.1.0 is found by fit", found, f"< {WITHIN}", found < WITHIN)
