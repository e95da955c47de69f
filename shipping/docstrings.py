"""How our docstrings are read: an example is code, a guarantee and a reference are marked."""

import re

from griffe import Extension, Object

MARKED = re.compile(r"^( *)(Guarantee|Reference):", flags=re.MULTILINE)


class Docstrings(Extension):
    """Turns the headings of house rule 8 into what the page generator knows."""

    def on_instance(self, *, obj: Object, **_: object) -> None:
        """Change one docstring."""
        if obj.docstring:
            text = obj.docstring.value.replace("Example:\n", "Examples:\n")
            text = text.replace("\n::\n", "\n")
            obj.docstring.value = MARKED.sub(r"\n\1**\2:**", text)
