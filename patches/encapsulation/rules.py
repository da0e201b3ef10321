# SPDX-License-Identifier: GPL-2.0-or-later
"""Semantic patches about a member: what users do with it, the accessor in its place, tests that are spelt out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from linesmith.patches.encapsulation.member import DeclaredMember, Form
from linesmith.patches.source.macros import without_comments, without_directives
from linesmith.patches.treewide.rules import MemberRules, named_like
from linesmith.patches.treewide.spatch import SemanticPatch
from linesmith.patches.treewide.survey import ANY_RECORD

# Macros that need their argument as an object in memory, not as a value, or ask for the size of an array.
_NEED_OBJECT = (
    "READ_ONCE", "WRITE_ONCE", "ACCESS_ONCE", "smp_load_acquire", "smp_store_release", "rcu_dereference[a-z_0-9]*",
    "rcu_access_pointer", "rcu_assign_pointer", "rcu_replace_pointer", "RCU_INIT_POINTER", "rtnl_dereference",
    "srcu_dereference[a-z_0-9]*", "data_race", "swap", "get_user", "put_user", "_*this_cpu_[a-z_0-9]+",
    "ARRAY_SIZE", "__must_be_array", "strscpy", "strscpy_pad", "strtomem[a-z_0-9]*", "memtostr[a-z_0-9]*",
    "G_N_ELEMENTS", "nitems", "_*[Aa]lignof_*",
)  # fmt: skip


class MemberRole(StrEnum):
    """What a place does with the member; names of rules."""

    ADDRESS = "address"
    PART = "part"
    ASSIGNED = "assigned"
    UPDATED = "updated"
    HANDED = "handed"
    MEASURED = "measured"
    TYPED = "typed"
    ITERATED = "iterated"


# A pattern in parentheses matches what has none, or fewer, as well: an isomorphism of Coccinelle. A blank stands in
# front: in the first column SmPL takes an ampersand for its own.
_PATTERNS = {
    MemberRole.PART: (" $@p.f",),
    MemberRole.ASSIGNED: (" (($@p)) = V",),
    MemberRole.UPDATED: (" (($@p))++", " (($@p))--", " ++(($@p))", " --(($@p))", " (($@p)) A V"),
    MemberRole.HANDED: (" macro(..., (($@p)), ...)",),
    MemberRole.MEASURED: (" sizeof((($@p)))", " sizeof (($@p))"),
    MemberRole.TYPED: (" typeof($@p)", " typeof(($@p))"),
    # A macro with a body may do anything with what it is passed.
    MemberRole.ITERATED: (" IS(..., (($@p)), ...) S",),
    MemberRole.ADDRESS: (" &(($@p))",),
}
_OF_ARRAYS = (MemberRole.TYPED, MemberRole.ITERATED)
# Places that an accessor of each form cannot serve.
UNSERVED = {
    Form.ADDRESS: (MemberRole.ASSIGNED,),
    Form.ELEMENTS: (MemberRole.HANDED, MemberRole.MEASURED, MemberRole.TYPED, MemberRole.ITERATED, MemberRole.ADDRESS),
    Form.VALUE: (MemberRole.ASSIGNED, MemberRole.UPDATED, MemberRole.HANDED, MemberRole.ADDRESS),
}


def census(rules: MemberRules, macros: Sequence[str]) -> list[str]:
    """Rules that change nothing and match each use of any member of the name.

    ``macros`` are patterns of names of macros that may need an array itself; none where the member is no array.
    """
    return [_found(rules, role, macros) for role in _PATTERNS if macros or role not in _OF_ARRAYS]


def _found(rules: MemberRules, role: MemberRole, macros: Sequence[str]) -> str:
    macro = named_like("macro", "|".join((*_NEED_OBJECT, *macros)))
    return rules.rule(role, _PATTERNS[role], macro=macro, **ANY_RECORD)


def replacing(
    rules: MemberRules, name: str, form: Form, roles: Collection[str], macros: Sequence[str]
) -> SemanticPatch:
    """Rules that put the accessor ``name`` in place of the uses that it can serve.

    Alternatives are written only for the ``roles`` that there are; that of a plain use is empty.
    """
    unserved = [role for role in UNSERVED[form] if role in roles]
    where = f" != {{ {', '.join(f'{role}.p' for role in unserved)} }}" if unserved else ""
    # One rule for all: once a rule has changed a function, positions found before it mean nothing there.
    edits = [f"- {old}\n+ {new}" for old, new in _edits(f"{name}(#)", form, roles)]
    found = [_found(rules, role, macros) for role in unserved]
    return SemanticPatch("\n".join((*found, rules.rule("accessor", edits, where))))


def _edits(call: str, form: Form, roles: Collection[str]) -> Iterator[tuple[str, str]]:
    """What is taken out and what comes in, the special cases first."""
    if form is not Form.ADDRESS:
        yield "$@p", call
        return
    if MemberRole.ADDRESS in roles:
        yield "&$@p", call
    if MemberRole.PART in roles:
        yield "$@p.f", f"{call}->f"
    elif "" in roles:
        # A star binds weaker than what follows it, and begins a comment behind a slash.
        yield from ((f"$@p{end}", f"(*{call}){end}") for end in ("->f", "[V]", "(VS)", "++", "--"))
        yield "V / $@p", f"V / (*{call})"
    yield "$@p", f"*{call}"


# Functions near a record that return whether something is so of its member, which others may spell out.

_TESTS = "RB_EMPTY_ROOT|RB_EMPTY_NODE|list_empty|list_empty_careful|list_is_singular|hlist_empty"


@dataclass(frozen=True, slots=True)
class Predicate:
    """``name(parameter)`` returns the ``test``, which names the member, or what negates it."""

    name: str
    parameter: str
    test: str
    negated: bool

    def may_be_spelt_out(self, source: bytes) -> bool:
        """Whether ``source`` has all words of the test."""
        words = set(re.findall(r"[A-Za-z_]\w*", self.test)) - {self.parameter}
        return all(word.encode() in source for word in words)


def predicates_of(declared: DeclaredMember) -> Iterator[Predicate]:
    """The inline functions of the record's own file that return a test of the member, such as ``list_empty()``."""
    code = without_directives(without_comments(declared.source)).decode("utf-8", "surrogateescape")
    title = re.escape(declared.title).replace("\\ ", r"\s+")
    pattern = re.compile(
        r"\bstatic\s++(?:__always_)?inline\s++(?P<result>bool|int|_Bool)\s++(?P<name>\w++)\s*+"
        rf"\(\s*+(?:const\s++)?+{title}\s*+\*\s*+(?:const\s++)?+(?P<parameter>\w++)\s*+\)\s*+"
        rf"\{{\s*+return\b\s*+(?P<negation>!?)\s*+(?P<test>(?:{_TESTS})\s*+\([^;{{}}()]++\));\s*+\}}"
    )
    for match in pattern.finditer(code):
        if re.search(rf"\b{re.escape(match['parameter'])}\s*->\s*{re.escape(declared.name)}\b", match["test"]):
            yield Predicate(match["name"], match["parameter"], " ".join(match["test"].split()), bool(match["negation"]))


def calling(rules: MemberRules, predicates: Sequence[Predicate]) -> SemanticPatch:
    """Rules that call the functions where their tests are spelt out; the functions themselves stay."""
    written = []
    for number, one in enumerate(predicates):
        holder = re.escape(one.parameter)
        # The position is that of the first mention of the member.
        test = re.sub(rf"\b{holder}\s*->\s*{re.escape(rules.member)}\b", "$@p", one.test, count=1)
        test = re.sub(rf"\b{holder}\b", "#", test)
        same, opposite = ("!", "") if one.negated else ("", "!")
        edits = (f"- !{test}\n+ {opposite}{one.name}(#)", f"- {test}\n+ {same}{one.name}(#)")
        # Without this the function would call itself.
        outside = f' : script:python() {{ p[0].current_element != "{one.name}" }}'
        written.append(rules.rule(f"predicate{number}", edits, outside))
    return SemanticPatch("\n".join(written))
