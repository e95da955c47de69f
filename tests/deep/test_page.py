"""The page about networks is run as it stands."""

import re
from pathlib import Path

import pytest

from tacit.extras import is_installed

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "train-a-network.md"

if not is_installed("deep"):
    pytest.skip("`just deep` has the environment for it", allow_module_level=True)


@pytest.mark.filterwarnings("ignore:optax.global_norm is deprecated:DeprecationWarning")
def test_the_page_runs_and_says_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})  # noqa: S102 - our own page
    weights, *guarantee = capsys.readouterr().out.splitlines()
    assert guarantee == shown.splitlines()[1:]
    for found, wanted in zip(weights.strip("[]").split(), (1.0, -0.5, 0.2), strict=True):
        assert abs(float(found) - wanted) < 0.2
