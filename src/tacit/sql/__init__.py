"""SQL: `parse` turns the text of a question into a plan, and `show` turns a plan into text.

`read_statement` also reads statements that need no data, such as SELECT 1. `aggregate_text`
names an aggregate as a person writes it.

The parser accepts only the node types that `allow_list` names, and refuses all others.
"""

from tacit.sql.parser import parse, read_statement
from tacit.sql.printer import aggregate_text, show

__all__ = ["aggregate_text", "parse", "read_statement", "show"]
