# SPDX-License-Identifier: GPL-2.0-or-later
"""Semantic patches about a member: one reports what its users do with it, one brings in the accessor.

``P`` stands for a pointer to the record, ``O`` for the record itself. An isomorphism of Coccinelle lets ``O.m`` match
``P->m`` as well, so rules about pointers come first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from linesmith.patches.encapsulation.member import DeclaredMember, Form
from linesmith.patches.source.macros import without_comments, without_directives
from linesmith.patches.source.records import RecordSpan
from linesmith.patches.treewide.mentions import any_of, metavariable, typedef_lines
from linesmith.patches.treewide.spatch import Report, SemanticPatch

# Macros that need their argument as an object in memory, not as a value.
_NEED_OBJECT = (
    "READ_ONCE", "WRITE_ONCE", "ACCESS_ONCE", "smp_load_acquire", "smp_store_release", "rcu_dereference[a-z_0-9]*",
    "rcu_access_pointer", "rcu_assign_pointer", "rcu_replace_pointer", "RCU_INIT_POINTER", "rtnl_dereference",
    "srcu_dereference[a-z_0-9]*", "data_race", "swap", "get_user", "put_user", "_*this_cpu_[a-z_0-9]+",
)  # fmt: skip
_NEED_ARRAY = (
    "ARRAY_SIZE",
    "__must_be_array",
    "strscpy",
    "strscpy_pad",
    "strtomem[a-z_0-9]*",
    "memtostr[a-z_0-9]*",
    "G_N_ELEMENTS",
    "nitems",
    "_*[Aa]lignof_*",
)


# Keywords of SmPL that cannot name a member in a rule, and the metavariables below.
_RESERVED = frozenset(
    ("position", "when", "forall", "exists", "TT", "P", "O", "X", "V", "VS", "f", "A", "I", "IS", "S", "macro")
)


class MemberRole(StrEnum):
    """What a place does with the member; names of rules."""

    POINTER = "pointer"
    OBJECT = "object"
    ADDRESS = "address"
    PART = "part"
    ASSIGNED = "assigned"
    UPDATED = "updated"
    HANDED = "handed"
    MEASURED = "measured"
    TYPED = "typed"
    ITERATED = "iterated"
    CONSTANT = "through_const"
    KNOWN = "known"
    SEEN = "seen"
    INITIALISED = "initialised"


@dataclass(frozen=True, slots=True)
class Target:
    """The member that rules are about; ``aliases`` are typedefs of the record.

    ``unique``: whatever has a member of the name is the record, so that rules need not know its type.
    ``macros`` are patterns of names of macros that may need an array itself; none where the member is no array.
    """

    record: RecordSpan
    member: str
    aliases: tuple[str, ...] = ()
    unique: bool = False
    macros: tuple[str, ...] = ()

    @property
    def typed(self) -> dict[str, str]:
        """The metavariables ``P`` and ``O`` for a record of known type."""
        return {"P": f"{self.of_type()} *", "O": self.of_type()}

    def of_type(self, qualifier: str = "") -> str:
        """The record's type for a metavariable, by all of its names."""
        return any_of([f"{qualifier}{name}" for name in (self.record.title, *self.aliases)])

    @property
    def word(self) -> str:
        """The member as rules have it: itself, or a metavariable where its name means something to SmPL."""
        return "MEMBER" if self.member in _RESERVED else self.member

    def through_each(self, *patterns: str) -> str:
        """A choice of the patterns for pointers and for records; ``$`` stands for the member, with its position."""
        # A blank in front: in the first column SmPL takes an ampersand for its own.
        texts = (f" {one.replace('$', f'{way}{self.word}@p')}" for way in ("P->", "O.") for one in patterns)
        return "(\n" + "\n|\n".join(texts) + "\n)"

    def rule(self, name: str, pattern: str, position: str = "", **metavariables: str) -> str:
        """A rule; ``metavariables`` are kinds by name, without those of the record; unused ones are left out."""
        holders = {"P": "expression", "O": "expression"} if self.unique else self.typed
        kinds = {"TT": "type", **holders, **_METAVARIABLES, **metavariables}
        words = set(re.findall(r"\w+", " ".join((pattern, *metavariables.values()))))
        lines = [metavariable(kind, one) for one, kind in kinds.items() if one in words]
        lines += [f'identifier MEMBER =~ "^{self.member}$";'] if "MEMBER" in words else []
        used = " ".join((*lines, pattern))
        typedefs = typedef_lines([one for one in (self.record.title, *self.aliases) if one in used])
        return "\n".join((f"@{name}@", *typedefs, *lines, metavariable("position", f"p{position}"), "@@", pattern, ""))


_METAVARIABLES = {
    "V": "expression",
    "VS": "expression list",
    "f": "identifier",
    "A": "assignment operator",
    "I": "identifier",
    "IS": "iterator",
    "S": "statement",
}


def census(target: Target) -> SemanticPatch:
    """Rules that change nothing and report each use of the member, and each member of the same name."""
    member, title = target.word, target.record.title
    rules = (
        target.rule(MemberRole.POINTER, f"P->{member}@p", **target.typed),
        target.rule(MemberRole.OBJECT, f"O.{member}@p", **target.typed),
        target.rule(MemberRole.PART, target.through_each("$.f")),
        *(_unserved(target, use) for use in _PATTERNS if target.macros or use not in _OF_ARRAYS),
        target.rule(MemberRole.CONSTANT, f"P->{member}@p", P=f"{target.of_type('const ')} *"),
        target.rule(MemberRole.KNOWN, f"O.{member}@p", O="TT"),
        target.rule(MemberRole.SEEN, target.through_each("$"), P="expression", O="expression"),
        target.rule(MemberRole.INITIALISED, f"{title} I = {{ .{member}@p = V, }};"),
    )
    bound = {MemberRole.POINTER: ("P",), MemberRole.KNOWN: ("TT",)}
    return SemanticPatch("\n".join(rules), tuple(Report(use, "p", bound.get(use, ())) for use in MemberRole))


def replacing(target: Target, name: str, form: Form, uses: Collection[MemberRole]) -> SemanticPatch:
    """Rules that put the accessor ``name`` in place of the uses that it can serve.

    Alternatives are written only for the ``uses`` that there are.
    """
    unserved = [use for use in UNSERVED[form] if use in uses]
    without = f" != {{ {', '.join(f'{use}.p' for use in unserved)} }}" if unserved else " "
    rules = [_unserved(target, use) for use in unserved]
    # One rule for all: once a rule has changed a function, positions found before it mean nothing there.
    holders = ["P->", *(["O."] if MemberRole.OBJECT in uses else []), *(["X->", "X."] if target.unique else [])]
    edits = [pair for holder in holders for pair in _pairs(target, holder, name, form, uses)]
    choice = "(\n" + "\n|\n".join(f"- {old}\n+ {new}" for old, new in edits) + "\n)"
    rules.append(target.rule("accessor", choice, X="expression", position=without, **target.typed))
    return SemanticPatch("\n".join(rules))


# A pattern in parentheses matches what has none, or fewer, as well: an isomorphism of Coccinelle. A macro with a body
# may do anything with what it is passed.
_PATTERNS = {
    MemberRole.ASSIGNED: ("(($)) = V",),
    MemberRole.UPDATED: ("(($))++", "(($))--", "++(($))", "--(($))", "(($)) A V"),
    MemberRole.HANDED: ("macro(..., (($)), ...)",),
    MemberRole.MEASURED: ("sizeof((($)))", "sizeof (($))"),
    MemberRole.TYPED: ("typeof($)", "typeof(($))"),
    MemberRole.ITERATED: ("IS(..., (($)), ...) S",),
    MemberRole.ADDRESS: ("&(($))",),
}
_OF_ARRAYS = (MemberRole.TYPED, MemberRole.ITERATED)
# Places that an accessor of each form cannot serve.
UNSERVED = {
    Form.ADDRESS: (MemberRole.ASSIGNED,),
    Form.ELEMENTS: (MemberRole.HANDED, MemberRole.MEASURED, MemberRole.TYPED, MemberRole.ITERATED, MemberRole.ADDRESS),
    Form.VALUE: (MemberRole.ASSIGNED, MemberRole.UPDATED, MemberRole.HANDED, MemberRole.ADDRESS),
}


def _unserved(target: Target, use: MemberRole) -> str:
    """The rule that finds a use which may have to keep the member itself."""
    macros = "|".join((*_NEED_OBJECT, *_NEED_ARRAY, *target.macros))
    text = target.rule(use, target.through_each(*_PATTERNS[use]), macro="identifier")
    return text.replace("identifier macro;", f'identifier macro =~ "^({macros})$";')


def _pairs(
    target: Target, holder: str, name: str, form: Form, uses: Collection[MemberRole]
) -> Iterator[tuple[str, str]]:
    """What is taken out and what comes in, the special cases first."""
    access = f"{holder}{target.word}@p"
    call = f"{name}({'&' if holder.endswith('.') else ''}{holder[0]})"
    if form is not Form.ADDRESS:
        yield access, call
        return
    if MemberRole.ADDRESS in uses:
        yield f"&{access}", call
    if MemberRole.PART in uses:
        yield f"{access}.f", f"{call}->f"
    elif MemberRole.SEEN in uses:
        yield f"{access}->f", f"(*{call})->f"
        yield f"{access}[V]", f"(*{call})[V]"
        yield f"{access}(VS)", f"(*{call})(VS)"
        yield f"{access}++", f"(*{call})++"
        yield f"{access}--", f"(*{call})--"
        yield f"V / {access}", f"V / (*{call})"
    yield access, f"*{call}"


# Functions near a record that return whether something is so of its member, which others may spell out.

_TESTS = "RB_EMPTY_ROOT|RB_EMPTY_NODE|list_empty|list_empty_careful|list_is_singular|hlist_empty"
_BLANKS = re.compile(r"\s+")


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
            yield Predicate(match["name"], match["parameter"], _BLANKS.sub(" ", match["test"]), bool(match["negation"]))


def calling(target: Target, predicates: Sequence[Predicate]) -> SemanticPatch:
    """Rules that call the functions where their tests are spelt out; the functions themselves stay."""
    rules = []
    member = re.compile(rf"->\s*{re.escape(target.member)}\b")
    for number, one in enumerate(predicates):
        # The position is that of the first mention of the member.
        test = member.sub(f"->{target.word}@p", re.sub(rf"\b{re.escape(one.parameter)}\b", "P", one.test), count=1)
        same, opposite = ("!", "") if one.negated else ("", "!")
        choice = f"(\n- !{test}\n+ {opposite}{one.name}(P)\n|\n- {test}\n+ {same}{one.name}(P)\n)"
        # Without this the function would call itself.
        outside = f' : script:python() {{ p[0].current_element != "{one.name}" }}'
        rules.append(target.rule(f"predicate{number}", choice, position=outside))
    return SemanticPatch("\n".join(rules))
