"""SQL: `parse` turns the text of a question into a plan, and `show` turns a plan into text.

The parser accepts only the node types that `allow_list` names, and refuses all others.
"""

from tacit.sql.parser import parse
from tacit.sql.printer import show

__all__ = ["parse", "show"]
