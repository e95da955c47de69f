"""Find the forms of English that this repository does not use.

    uv run python shipping/plain_english.py src/tacit/plan docs/index.md

lists one hit a line: the file, the line, the rule and the text. Without arguments it reads all
of ``src``, ``docs``, ``examples`` and the pages at the root. The rules, and why each is exact:

* ``function-verb``: the docstring of a function begins with an imperative. The first word must
  be in the list of `imperative_verbs`; properties are exempt: they are read like attributes.
* ``riddle-head``: the first line of another docstring, or a sentence of a comment or message,
  begins with "What", "That of", "Of which" or the like, and does not end with a question mark.
* ``pronoun-head``: the first line of a docstring begins with a pronoun ("Its", "They"), or with
  "The same": the reader has not yet met the noun.
* ``participle-name``: a function's whole name is a participle (``kept``, ``told``).
* ``glossary``: a word from the table "Say this instead" in ``docs/reference/glossary.md``.
* ``is-no``: `is no number` for "is not a number". "There is no" is common English and passes.
* ``no-verb``: a sentence of an error message has no word that could be a verb. Every word that
  ends as verbs do, or that is in the list of verbs, counts as one, so that a hit is certain.

A rule that cannot be exact is left out: a reader must be able to trust each hit.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from imperative_verbs import IMPERATIVES
from prose import CODE, DOCSTRINGS, Function, Passage, files_under, is_property, passages

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
EVERYTHING = (
    "src",
    "docs",
    "examples",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that breaks a rule, and the words that break it."""

    path: Path
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


# heads ----------------------------------------------------------------------------------------

RIDDLES = re.compile(
    r"(?:What(?!ever)|Whose|Whom|Who|That of|Those of|Those that"
    r"|Of (?:which|whom|what|each|those)|By (?:which|what)"
    r"|(?:From|To|In|For|With|On) (?:which|what|whom))\b"
)
SENTENCE_RIDDLES = re.compile(r"(?:What(?!ever)|That of|Those of|Of (?:which|whom))\b")
PRONOUNS = re.compile(r"(?:It|Its|They|Them|Their|Theirs|He|She|His|Her|Those|The same)\b")


def function_verb(passage: Passage) -> Iterator[str]:
    """Yield the first line of a function's docstring that begins with no imperative."""
    if passage.kind == "function" and not _begins_with_verb(passage.first_line):
        yield passage.first_line


def _begins_with_verb(line: str) -> bool:
    words = re.findall(r"[A-Za-z]+", line.split(" ", 1)[0])
    # "Re-read", "Un-seal": the verb is the last part of a word with a hyphen
    return bool(words) and words[-1].lower() in IMPERATIVES and words[0] != CODE


def riddle_head(passage: Passage) -> Iterator[str]:
    """Yield what begins with "What" or the like, where the reader does not know of what."""
    if passage.kind == "function" and not _begins_with_verb(passage.first_line):
        return  # the same line is a hit of `function_verb`, and counts once
    if passage.kind in DOCSTRINGS:
        first = passage.first_line
        if RIDDLES.match(first) and not first.endswith("?"):
            yield first
            return
    if passage.kind != "heading":
        for sentence in passage.sentences():
            if SENTENCE_RIDDLES.match(sentence) and "?" not in sentence:
                yield sentence


def pronoun_head(passage: Passage) -> Iterator[str]:
    """Yield the first line of a docstring that begins with a pronoun."""
    first = passage.first_line
    names_its_noun = not PRONOUNS.match(first) or RIDDLES.match(first)
    if passage.kind in DOCSTRINGS - {"function"} and not names_its_noun:
        yield first


# words ----------------------------------------------------------------------------------------


def forbidden_phrases(page: str) -> dict[str, str]:
    """Read the table "Say this instead" of the glossary: each phrase, and what to say."""
    section = page.partition("## Say this instead")[2].partition("\n\nFurther")[0]
    rows = re.findall(r"^\| (`.+`) \| (.+) \|$", section, flags=re.MULTILINE)
    return {phrase: say for cell, say in rows for phrase in re.findall(r"`([^`]+)`", cell)}


@lru_cache(maxsize=1)
def _phrases() -> tuple[re.Pattern[str], dict[str, str]]:
    table = forbidden_phrases(GLOSSARY.read_text(encoding="utf-8"))
    # the longest first, so that a phrase is found before its first word
    longest = sorted(table, key=len, reverse=True)
    choices = "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in longest)
    return re.compile(rf"(?<![\w'-])(?:{choices})(?![\w-])", flags=re.IGNORECASE), table


def glossary(passage: Passage) -> Iterator[str]:
    """Yield the words for which the glossary has another term."""
    pattern, table = _phrases()
    for match in pattern.finditer(passage.text):
        found = " ".join(match.group().split())
        yield f"{found!r}, say: {table[found.lower()]}"


IS_NO = re.compile(
    r"(?<!there )(?<!here )\b(?:is|are|was|were) no "
    r"(?!longer|more|less|fewer|one|doubt|matter|other|better|worse|larger|smaller"
    r"|greater|higher|lower|such|help|secret|use|good|surprise)([a-z]+)"
)


def is_no(passage: Passage) -> Iterator[str]:
    """Yield each ``is no number``, which should be "is not a number"."""
    for match in IS_NO.finditer(" ".join(passage.text.split())):
        yield match.group()


# names and messages ---------------------------------------------------------------------------

PARTICIPLES = frozenset(
    """
    begun bought bound broken brought built caught chosen done drawn driven fallen felt
    forgotten found given gone grown held hidden kept known laid led left lent lost made meant
    met paid proven said sealed seen sent shown spent stood sworn taken taught thought thrown
    told torn understood woken won worn woven written
    """.split()  # noqa: SIM905 - words are easier to read without quotes
)
NOT_PARTICIPLES = frozenset(
    {
        "bed",
        "bleed",
        "breed",
        "embed",
        "exceed",
        "feed",
        "heed",
        "need",
        "proceed",
        "red",
        "seed",
    }
    | {"shed", "shred", "speed", "succeed", "unneed", "weed", "wed", "bound", "left"}
)


def is_participle(name: str) -> bool:
    """Return whether a name is one participle and nothing else."""
    bare = name.strip("_")
    if bare in NOT_PARTICIPLES:
        return False
    return bare in PARTICIPLES or bool(re.fullmatch(r"[a-z]{2,}ed", bare))


def participle_names(path: Path) -> Iterator[Hit]:
    """Yield the functions of a file whose name is a participle; properties are exempt."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function) and is_participle(node.name) and not is_property(node):
            yield Hit(path, node.lineno, "participle-name", f"def {node.name}")


AUXILIARIES = frozenset(
    """
    am are be been being can cannot could did do does had has have is may might must need
    ought shall should was were will would won
    became become began begin broke came cost fell fit gave got grew held hit
    kept knew know lay lie lies made mean met put ran read said sat saw see sent set shut
    spent stood took told went wrote
    """.split()  # noqa: SIM905 - words are easier to read without quotes
)


def no_verb(passage: Passage) -> Iterator[str]:
    """Yield the sentences of an error message in which no word can be a verb."""
    if passage.kind != "error":
        return
    for sentence in passage.sentences():
        words = [word.lower() for word in re.findall(r"[A-Za-z]{2,}", sentence)]
        if len(words) < 3 or re.search(r"^\W*<|\b[A-Z]{2,}\b", sentence):  # noqa: PLR2004
            continue  # a label, a value, or a statement of SQL
        if not any(_may_be_verb(word) for word in words):
            yield sentence


def _may_be_verb(word: str) -> bool:
    if word in AUXILIARIES or word in IMPERATIVES or word in PARTICIPLES:
        return True
    if word in {"this", "less", "unless", "always", "perhaps", "hundred"}:
        return False
    return len(word) > 3 and word.endswith(("s", "ed", "ing"))  # noqa: PLR2004 - "as", "red"


# the check ------------------------------------------------------------------------------------

Rule = Callable[[Passage], Iterator[str]]

RULES: dict[str, Rule] = {
    "function-verb": function_verb,
    "riddle-head": riddle_head,
    "pronoun-head": pronoun_head,
    "glossary": glossary,
    "is-no": is_no,
    "no-verb": no_verb,
}


def hits_of(passage: Passage) -> list[Hit]:
    """Return all hits of one passage."""
    return [
        Hit(passage.path, passage.line, name, text)
        for name, rule in RULES.items()
        for text in rule(passage)
    ]


def hits_in(path: Path) -> list[Hit]:
    """Return all hits of a file, by their lines."""
    found = [hit for passage in passages(path) for hit in hits_of(passage)]
    if path.suffix == ".py":
        found += participle_names(path)
    return sorted(found, key=lambda hit: hit.line)


def main(places: list[str]) -> int:
    """List the hits in the given places, and count them by rule; exit 1 where there is one."""
    given = [Path(place) for place in places] or [ROOT / place for place in EVERYTHING]
    hits = [hit for path in files_under(given) for hit in hits_in(path)]
    for hit in hits:
        print(hit)
    for rule in [*RULES, "participle-name"]:
        print(f"{rule}: {sum(hit.rule == rule for hit in hits)}", file=sys.stderr)
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
