"""A private release of something is never certain: only a constant is (claim T06)."""

from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from tacit.core.event import Nothing
from tacit.testing.mechanism_contract import MechanismExample

PLACE = Path(__file__).parent / "mechanism_examples"
EXAMPLES: dict[str, MechanismExample] = {
    path.stem: run_path(str(path))["EXAMPLE"] for path in sorted(PLACE.glob("*.py"))
}


def is_deterministic(example: MechanismExample) -> bool:
    releases = [
        np.unique(example.sample(example.mechanism, secret, 300), axis=0)
        for secret in (example.left, example.right)
    ]
    return all(len(found) == 1 for found in releases)


@pytest.mark.parametrize("name", EXAMPLES)
def test_only_a_constant_is_deterministic(name: str) -> None:
    example = EXAMPLES[name]
    says_nothing = example.mechanism.event(example.sensitivity) == Nothing()
    assert is_deterministic(example) == says_nothing
