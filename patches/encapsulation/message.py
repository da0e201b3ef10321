# SPDX-License-Identifier: GPL-2.0-or-later
"""The messages of the steps, and the semantic patch as a file that a person can run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.model import FileChange, Refusal, RefusalCode
from linesmith.patches.encapsulation.form import Accessor, Form
from linesmith.patches.encapsulation.member import DeclaredMember
from linesmith.patches.encapsulation.predicates import Predicate
from linesmith.patches.encapsulation.uses import Place
from linesmith.patches.paragraph import paragraph
from linesmith.patches.prefix import style

_LISTED = 3
_RUN = """\
// spatch --sp-file RULES --in-place --recursive-includes
//   --include-headers-for-types --disable-worth-trying-opt -I include FILES
"""
_STAYS = {
    RefusalCode.WHOLE_ASSIGNMENT: "assigned as a whole",
    RefusalCode.INITIALISER: "in an initialiser",
    RefusalCode.OFFSET: "as an offset",
    RefusalCode.IN_MACRO: "in a macro",
    RefusalCode.NEEDS_OBJECT: "where it is needed itself",
    RefusalCode.TYPE_UNKNOWN: "behind an unknown type",
    RefusalCode.NOT_PARSED: "in code that was not parsed",
    RefusalCode.OTHER_PROGRAM: "in a program of its own",
}


def predicates(declared: DeclaredMember, found: Sequence[Predicate], changes: Sequence[FileChange], tree: Path) -> str:
    """The message of the step that calls functions whose expressions others spell out."""
    after = b"".join(change.after or b"" for change in changes)
    names = [f"{one.name}()" for one in found if one.name.encode() in after]
    listed = ", ".join(names[:_LISTED])
    subject = style(tree, declared.file).subject(f"use {listed}")
    body = (
        f"Some users of {declared.name} of {declared.title} spell out what {listed} "
        f"return{'s' * (len(names) == 1)}. Call {'it' if len(names) == 1 else 'them'} instead. No functional change."
    )
    return f"{subject}\n\n{paragraph(body)}\n"


def accessor(
    declared: DeclaredMember, made: Accessor, places: Sequence[Place], refusals: Sequence[Refusal], tree: Path
) -> str:
    """The message of the step that brings in the accessor."""
    files = Counter(place.file for place in places)
    subject = style(tree, declared.file).subject(f"access {declared.name} through {made.name}()")
    gives = {Form.ADDRESS: "gives its address", Form.ELEMENTS: "gives its elements", Form.VALUE: "gives its value"}
    why = (
        f"Users reach {declared.name} of {declared.title} directly, so that what is behind it cannot change without "
        f"all of them. Add {made.name}(), which {gives[made.form]}, and use it: {len(places)} "
        f"place{'s' * (len(places) != 1)} in {len(files)} file{'s' * (len(files) != 1)}. No functional change."
    )
    blocks = [subject, paragraph(why), *([paragraph(_left(declared, refusals))] if refusals else []), paragraph(_MADE)]
    return "\n\n".join(blocks) + "\n"


_MADE = "Made with Coccinelle."


def script(declared: DeclaredMember, rules: Sequence[str]) -> str:
    """The semantic patch with the command that runs it."""
    head = f"// Hides {declared.name} of {declared.title}. To be run by:\n{_RUN}"
    return "\n".join((head, *(f"{one.rstrip()}\n" for one in rules)))


def _left(declared: DeclaredMember, refusals: Sequence[Refusal]) -> str:
    counts = Counter(_STAYS.get(one.code, "elsewhere") for one in refusals)
    told = ", ".join(f"{count} {where}" for where, count in counts.items())
    return f"Places that go on naming {declared.name}: {told}."
