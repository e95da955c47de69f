"""The README's Python runs as it is printed."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOISY = doctest.register_optionflag("NOISY")
NUMBER = re.compile(r"-?\d+(\.\d+)?")


class Shapes(doctest.OutputChecker):
    """Compares what is marked as noisy without its numbers and its spaces."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if optionflags & NOISY:
            want = want.replace("<BLANKLINE>", "")
            want, got = (" ".join(NUMBER.sub("#", each).split()) for each in (want, got))
        return super().check_output(want, got, optionflags)


def failures(text: str) -> tuple[int, int]:
    """How many examples of the Python blocks fail, and how many there are."""
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "README", "README.md", 0)
    runner = doctest.DocTestRunner(checker=Shapes(), verbose=False)
    results = runner.run(test, out=lambda _: None)
    return results.failed, results.attempted


def test_the_first_minute_runs_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failed, attempted = failures((ROOT / "README.md").read_text())
    assert failed == 0
    assert attempted >= 20
    assert (tmp_path / ".tacit" / "ledger.db").exists()


def test_a_wrong_line_would_be_seen() -> None:
    assert failures("```python\n>>> 1 + 1\n3\n```") == (1, 1)
    noisy = "```python\n>>> print(answer)  # doctest: +NOISY\nn 4 [3, 5]\n```"
    for answer, wrong in (("n 7 [-1, 15]", 0), ("n 7", 1), ("m 7 [-1, 15]", 1)):
        assert failures(noisy.replace("answer", repr(answer))) == (wrong, 1)
