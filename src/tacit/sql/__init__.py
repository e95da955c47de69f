"""SQL text to a plan and back. What the parser does not know, it refuses."""

from tacit.sql.parser import parse
from tacit.sql.printer import show

__all__ = ["parse", "show"]
