# SPDX-License-Identifier: GPL-2.0-or-later
"""What the change leaves for a person: functions that cannot fail or do nothing any more, comments that are old."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.classify import use_at
from linesmith.patches.inline.find import Found
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.syntax import (
    RELEASES,
    bare,
    callee,
    enclosing,
    function_name,
    inside,
    member_expression,
    outermost,
    parsed,
    preceding,
    text,
)
from linesmith.patches.inline.uses import Role
from linesmith.patches.source.macros import LineCounter, without_comments
from linesmith.patches.treewide.image import Mention, TreeImage, mentioned

_COMMENT = re.compile(rb"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)", re.DOTALL)
_CONSTANT = re.compile(r"true|false|-?\d+|-?[A-Z][A-Z0-9_]*")
_MOST_TEXT = 60


def aftermath(
    pointer: PointerMember, found: Found, before: Mapping[str, bytes], after: Mapping[str, bytes]
) -> tuple[Refusal, ...]:
    """The places, with lines of the files ``before`` the change; ``after`` has the same files."""
    found_before = {file: parsed(source) for file, source in before.items()}
    found_after = {file: parsed(source) for file, source in after.items()}
    return (
        *_certain(found, found_before, found_after),
        *_emptied(found, found_before, found_after),
        *_old_comments(pointer, before),
    )


def _certain(
    found: Found, before: Mapping[str, tree_sitter.Node], after: Mapping[str, tree_sitter.Node]
) -> Iterator[Refusal]:
    """Functions that tested an allocation; where they only return one value now, who asks for it too."""
    checks = (use for use in found.uses if use.role is Role.ALLOCATION_CHECK and use.file in after)
    tested = {(use.file, use.function): use for use in checks}
    for (file, function), use in tested.items():
        reason = f"{function}() cannot fail any more for want of memory for the object"
        yield Refusal(RefusalCode.ALWAYS_SUCCEEDS, use.place, reason, "take away what is done when it does")
        value = _only_value(_definition(after[file], function))
        if not value:
            continue
        for name, root in before.items():
            for call in _tests_of(root, function):
                told = f"{function}() always returns {value} ({text(bare(call))[:_MOST_TEXT]})"
                place = f"{name}:{call.start_point[0] + 1}"
                yield Refusal(RefusalCode.ALWAYS_SUCCEEDS, place, told, "take away the test and what it guards")


def _emptied(
    found: Found, before: Mapping[str, tree_sitter.Node], after: Mapping[str, tree_sitter.Node]
) -> Iterator[Refusal]:
    """Functions of which nothing is left."""
    for file, function in dict.fromkeys((use.file, use.function) for use in found.uses if use.file in after):
        was, now = _definition(before[file], function), _definition(after[file], function)
        if was is not None and now is not None and _statements(was) and not _statements(now):
            place = f"{file}:{was.start_point[0] + 1}"
            reason = f"{function}() does nothing any more"
            yield Refusal(RefusalCode.ALWAYS_SUCCEEDS, place, reason, "take it and its calls away")


def _old_comments(pointer: PointerMember, before: Mapping[str, bytes]) -> Iterator[Refusal]:
    """Comments of the changed files that speak of the pointer, each once."""
    name = re.escape(pointer.name.encode())
    # A name that may be a word of English counts where it is written as code.
    plain = rb"\b" + name + rb"\b(?!\()" if "_" in pointer.name else rb"(?:->|\.|@)" + name + rb"\b|\b" + name + rb"->"
    word = re.compile(plain)
    for file, source in before.items():
        lines = LineCounter(source)
        for comment in _COMMENT.finditer(source):
            if mention := word.search(comment[0]):
                start = comment.start() + mention.start()
                end = source.find(b"\n", start)
                whole = source[source.rfind(b"\n", 0, start) + 1 : end if end >= 0 else len(source)]
                line = whole.decode("utf-8", "replace").strip()
                reason = f"a comment speaks of the pointer (`{line[:_MOST_TEXT]}`)"
                place = f"{file}:{lines.number(start)}"
                yield Refusal(RefusalCode.MENTIONED, place, reason, "see whether it still holds")


def _definition(root: tree_sitter.Node, function: str) -> tree_sitter.Node | None:
    """The first definition that has statements, else the first: an ``#else`` often has an empty one."""
    known = [one for one in inside(root, "compound_statement") if _defines(one, function)]
    return next((one for one in known if _statements(one)), known[0] if known else None)


def _defines(body: tree_sitter.Node, function: str) -> bool:
    above = body.parent
    return above is not None and above.type == "function_definition" and function_name(body) == function


def _statements(body: tree_sitter.Node) -> list[tree_sitter.Node]:
    return [one for one in body.named_children if one.type != "comment"]


def _only_value(body: tree_sitter.Node | None) -> str:
    """The constant that every ``return`` gives; empty where they differ or compute."""
    if body is None:
        return ""
    returned = {text(one).removeprefix("return").rstrip(";").strip() for one in inside(body, "return_statement")}
    value = returned.pop() if len(returned) == 1 else ""
    return value if _CONSTANT.fullmatch(value) else ""


def _tests_of(root: tree_sitter.Node, function: str) -> Iterator[tree_sitter.Node]:
    """Conditions of ``if`` that call the function."""
    for call in inside(root, "call_expression"):
        if callee(call) == function:
            statement = enclosing(call, "if_statement", "expression_statement", "return_statement")
            if statement is not None and statement.type == "if_statement":
                yield statement.child_by_field_name("condition") or statement


# Labels that nothing jumps to any more, and the statements that nothing reaches then.


def without_unused_labels(before: bytes, after: bytes) -> bytes:
    """``after`` without the labels on lines of their own whose last ``goto`` has gone since ``before``.

    Behind a ``return`` or ``goto`` the statements up to the next label go too.
    """
    was = Counter(_jumps(parsed(before)))
    root = parsed(after)
    now = set(_jumps(root))
    for statement in reversed(list(inside(root, "labeled_statement"))):
        label = statement.child_by_field_name("label")
        key = (function_name(statement), text(label))
        if label is not None and was[key] and key not in now:
            after = _without(after, statement, label)
    return after


def _jumps(root: tree_sitter.Node) -> Iterator[tuple[str, str]]:
    """Function and label of each ``goto``."""
    for one in inside(root, "goto_statement"):
        yield function_name(one), text(one.child_by_field_name("label"))


def _without(source: bytes, statement: tree_sitter.Node, label: tree_sitter.Node) -> bytes:
    start, end = source.rfind(b"\n", 0, label.start_byte) + 1, source.find(b"\n", label.end_byte) + 1
    if source[start:end].strip() != (label.text or b"") + b":":
        return source
    dead = _end_of_dead(source, statement)
    if dead is None:
        return source[:start] + source[end:]
    ends_block = source[dead:].lstrip().startswith(b"}")
    return (source[:start].rstrip() + b"\n" if ends_block else source[:start]) + source[dead:]


def _end_of_dead(source: bytes, statement: tree_sitter.Node) -> int | None:
    """Where what only the label led to ends: at the next label or the end of the block; ``None`` if it is reached."""
    before = preceding(statement)
    if before is None or before.type not in ("return_statement", "goto_statement"):
        return None
    last: tree_sitter.Node | None = statement
    while last is not None and (last == statement or last.type != "labeled_statement"):
        if last != statement and any(inside(last, "labeled_statement")):
            return None
        behind, last = last, last.next_named_sibling
    edge = last if last is not None else behind.next_sibling
    return source.rfind(b"\n", 0, edge.start_byte) + 1 if edge is not None else None


# The preprocessor conditionals around a place, and those that a change has left empty.

_DIRECTIVE = re.compile(rb"^[ \t]*\#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(?:\\\r?\n|[^\n])*\n?", re.MULTILINE)
_EMPTY = re.compile(
    rb"^[ \t]*\#[ \t]*if(?:def|ndef)?\b[^\n]*\n(?:[ \t]*\r?\n)*[ \t]*\#[ \t]*endif\b[^\n]*\n", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Conditional:
    """An open ``#if``: its lines as written, and whether the place is behind an ``#else`` or ``#elif`` of it."""

    opening: bytes
    alternative: bool = False


def conditionals(source: bytes, offset: int, start: int = 0) -> tuple[Conditional, ...]:
    """The conditionals that begin behind ``start`` and are open at ``offset``, outermost first."""
    open_: list[Conditional] = []
    code = without_comments(source)
    for match in _DIRECTIVE.finditer(code, start, offset):
        if match[1].startswith(b"if"):
            open_.append(Conditional(source[match.start() : match.end()]))
        elif match[1] == b"endif":
            open_ = open_[:-1]
        elif open_:
            open_[-1] = Conditional(open_[-1].opening, alternative=True)
    return tuple(open_)


def without_emptied(before: bytes, after: bytes) -> bytes:
    """``after`` without conditionals that hold nothing; those that held nothing ``before`` stay."""
    held = set(_EMPTY.findall(before))
    return _EMPTY.sub(lambda match: match[0] if match[0] in held else b"", after)


# Uses of the pointer that are still there when the semantic patch has run.

# What an object cannot do.
_OF_POINTERS = frozenset((Role.OBJECT, Role.ALLOCATION, Role.RELEASE, Role.CLEARED, Role.TEST))


def left_behind(pointer: PointerMember, found: Found, image: TreeImage) -> tuple[Refusal, ...]:
    """The places that the semantic patch should have changed and did not; it skips functions that it cannot parse."""
    return tuple(one for file in found.files for one in _left(pointer, found, file, image))


def _left(pointer: PointerMember, found: Found, file: str, image: TreeImage) -> Iterator[Refusal]:
    source = image.read(file)
    known = {(use.function, use.holder) for use in found.uses if use.file == file}
    root = parsed(source)
    for one in mentioned(file, source, pointer.name):
        use = use_at(root, file, one, pointer.targets)
        node = member_expression(root, one.offset)
        pointed = node is not None and (_is_followed(node) or _is_released(node))
        if (use.function, use.holder) in known and (use.role in _OF_POINTERS or pointed):
            reason = f"spatch left the pointer here (`{one.text[:60]}`), perhaps in a function that it cannot parse"
            place = _place(found, file, use.function, one, image.original(file).splitlines())
            yield Refusal(RefusalCode.NOT_PARSED, place, reason, "change it by hand")


def _place(found: Found, file: str, function: str, one: Mention, lines: Sequence[bytes]) -> str:
    """Where the line stands in the tree as it is."""
    text = one.text.encode("utf-8", "replace")
    known = (use for use in found.uses if (use.file, use.function) == (file, function))
    return next((use.place for use in known if lines[use.line - 1].strip() == text), one.place)


def _is_followed(node: tree_sitter.Node) -> bool:
    """Whether an arrow stands behind it."""
    above = outermost(node).parent
    return (
        above is not None and above.type == "field_expression" and text(above.child_by_field_name("operator")) == "->"
    )


def _is_released(node: tree_sitter.Node) -> bool:
    """Whether the member itself is given to a function that frees."""
    call = enclosing(node, "call_expression", "field_expression", "expression_statement")
    return call is not None and call.type == "call_expression" and callee(call) in RELEASES
