# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of an accessor without the parentheses that stood around the expression in front of ``->``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

import tree_sitter
import tree_sitter_c

from linesmith.patches.encapsulation.member import DeclaredMember, Shape, is_apart
from linesmith.patches.encapsulation.rules import Target
from linesmith.patches.source.macros import closings, without_comments, without_directives
from linesmith.patches.treewide.image import Mention, read_source, source_files
from linesmith.patches.treewide.spatch import SemanticPatch

_CALL = re.compile(rb"\b(?P<name>[A-Za-z_]\w*)(?P<blank> ?)\(")
_KEYWORDS = frozenset(
    (b"if", b"for", b"while", b"switch", b"return", b"sizeof", b"typeof", b"__attribute__", b"defined")
)


def plain_calls(source: bytes, name: str) -> bytes:
    """``name((x))`` and ``name(&(*x))`` as ``name(x)``, the rest as it is."""
    code = without_comments(source)
    result, position = bytearray(), 0
    calls = list(re.finditer(rb"\b" + re.escape(name.encode()) + rb"\((?P<taken>&?)(?=\()", code))
    ends = closings(code, (match.end() for match in calls))
    for match in calls:
        span = match.end(), ends.get(match.end())
        inner = _between(code, span, dereferenced=bool(match["taken"]))
        if inner is None or match.start() < position:
            continue
        result += source[position : match.start("taken")] + source[inner[0] : inner[1]]
        position = inner[2]
    return bytes(result + source[position:])


def spaced(source: bytes) -> bool:
    """Whether most calls in ``source`` have a blank in front of their parenthesis, as the GNU style wants."""
    code = without_comments(source)
    found = [match for match in _CALL.finditer(code) if match["name"] not in _KEYWORDS]
    return 2 * sum(bool(match["blank"]) for match in found) > len(found)


def in_style(text: bytes, name: str, *, blank: bool) -> bytes:
    """``text`` with a ``blank`` between ``name`` and its parenthesis, where there is to be one."""
    word = re.escape(name.encode())
    return re.sub(rb"(?<!define )\b" + word + rb"\(", name.encode() + b" (", text) if blank else text


def _between(code: bytes, span: tuple[int, int | None], *, dereferenced: bool) -> tuple[int, int, int] | None:
    """Start and end of what the parenthesis with this ``span`` holds, and the end of the parenthesis.

    ``None`` where it is not the whole argument, or, if it has to be ``dereferenced``, is not.
    """
    opening, end = span
    if end is None or code[end + 1 : end + 2] != b")":
        return None
    start = opening + 1
    if not dereferenced:
        return start, end, end + 1
    return (start + 1, end, end + 1) if re.fullmatch(rb"\*\w+", code[start:end]) else None


# What a word of a source is, by the text around it.

_OFFSETS = re.compile(r"\b(\w*(?:offsetof|container_of|sizeof_field|typeof_member|list_entry|OFFSET|DEFINE)\w*)\s*\(")
_CONTEXT = 400


def is_access(source: bytes, mention: Mention) -> bool:
    """Whether the word follows ``->`` or a dot behind an expression."""
    ahead = source[max(0, mention.offset - _CONTEXT) : mention.offset].rstrip()
    if ahead.endswith(b"->"):
        return True
    holder = ahead[:-1].rstrip()[-1:] if ahead.endswith(b".") else b""
    return bool(holder) and (holder.isalnum() or holder in b"_)]")


def is_designator(source: bytes, mention: Mention) -> bool:
    """Whether the word stands behind the dot of a designated initialiser."""
    ahead = source[max(0, mention.offset - _CONTEXT) : mention.offset].rstrip()
    return ahead.endswith(b".") and not is_access(source, mention)


def is_offset(source: bytes, mention: Mention) -> bool:
    """Whether the word is an argument of ``offsetof()``, ``container_of()`` or the like."""
    ahead = source[max(0, mention.offset - _CONTEXT) : mention.offset].decode("utf-8", "replace")
    statement = re.split(r"[;{}]", ahead)[-1]
    return any(_is_open(statement[match.end() - 1 :]) for match in _OFFSETS.finditer(statement))


def _is_open(text: str) -> bool:
    return text.count("(") > text.count(")")


def statement(source: bytes, mention: Mention) -> bytes:
    """The text around the word up to the nearest semicolons."""
    ahead = source[max(0, mention.offset - _CONTEXT) : mention.offset]
    return ahead.split(b";")[-1] + source[mention.offset : mention.offset + _CONTEXT].split(b";")[0]


def is_called(source: bytes, mention: Mention, word: str) -> bool:
    """Whether the word is a function or macro: one that is defined or called, and no member."""
    following = source[mention.offset + len(word) :].lstrip(b" \t")
    return not is_access(source, mention) and (following.startswith(b"(") or mention.macro == word)


# Macros that may ask for the size of their argument, which an array has and the address of its elements has not.

_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*\(")
# A name in capitals is a macro's, wherever it is defined.
_CAPITALS = "[A-Z_][A-Z0-9_]*"


def measuring(tree: Path, declared: DeclaredMember, found: Iterable[Mention]) -> tuple[str, ...]:
    """Patterns of the names of macros that are called near the mentions of an array; none where it is no array."""
    if declared.shape is not Shape.ARRAY:
        return ()
    near = sorted({name for one in _by_file(tree, found, declared) for name in one})
    return (_CAPITALS, *(sorted(_defined(tree, near)) if near else ()))


def _by_file(tree: Path, found: Iterable[Mention], declared: DeclaredMember) -> Iterator[set[bytes]]:
    own = (one for one in found if not is_apart(one, declared))
    for file, mentions in groupby(own, key=lambda one: one.file):
        source = read_source(tree / file)
        yield {name for one in mentions for name in _CALLED.findall(statement(source, one))}


def _defined(tree: Path, names: Iterable[bytes]) -> set[str]:
    """Those of the names that any file of the tree defines as a macro with arguments."""
    pattern = re.compile(rb"#[ \t]*define[ \t]+(" + b"|".join(names) + rb")\(")
    return {name.decode() for file in source_files(tree) for name in pattern.findall(read_source(tree / file))}


# Expressions of C that are either 0 or 1 whatever the types in them, so that a function can stand for them.

_OPERATORS = frozenset(("==", "!=", "<", ">", "<=", ">=", "&&", "||"))
# Functions and macros that compare something.
_COMPARING_CALLS = frozenset(
    ("RB_EMPTY_ROOT", "RB_EMPTY_NODE", "list_empty", "list_empty_careful", "list_is_singular", "hlist_empty")
)


def is_truth(expression: str) -> bool:
    """Whether the operator that is applied last gives 0 or 1."""
    node = _parsed(expression)
    return node is not None and _gives_truth(node)


def opposite(expression: str) -> str:
    """What ``expression`` negates, where that is 0 or 1 itself; else empty."""
    node = _parsed(expression)
    inner = None if node is None or not _is_negation(node) else node.child_by_field_name("argument")
    inner = None if inner is None else _within(inner)
    return (inner.text or b"").decode() if inner is not None and _gives_truth(inner) else ""


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))


def _parsed(expression: str) -> tree_sitter.Node | None:
    """The expression without parentheses around it; none where it is not taken for one."""
    root = _parser().parse(f"int v = ({expression});".encode()).root_node
    declarator = root.named_children[0].child_by_field_name("declarator") if root.named_children else None
    value = declarator.child_by_field_name("value") if declarator is not None else None
    return None if value is None or root.has_error else _within(value)


def _within(node: tree_sitter.Node) -> tree_sitter.Node:
    while node.type == "parenthesized_expression" and len(node.named_children) == 1:
        node = node.named_children[0]
    return node


def _gives_truth(node: tree_sitter.Node) -> bool:
    if node.type == "call_expression":
        called = node.child_by_field_name("function")
        return called is not None and (called.text or b"").decode() in _COMPARING_CALLS
    return _is_negation(node) or (node.type == "binary_expression" and _operator(node) in _OPERATORS)


def _is_negation(node: tree_sitter.Node) -> bool:
    return node.type == "unary_expression" and _operator(node) == "!"


def _operator(node: tree_sitter.Node) -> str:
    operator = node.child_by_field_name("operator")
    return (operator.text or b"").decode() if operator is not None else ""


# Functions beside a record that return whether something is so of its member: others may spell the same out.

_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Predicate:
    """``name(parameter)`` returns ``expression``, which names the member and is 0 or 1."""

    name: str
    parameter: str
    expression: str


def predicates_of(declared: DeclaredMember) -> tuple[Predicate, ...]:
    """The inline functions of the record's own file that return a truth value.

    Others may return another type than their expression has, and so another value.
    """
    code = without_directives(without_comments(declared.source)).decode("utf-8", "surrogateescape")
    return tuple(_found(code, declared))


def _found(code: str, declared: DeclaredMember) -> Iterator[Predicate]:
    title = re.escape(declared.title).replace("\\ ", r"\s+")
    pattern = re.compile(
        r"\bstatic\s++(?:__always_)?inline\s++(?P<result>bool|int|_Bool)\s++(?P<name>\w++)\s*+"
        rf"\(\s*+(?:const\s++)?+{title}\s*+\*\s*+(?:const\s++)?+(?P<parameter>\w++)\s*+\)\s*+"
        r"\{\s*+return\b(?P<expression>[^;{}]++);\s*+\}"
    )
    for match in pattern.finditer(code):
        expression = _BLANKS.sub(" ", match["expression"]).strip()
        access = re.compile(rf"\b{re.escape(match['parameter'])}\s*->\s*{re.escape(declared.name)}\b")
        if access.search(expression) and is_truth(expression):
            yield Predicate(match["name"], match["parameter"], expression)


def using(target: Target, found: Sequence[Predicate]) -> SemanticPatch:
    """Rules that call the functions where their expressions are spelt out; the functions themselves stay."""
    rules = []
    for number, one in enumerate(found):
        expression = re.sub(rf"\b{re.escape(one.parameter)}\b", "P", one.expression)
        negated = opposite(expression)
        edits = [(expression, f"{one.name}(P)"), *([(negated, f"!{one.name}(P)")] if negated else [])]
        lines = "\n|\n".join(f"- {_marked(old, target)}\n+ {new}" for old, new in edits)
        # Without this the function would call itself.
        outside = f': script:python() {{ p[0].current_element != "{one.name}" }}'
        rules.append(target.rule(f"predicate{number}", f"(\n{lines}\n)", position=outside))
    return SemanticPatch("\n".join(rules))


def _marked(expression: str, target: Target) -> str:
    """The expression with the position at the first mention of the member."""
    return re.sub(rf"->\s*{re.escape(target.member)}\b", f"->{target.word}@p", expression, count=1)
