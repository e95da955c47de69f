"""Why a sensitivity holds: a tree of named rules that an auditor can follow and recompute."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One step of a proof: a rule, the public facts that it used, the steps that it rests on.

    Example:
        >>> count = Rule("a row changes a count by 1")
        >>> print(Rule("a unit has at most max_rows rows", ("max_rows=3",), (count,)))
        a unit has at most max_rows rows [max_rows=3]
          a row changes a count by 1
    """

    name: str
    facts: tuple[str, ...] = ()
    because: tuple["Rule", ...] = ()

    def __str__(self) -> str:
        head = f"{self.name} [{', '.join(self.facts)}]" if self.facts else self.name
        below = "\n".join(str(rule) for rule in self.because)
        return "\n".join([head, *(f"  {line}" for line in below.splitlines())])
