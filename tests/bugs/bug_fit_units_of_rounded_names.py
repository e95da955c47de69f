"""Units of 128 bits are compared as floats: two people are one unit, and are clipped as one."""

from tacit.engines.print.statement import TOLD_UNIT

PLACE = "tacit.engines.duckdb:READ_ROWS"
CAUGHT_BY = (
    "tests/engines/test_fit_units.py"
    "::test_a_neighbour_of_128_bits_moves_a_fit_by_its_reach[True]"
)
SHOWN = "BrokenPromise"


def bug(original: str) -> str:
    rounded = f"CAST({TOLD_UNIT} AS DOUBLE)"
    said = original.replace(f"{TOLD_UNIT} IS", f"{rounded} IS")
    return said.replace(f"LAG({TOLD_UNIT})", f"LAG({rounded})")
