"""The page about engines says what is so: its engine keeps the contract."""

import re
from pathlib import Path

from tacit.core.domain import Kind
from tacit.testing.engine_contract import EngineContract

PAGE = (Path(__file__).parents[2] / "docs/how-to/add-an-engine.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
LACKS = frozenset({Kind.DECIMAL, Kind.TIMESTAMP})
NOT_YET_RUN = ("bigquery", "snowflake", "trino")


def page() -> dict[str, object]:
    """What the page defines, block after block."""
    defined: dict[str, object] = {}
    for block in BLOCKS:
        exec(block, defined)  # noqa: S102 - our own page
    return defined


def test_the_engine_of_the_page_keeps_its_contract() -> None:
    defined = page()
    defined["test_my_engine_keeps_its_contract"]()  # type: ignore[operator]
    assert len(BLOCKS) == 5


def test_the_engine_of_the_page_would_be_caught_without_its_types() -> None:
    defined = page()
    defined["check_types"] = lambda *_: None
    contract = EngineContract(defined["over"], LACKS)  # type: ignore[arg-type]
    assert len(list(contract.wrongly_accepted_kinds())) == len(LACKS)


def test_what_was_never_run_says_so() -> None:
    heading = PAGE.split("## Printed, and not yet run")[1]
    for dialect in NOT_YET_RUN:
        assert re.search(rf"\| {dialect}, not yet run ", heading, flags=re.IGNORECASE)
