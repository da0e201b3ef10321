# SPDX-License-Identifier: GPL-2.0-or-later
"""What the change leaves for a person: functions that cannot fail or do nothing any more, comments that are old."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.allocators import RELEASES
from linesmith.patches.inline.classify import use_at
from linesmith.patches.inline.find import PointerUses
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.uses import Role
from linesmith.patches.source.macros import LineCounter
from linesmith.patches.treewide.image import TreeImage
from linesmith.patches.treewide.mentions import mentions_in
from linesmith.patches.treewide.syntax import (
    bare,
    callee,
    enclosing,
    function_name,
    inside,
    line_of,
    member_expression,
    operator_of,
    outermost,
    parsed,
    statements,
    text,
)

_COMMENT = re.compile(rb"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)", re.DOTALL)
_CONSTANT = re.compile(r"true|false|-?\d+|-?[A-Z][A-Z0-9_]*")
_MOST_TEXT = 60


def aftermath(
    pointer: PointerMember, uses: PointerUses, before: Mapping[str, bytes], after: Mapping[str, bytes]
) -> tuple[Refusal, ...]:
    """The places, with lines of the files ``before`` the change; ``after`` has the same files."""
    roots_before = {file: parsed(source) for file, source in before.items()}
    roots_after = {file: parsed(source) for file, source in after.items()}
    return (
        *_certain(uses, roots_before, roots_after),
        *_emptied(uses, roots_before, roots_after),
        *_old_comments(pointer, before),
    )


def _certain(
    uses: PointerUses, before: Mapping[str, tree_sitter.Node], after: Mapping[str, tree_sitter.Node]
) -> Iterator[Refusal]:
    """Functions that tested an allocation; where they only return one value now, who asks for it too."""
    checks = (use for use in uses.places if use.role is Role.ALLOCATION_CHECK and use.file in after)
    tested = {(use.file, use.function): use for use in checks}
    for (file, function), use in tested.items():
        reason = f"{function}() cannot fail any more for want of memory for the object"
        yield Refusal(RefusalCode.ALWAYS_SUCCEEDS, use.place, reason, "take away what is done when it does")
        value = _only_value(_definition(after[file], function))
        if not value:
            continue
        for name, root in before.items():
            for call in _tests_of(root, function):
                reason = f"{function}() always returns {value} ({text(bare(call))[:_MOST_TEXT]})"
                place = f"{name}:{line_of(call)}"
                yield Refusal(RefusalCode.ALWAYS_SUCCEEDS, place, reason, "take away the test and what it guards")


def _emptied(
    uses: PointerUses, before: Mapping[str, tree_sitter.Node], after: Mapping[str, tree_sitter.Node]
) -> Iterator[Refusal]:
    """Functions of which nothing is left."""
    for file, function in dict.fromkeys((use.file, use.function) for use in uses.places if use.file in after):
        was, now = _definition(before[file], function), _definition(after[file], function)
        if was is not None and now is not None and statements(was) and not statements(now):
            place = f"{file}:{line_of(was)}"
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
    known = [
        body
        for body in inside(root, "compound_statement")
        if body.parent is not None and body.parent.type == "function_definition" and function_name(body) == function
    ]
    return next((body for body in known if statements(body)), known[0] if known else None)


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


# Uses of the pointer that are still there when the semantic patch has run.

# What an object cannot do.
_OF_POINTERS = frozenset((Role.OBJECT, Role.ALLOCATION, Role.RELEASE, Role.CLEARED, Role.TEST))


def left_behind(pointer: PointerMember, uses: PointerUses, image: TreeImage) -> Iterator[Refusal]:
    """The places that the semantic patch should have changed and did not; it skips functions that it cannot parse."""
    for file in uses.files:
        source, lines = image.read(file), image.original(file).splitlines()
        own = [use for use in uses.places if use.file == file]
        known = {(use.function, use.holder) for use in own}
        root = parsed(source)
        for one in mentions_in(file, source, pointer.name):
            use = use_at(root, file, one, pointer.targets)
            node = member_expression(root, one.offset)
            if (use.function, use.holder) in known and (use.role in _OF_POINTERS or _is_pointer(node)):
                reason = f"spatch left the pointer here (`{one.text[:60]}`), perhaps in a function that it cannot parse"
                # Where the line stands in the tree as it is.
                line = one.text.encode("utf-8", "replace")
                same = (
                    old.place for old in own if old.function == use.function and lines[old.line - 1].strip() == line
                )
                yield Refusal(RefusalCode.NOT_PARSED, next(same, one.place), reason, "change it by hand")


def _is_pointer(node: tree_sitter.Node | None) -> bool:
    """Whether an arrow stands behind the member, or it is passed to a function that frees."""
    if node is None:
        return False
    above = outermost(node).parent
    if above is not None and above.type == "field_expression" and operator_of(above) == "->":
        return True
    call = enclosing(node, "call_expression", "field_expression", "expression_statement")
    return call is not None and call.type == "call_expression" and callee(call) in RELEASES
