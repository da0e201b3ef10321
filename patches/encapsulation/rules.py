# SPDX-License-Identifier: GPL-2.0-or-later
"""Semantic patches about a member: one that tells what its users do with it, one that brings in the accessor.

``P`` stands for a pointer to the record, ``O`` for the record itself. An isomorphism of Coccinelle lets ``O.m`` match
``P->m`` as well, so rules about pointers come first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from linesmith.patches.encapsulation.member import Form
from linesmith.patches.source.records import RecordSpan
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


class Use(StrEnum):
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

    ``unique`` tells that whatever has a member of the name is the record, so that rules need not know its type.
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
        names = [f"{qualifier}{name}" for name in (self.record.title, *self.aliases)]
        return f"{{{', '.join(names)}}}" if self.aliases else names[0]

    @property
    def word(self) -> str:
        """The member as rules have it: itself, or a metavariable where its name means something to SmPL."""
        return "MEMBER" if self.member in _RESERVED else self.member

    def both(self, *patterns: str) -> str:
        """A choice of the patterns for pointers and for records; ``$`` stands for the member, with its position."""
        holders = ("P->", "O.")
        return _choice(one.replace("$", f"{holder}{self.word}@p") for holder in holders for one in patterns)

    def rule(self, name: str, pattern: str, **metavariables: str) -> str:
        """A rule; ``metavariables`` are kinds by name, those of the record and unused ones need not be told."""
        title = self.record.title
        holders = {"P": "expression", "O": "expression"} if self.unique else self.typed
        known = {"TT": "type", **holders, **_METAVARIABLES, **metavariables}
        words = set(re.findall(r"\w+", " ".join((pattern, *metavariables.values()))))
        lines = [f"{kind}{'' if kind.endswith('*') else ' '}{one};" for one, kind in known.items() if one in words]
        lines += [f'identifier MEMBER =~ "^{self.member}$";'] if "MEMBER" in words else []
        typedefs = (*([title] if self.record.typedef else []), *self.aliases)
        named = [f"typedef {one};" for one in typedefs if one in " ".join((*lines, pattern))]
        position = [] if "position" in metavariables else ["position p;"]
        position = [f"position p {metavariables['position']};"] if "position" in metavariables else position
        return "\n".join((f"@{name}@", *named, *lines, *position, "@@", pattern, ""))


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
        target.rule(Use.POINTER, f"P->{member}@p", **target.typed),
        target.rule(Use.OBJECT, f"O.{member}@p", **target.typed),
        target.rule(Use.PART, target.both("$.f")),
        *(rule(target) for use, rule in _KEEPING.items() if target.macros or use not in _OF_ARRAYS),
        target.rule(Use.CONSTANT, f"P->{member}@p", P=f"{target.of_type('const ')} *"),
        target.rule(Use.KNOWN, f"O.{member}@p", O="TT"),
        target.rule(Use.SEEN, target.both("$"), P="expression", O="expression"),
        target.rule(Use.INITIALISED, f"{title} I = {{ .{member}@p = V, }};"),
    )
    bound = {Use.POINTER: ("P",), Use.KNOWN: ("TT",)}
    return SemanticPatch("\n".join(rules), tuple(Report(use, "p", bound.get(use, ())) for use in Use))


def replacing(target: Target, name: str, form: Form, uses: Collection[Use]) -> SemanticPatch:
    """Rules that put the accessor ``name`` in place of the uses that it can serve.

    Alternatives are written only for the ``uses`` that there are.
    """
    kept = [use for use in KEPT[form] if use in uses]
    without = f"!= {{ {', '.join(f'{use}.p' for use in kept)} }}" if kept else ""
    rules = [_KEEPING[use](target) for use in kept]
    # One rule for all: once a rule has changed a function, positions found before it mean nothing there.
    holders = ["P->", *(["O."] if Use.OBJECT in uses else []), *(["X->", "X."] if target.unique else [])]
    edits = [pair for holder in holders for pair in _pairs(target, holder, name, form, uses)]
    choice = "(\n" + "\n|\n".join(f"- {old}\n+ {new}" for old, new in edits) + "\n)"
    rules.append(target.rule("accessor", choice, X="expression", position=without, **target.typed))
    return SemanticPatch("\n".join(rules))


# A pattern in parentheses matches what has none, or fewer, as well: an isomorphism of Coccinelle.
def _address(target: Target) -> str:
    return target.rule(Use.ADDRESS, target.both("&(($))"))


def _assigned(target: Target) -> str:
    return target.rule(Use.ASSIGNED, target.both("(($)) = V"))


def _updated(target: Target) -> str:
    return target.rule(Use.UPDATED, target.both("(($))++", "(($))--", "++(($))", "--(($))", "(($)) A V"))


def _handed(target: Target) -> str:
    macros = "|".join((*_NEED_OBJECT, *_NEED_ARRAY, *target.macros))
    known = {"macro": "identifier"}
    text = target.rule(Use.HANDED, target.both("macro(..., (($)), ...)"), **known)
    return text.replace("identifier macro;", f'identifier macro =~ "^({macros})$";')


def _measured(target: Target) -> str:
    return target.rule(Use.MEASURED, target.both("sizeof((($)))", "sizeof (($))"))


def _typed(target: Target) -> str:
    return target.rule(Use.TYPED, target.both("typeof($)", "typeof(($))"))


def _iterated(target: Target) -> str:
    """What is handed to a macro with a body, which may be anything."""
    return target.rule(Use.ITERATED, target.both("IS(..., (($)), ...) S"))


_KEEPING = {
    Use.ASSIGNED: _assigned,
    Use.UPDATED: _updated,
    Use.HANDED: _handed,
    Use.MEASURED: _measured,
    Use.TYPED: _typed,
    Use.ITERATED: _iterated,
    Use.ADDRESS: _address,
}
_OF_ARRAYS = (Use.TYPED, Use.ITERATED)
# Places that an accessor of each form cannot serve.
KEPT = {
    Form.ADDRESS: (Use.ASSIGNED,),
    Form.ELEMENTS: (Use.HANDED, Use.MEASURED, Use.TYPED, Use.ITERATED, Use.ADDRESS),
    Form.VALUE: (Use.ASSIGNED, Use.UPDATED, Use.HANDED, Use.ADDRESS),
}


def _pairs(target: Target, holder: str, name: str, form: Form, uses: Collection[Use]) -> Iterator[tuple[str, str]]:
    """What is taken out and what comes in, the special cases first."""
    access = f"{holder}{target.word}@p"
    call = f"{name}({'&' if holder.endswith('.') else ''}{holder[0]})"
    if form is not Form.ADDRESS:
        yield access, call
        return
    if Use.ADDRESS in uses:
        yield f"&{access}", call
    if Use.PART in uses:
        yield f"{access}.f", f"{call}->f"
    elif Use.SEEN in uses:
        yield f"{access}->f", f"(*{call})->f"
        yield f"{access}[V]", f"(*{call})[V]"
        yield f"{access}(VS)", f"(*{call})(VS)"
        yield f"{access}++", f"(*{call})++"
        yield f"{access}--", f"(*{call})--"
        yield f"V / {access}", f"V / (*{call})"
    yield access, f"*{call}"


def _choice(patterns: Iterable[str]) -> str:
    # A blank in front: in the first column SmPL takes an ampersand for its own.
    return "(\n" + "\n|\n".join(f" {one}" for one in patterns) + "\n)"
