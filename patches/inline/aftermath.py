# SPDX-License-Identifier: GPL-2.0-or-later
"""What the change leaves for a person: functions that cannot fail or do nothing any more, comments that are old."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.find import Found
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.syntax import bare, callee, enclosing, function_name, inside, parsed, text
from linesmith.patches.inline.use import Role
from linesmith.patches.lines import Lines

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
        lines = Lines(source)
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
