# SPDX-License-Identifier: GPL-2.0-or-later
"""How a semantic patch (SmPL) speaks of a member: of one record, or of whatever has a member of that name.

In patterns ``$`` stands for the access and ``#`` for the address of the record in front of it. Each is written for a
pointer ``P`` to the record and for the record ``O`` itself. An isomorphism of Coccinelle lets ``O.m`` match ``P->m`` as
well, so that pointers come first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_WAYS = (("P->", "P"), ("O.", "&O"))
_WORD = re.compile(r"\w+")
# Metavariables that every rule may use.
_KINDS = {
    "T": "type T",
    "V": "expression V",
    "VS": "expression list VS",
    "f": "identifier f",
    "A": "assignment operator A",
    "I": "identifier I",
    "IS": "iterator IS",
    "S": "statement S",
}
# Keywords of SmPL that no member in a rule can be called.
_KEYWORDS = frozenset(("position", "when", "forall", "exists"))


def named_like(metavariable: str, pattern: str) -> str:
    """The declaration of an identifier whose whole name is like the regular expression."""
    return f'identifier {metavariable} =~ "^({pattern})$"'


@dataclass(frozen=True, slots=True)
class MemberRules:
    """Rules about ``member`` of a record that is called by any of the ``titles``.

    Without ``typed`` the type of what is in front of the member does not matter.
    """

    member: str
    titles: tuple[str, ...]
    typed: bool = True

    def rule(self, name: str, patterns: Sequence[str], where: str = "", **kinds: str) -> str:
        """The rule ``name``, a choice of the patterns at positions ``p`` for which ``where`` holds.

        ``kinds`` are declarations of metavariables by name, besides the usual ones.
        """
        word = "MEMBER" if self.member in {"p", "P", "O", *_KEYWORDS, *_KINDS, *kinds} else self.member
        choice = dict.fromkeys(
            pattern.replace("$", f"{way}{word}").replace("#", holder) for way, holder in _WAYS for pattern in patterns
        )
        body = "\n|\n".join(choice)
        text = f"(\n{body}\n)" if len(choice) > 1 else body
        declarations = _KINDS | self._records() | kinds
        declarations |= {"p": f"position p{where}", "MEMBER": named_like("MEMBER", self.member)}
        # A declaration may use a type that is a metavariable.
        words = set(_WORD.findall(text))
        words |= {word for one in words & declarations.keys() for word in _WORD.findall(declarations[one])}
        lines = [f"{one};" for name, one in declarations.items() if name in words]
        typedefs = [f"typedef {one};" for one in self.titles if " " not in one and one in " ".join(lines)]
        return "\n".join((f"@ {name} @", *typedefs, *lines, "@@", text, ""))

    def _records(self) -> dict[str, str]:
        if not self.typed:
            return {"P": "expression P", "O": "expression O"}
        pointers = [f"{one} *" for one in self.titles]
        if len(self.titles) == 1:
            return {"P": f"{pointers[0]}P", "O": f"{self.titles[0]} O"}
        return {"P": f"{{{', '.join(pointers)}}} P", "O": f"{{{', '.join(self.titles)}}} O"}
