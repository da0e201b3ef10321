# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that are copied by their declaration: a variable with another's value, a parameter, what is returned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.syntax import (
    DEFERRED_RELEASES,
    NULL,
    RELEASES,
    arguments,
    bare,
    callee,
    compact,
    enclosing,
    function_name,
    inside,
    outermost,
    parsed,
    text,
)
from linesmith.patches.treewide.image import Mention

# Initialisers that give the pointer a value: ``struct area first = { .lock = &first_lock }``.

_DESIGNATOR = re.compile(rb"(?:\A|[{,;\n(])\s*\.\s*\Z")
_BACK = 200


@dataclass(frozen=True, slots=True)
class Initialised:
    """Places that initialise the pointer for certain, and those of which the record is not known."""

    certain: tuple[Refusal, ...]
    possible: tuple[Refusal, ...]


def initialised(pointer: PointerMember, places: Sequence[Mention], sources: Mapping[str, bytes]) -> Initialised:
    """The designated initialisers among ``places``; of unknown records only where the file names the pointer's."""
    word = re.compile(rb"\b(?:" + b"|".join(_bare(name) for name in pointer.holders) + rb")\b")
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    for one in places:
        source = sources[one.file]
        if not _designates(source, one, pointer.name) or not word.search(source):
            continue
        record = _record(parsed(source), one.offset)
        reason = f"an initialiser sets the pointer (`{one.text[:60]}`)"
        if record in pointer.holders:
            lift = "initialise the object in its place, by hand"
            certain.append(Refusal(RefusalCode.INITIALISER, one.place, reason, lift))
        elif not record:
            lift = f"see whether it is one of {pointer.outer.record.title}"
            possible.append(Refusal(RefusalCode.INITIALISER, one.place, reason, lift))
    return Initialised(tuple(certain), tuple(possible))


def _bare(name: str) -> bytes:
    return re.escape(name.removeprefix("struct ").encode())


def _designates(source: bytes, one: Mention, name: str) -> bool:
    behind = source[one.offset + len(name) : one.offset + len(name) + _BACK].lstrip()
    ahead = source[max(0, one.offset - _BACK) : one.offset]
    return behind[:1] == b"=" and behind[1:2] != b"=" and bool(_DESIGNATOR.search(ahead))


def _record(root: tree_sitter.Node, offset: int) -> str:
    """What is initialised, as its type is named; empty where that is nested or not plain C."""
    designators = list(_upwards(root.descendant_for_byte_range(offset, offset + 1), "initializer_pair"))
    listed = designators[0].parent if designators else None
    holder = listed.parent if listed is not None and listed.type == "initializer_list" else None
    if holder is not None and holder.type == "initializer_list":
        holder = holder.parent
        if holder is None or _is_array(holder) is False:
            return ""
    if holder is None or holder.type not in ("init_declarator", "compound_literal_expression"):
        return ""
    declaration = holder.parent if holder.type == "init_declarator" else holder
    named = declaration.child_by_field_name("type") if declaration is not None else None
    return re.sub(r"\b(?:const|volatile|static)\s+", "", text(named))


def _is_array(holder: tree_sitter.Node) -> bool:
    declarator = holder.child_by_field_name("declarator")
    return declarator is not None and declarator.type == "array_declarator"


def _upwards(node: tree_sitter.Node | None, kind: str) -> Iterator[tree_sitter.Node]:
    while node is not None:
        if node.type == kind:
            yield node
        node = node.parent


# Functions that take the object out of its record, to keep it or to free it later.

# What functions are called that end a record.
_ENDING = re.compile(r"(?:\A|_)k?v?(?:free|destroy|release|delete|dispose|put|unref)(?:\Z|_)")


def taken_out(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """What shows that ``node`` (``x->p``), which is used as a value, outlives its record: where it is cleared or freed.

    An argument of a call may be freed there: it is taken out when the pointer is cleared behind the call and freed by
    nothing that is seen.
    """
    function = enclosing(node, "function_definition")
    if function is None:
        return None
    above = outermost(node).parent
    cleared = _cleared(node, function)
    if above is None or above.type != "argument_list":
        return cleared or _ended(node, function)
    if cleared is None or cleared.start_byte < node.start_byte or _is_freed(node, function):
        return None
    return cleared


def _cleared(node: tree_sitter.Node, function: tree_sitter.Node) -> tree_sitter.Node | None:
    """The last assignment of NULL to the member, of whatever record."""
    field = text(node.child_by_field_name("field"))
    found = None
    for one in inside(function, "assignment_expression"):
        left, right = one.child_by_field_name("left"), one.child_by_field_name("right")
        target = bare(left) if left is not None else None
        if target is None or right is None or target.type != "field_expression":
            continue
        if text(target.child_by_field_name("field")) == field and text(bare(right)) in NULL:
            found = one
    return found


def _ended(node: tree_sitter.Node, function: tree_sitter.Node) -> tree_sitter.Node | None:
    """The first call that frees the record."""
    holder = compact(node.child_by_field_name("argument"))
    for call in inside(function, "call_expression"):
        given = any(compact(bare(one)) == holder for one in arguments(call))
        if given and _ends(callee(call)):
            return call
    return None


def _ends(name: str) -> bool:
    return name in RELEASES or name in DEFERRED_RELEASES or _ENDING.search(name) is not None


def _is_freed(node: tree_sitter.Node, function: tree_sitter.Node) -> bool:
    spelled = compact(node)
    calls = (call for call in inside(function, "call_expression") if callee(call) in RELEASES)
    return any(compact(bare(one)) == spelled for call in calls for one in arguments(call))


# What a function does with a variable of its own that has taken the pointer.

_TRUTH = frozenset(("!", "&&", "||"))
_TESTING = frozenset(("likely", "unlikely", "IS_ERR_OR_NULL", "WARN_ON", "WARN_ON_ONCE", "BUG_ON", "assert"))


def is_local(function: tree_sitter.Node, name: str) -> bool:
    """Whether the function declares the variable, as a parameter or in its body."""
    declared = (*inside(function, "parameter_declaration"), *inside(function, "declaration"))
    parts = (part for one in declared for part in one.children_by_field_name("declarator"))
    return any(_declared_name(part) == name for part in parts)


def kept_in(function: tree_sitter.Node, name: str) -> Iterator[tree_sitter.Node]:
    """What other than a variable the function assigns the variable to."""
    for one in inside(function, "assignment_expression"):
        left, right = one.child_by_field_name("left"), one.child_by_field_name("right")
        if left is not None and right is not None and left.type != "identifier" and compact(bare(right)) == name:
            yield left


def is_tested(node: tree_sitter.Node) -> bool:
    """Whether the expression is asked to be NULL or not, be it as an operand."""
    whole = outermost(node)
    above = whole.parent
    if above is None:
        return False
    operator = text(above.child_by_field_name("operator"))
    if above.type in ("unary_expression", "binary_expression") and operator in _TRUTH:
        return True
    if above.type == "binary_expression" and operator in ("==", "!="):
        return any(text(above.child_by_field_name(side)) in NULL for side in ("left", "right"))
    if above.type == "conditional_expression":
        return above.child_by_field_name("condition") == whole
    if above.type == "argument_list" and above.parent is not None:
        return callee(above.parent) in _TESTING
    return above.type == "parenthesized_expression"


def _declared_name(declarator: tree_sitter.Node | None) -> str:
    while declarator is not None and declarator.type != "identifier":
        declarator = declarator.child_by_field_name("declarator")
    return text(declarator)


# What an expression does with the pointer.


class Role(StrEnum):
    """What is done with ``x->p`` at one place; an object in the pointer's place can stand for all but the last."""

    MEMBER = "x->p->f"
    OBJECT = "*x->p"
    VALUE = "x->p"
    ALLOCATION = "x->p = kmalloc()"
    ALLOCATION_CHECK = "if (!x->p) behind the allocation"
    RELEASE = "kfree(x->p)"
    RELEASE_CHECK = "if (x->p) in front of the release"
    CLEARED = "x->p = NULL"
    TEST = "if (x->p)"
    STANDING = "it stands in the way"


@dataclass(frozen=True, slots=True)
class Use:
    """One place where the pointer is used, in ``function`` (empty outside of all).

    ``holder`` is the record that has it, as written. ``callee`` is the function called with it, ``cache`` the slab
    cache that the object is taken from, ``source`` what it is copied from; each is empty where there is none.
    ``clears`` tells that the object may be all zero, ``sole`` that the ``if`` that it is all of goes too.
    ``refusal`` says what stands in the way.
    """

    file: str
    line: int
    role: Role
    function: str = ""
    holder: str = ""
    callee: str = ""
    cache: str = ""
    source: str = ""
    clears: bool = False
    sole: bool = False
    refusal: Refusal | None = None

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"


_LIFT = "make sure that the object is set up anew behind it"
_QUALIFIERS = re.compile(r"\b(?:const|volatile|static)\s+")


@dataclass(frozen=True, slots=True)
class Copying:
    """``certain`` are copies of which the pointer is used, now another object; ``possible`` are the others."""

    certain: tuple[Refusal, ...]
    possible: tuple[Refusal, ...]

    @property
    def places(self) -> frozenset[str]:
        """Where they are, each as ``file:line``."""
        return frozenset(one.place for one in (*self.certain, *self.possible))


def copying(pointer: PointerMember, uses: Sequence[Use], sources: Mapping[str, bytes]) -> Copying:
    """The copies in ``sources``, the files that name the record."""
    names = b"|".join(rb"\s+".join(map(re.escape, one.encode().split())) for one in pointer.holders)
    likely = re.compile(rb"\b(?:" + names + rb")\s+\w+\s*[=(,)]")
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    for file, source in sources.items():
        if not likely.search(source):
            continue
        for node, variable in _copies(pointer, parsed(source)):
            used = (use for use in uses if (use.file, use.function) == (file, function_name(node)))
            if variable and any(use.holder == variable for use in used):
                certain.append(_refusal(pointer, file, node, f", and the object of {variable} is used"))
            else:
                possible.append(_refusal(pointer, file, node, ", now with the object"))
    return Copying(tuple(certain), tuple(possible))


def _copies(pointer: PointerMember, root: tree_sitter.Node) -> Iterator[tuple[tree_sitter.Node, str]]:
    """The places, and the variable that is a copy there; none where it has no name."""
    for one in inside(root, "init_declarator"):
        value, declarator = one.child_by_field_name("value"), one.child_by_field_name("declarator")
        plain = declarator is not None and declarator.type == "identifier"
        if plain and value is not None and _is_record(pointer, one.parent) and _is_value(bare(value)):
            yield one, text(declarator)
    for one in inside(root, "function_definition"):
        declarator = one.child_by_field_name("declarator")
        if declarator is None or declarator.type != "function_declarator":
            continue
        if _is_record(pointer, one):
            yield declarator, ""
        for parameter in inside(declarator, "parameter_declaration"):
            name = parameter.child_by_field_name("declarator")
            if name is not None and name.type == "identifier" and _is_record(pointer, parameter):
                yield parameter, text(name)


def _is_record(pointer: PointerMember, declaration: tree_sitter.Node | None) -> bool:
    named = declaration.child_by_field_name("type") if declaration is not None else None
    return _QUALIFIERS.sub("", text(named)) in pointer.holders


def _is_value(value: tree_sitter.Node) -> bool:
    """Whether it is another record, and no list of values, be it a macro's."""
    return value.type not in ("initializer_list", "compound_literal_expression") and not _macro(value)


def _macro(value: tree_sitter.Node) -> bool:
    name = value.child_by_field_name("function") if value.type == "call_expression" else value
    return name is not None and name.type == "identifier" and text(name).isupper()


def _refusal(pointer: PointerMember, file: str, node: tree_sitter.Node, what: str) -> Refusal:
    function = function_name(node)
    copier = f"{function}()" if function else "an initialiser"
    reason = f"{copier} copies a whole {pointer.outer.record.title}{what}"
    return Refusal(RefusalCode.COPIED_OBJECT, f"{file}:{node.start_point[0] + 1}", reason, _LIFT)
