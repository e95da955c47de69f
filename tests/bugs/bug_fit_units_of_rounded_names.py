"""Units of 128 bits are compared as floats: two people are one unit, and are clipped as one."""

from tacit.engines.print.statement import UNIT_MARK

PLACE = "tacit.engines.duckdb:READ_ROWS"
CAUGHT_BY = (
    "tests/engines/test_fit_units.py"
    "::test_a_neighbour_of_128_bits_moves_a_fit_by_its_reach[True]"
)
SHOWN = "BrokenPromise"


def bug(original: str) -> str:
    rounded = f"CAST({UNIT_MARK} AS DOUBLE)"
    said = original.replace(f"{UNIT_MARK} IS", f"{rounded} IS")
    return said.replace(f"LAG({UNIT_MARK})", f"LAG({rounded})")
