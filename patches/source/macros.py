# SPDX-License-Identifier: GPL-2.0-or-later
"""C text of which every byte keeps its place: comments blanked, brackets paired, macros replaced by plain C.

Macros of record bodies that no C grammar knows become plain C of the same length. That is only for finding where
declarations begin and end and what they declare; what is written out is always the original text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

_OPENER = re.compile(rb"//|/\*|[\"']")
_WHOLE = {
    b"//": re.compile(rb"//(?:[^\\\n]|\\\r?\n|\\)*+"),  # to the end of the line, which a backslash continues
    b'"': re.compile(rb'"(?:[^"\\\n]|\\.)*+(?P<closed>")?', re.DOTALL),
    b"'": re.compile(rb"'(?:[^'\\\n]|\\.)*+(?P<closed>')?", re.DOTALL),
}
_DIRECTIVE = re.compile(rb"^[ \t]*+\#(?:[^\\\n]|\\\r?\n|\\)*+", re.MULTILINE)
_BLANKED = bytes(byte if byte in b"\r\n" else ord(" ") for byte in range(256))
_BRACKETS = re.compile(rb"[][(){}]")
_DEEPEST = 100
_OPENING = {ord("("): ord(")"), ord("["): ord("]"), ord("{"): ord("}")}
# A change is looked at from several sides, so both of its texts are asked for again and again.
_TEXTS_AT_HAND = 8

Span = tuple[int, int]
"""Offsets of a bracket and of the one that closes it."""


def blank(text: bytes) -> bytes:
    """Spaces in place of every byte but line ends."""
    return text.translate(_BLANKED)


@lru_cache(maxsize=_TEXTS_AT_HAND)
def without_comments(source: bytes) -> bytes:
    """``source`` with comments, strings and character constants blanked; offsets stay valid.

    A quote without a partner on its line is code, a comment without an end goes on to the end of the text.
    """
    parts: list[bytes] = []
    position = 0
    for start, end in _no_code(source):
        parts += (source[position:start], blank(source[start:end]))
        position = end
    return b"".join((*parts, source[position:]))


def _no_code(source: bytes) -> Iterator[Span]:
    """Where comments, strings and character constants begin and end."""
    # Between a quote without a partner and the end of its line, no quote of its kind has one.
    alone = {b'"': 0, b"'": 0}
    at = 0
    while (opener := _OPENER.search(source, at)) is not None:
        sign, start, at = opener[0], *opener.span()
        if sign == b"/*":
            at = source.find(b"*/", at) + 2
            at = at if at > 1 else len(source)
        elif start < alone.get(sign, 0):
            continue
        else:
            whole = _WHOLE[sign].match(source, start)
            if whole is None or (sign in alone and not whole["closed"]):
                alone[sign] = whole.end() if whole else at
                continue
            at = whole.end()
        yield start, at


def without_directives(code: bytes) -> bytes:
    """``code`` (which has no comments) with preprocessor lines blanked; offsets stay valid."""
    return _DIRECTIVE.sub(lambda match: blank(match[0]), code)


def closing(code: bytes, opening: int) -> int | None:
    """Offset of the bracket that closes the one at ``opening``.

    ``None`` when brackets do not pair, or lie deeper in each other than people write.
    """
    return closings(code, (opening,)).get(opening)


def closings(code: bytes, openings: Iterable[int]) -> dict[int, int]:
    """What ``closing`` says of each of the ``openings``, without those that nothing closes; each byte is read once."""
    wanted = frozenset(openings)
    found: dict[int, int] = {}
    behind = 0
    for opening in sorted(wanted):
        if opening >= behind:
            behind = _pair(code, opening, wanted, found)
    return found


def _pair(code: bytes, first: int, wanted: Collection[int], found: dict[int, int]) -> int:
    """Add the pairs from ``first`` on to ``found``, until no wanted bracket is open; returns the place behind that."""
    opened: deque[int] = deque()
    waiting = 0
    for match in _BRACKETS.finditer(code, first):
        at = match.start()
        if code[at] in _OPENING:
            opened.append(at)
            waiting += at in wanted
            if len(opened) > _DEEPEST:
                waiting -= opened.popleft() in wanted
        elif _OPENING[code[opened[-1]]] != code[at]:
            return at + 1
        elif (opening := opened.pop()) in wanted:
            found[opening] = at
            waiting -= 1
        if not waiting:
            return at + 1
    return len(code)


def within(spans: Iterable[Span], most: int) -> Iterator[Span]:
    """Those of the ``spans`` that lie in fewer than ``most`` others, in their order.

    So that reading each of them reads no byte more than ``most`` times.
    """
    around: list[int] = []
    for start, end in sorted(spans):
        while around and around[-1] < start:
            around.pop()
        if len(around) < most:
            around.append(end)
            yield start, end


_WORDS = re.compile(
    rb"""\b(?: _{2,4}cacheline\w* | __(?:no_)?randomize_layout | __designated_init | __rcu | __percpu | __user
       | __iomem | __kernel | __force | __nocast | __safe | __private | __packed\w* | __bitwise\w* | __nonstring
       | __read_mostly | __ro_after_init | __must_check | __maybe_unused | __always_unused | __deprecated
       | __attribute_const__ | __refdata | __initdata | __percpu_refcount | __capability | __rcu_guarded
       | __cpu_local | __ll_sc_atomic | ACPI_INTERNAL_VAR_XFACE | __extension__ | noinline | asmlinkage | __cdecl
       | GNU_PACKED | STRUCT_PACKED | __ATTRIBUTE_PACKED__ | __volatile__
       | \w+_ATTR | _Noreturn )\b(?!\s*\((?!\s*\*))""",
    re.VERBOSE,
)
_CALLS = re.compile(
    rb"""\b(?: __attribute__ | __attribute | __aligned | __aligned_\w+ | _Alignas | alignas | __counted_by\w*
       | __sized_by\w* | __guarded_by | __pt_guarded_by | __section | __acquires | __releases | __must_hold
       | __printf | __scanf | __alloc_size | __declspec | __no_sanitize\w* | __acquired_before | __acquired_after
       | __assume_aligned )\s*\(""",
    re.VERBOSE,
)
# An attribute nobody knows, in front of the type: __counted char *name;
_BEFORE_TYPE = re.compile(
    rb"\b__\w+(?=\s+(?:struct|union|enum|void|char|short|int|long|float|double|signed|unsigned|bool|const|volatile)\b)"
)
_CONVENTION = re.compile(rb"(?<=\()\s*[A-Za-z_]\w*(?=\s*\*\s*\w+\s*\)\s*\()")  # int (__stdcall *call)(void);
_BEHIND_ARRAY = re.compile(rb"(?<=\])[ \t]*[A-Za-z_]\w*(?=\s*[;,])")  # int a[4] __my_alignment;
# struct a b __my_alignment;
_BEHIND_NAME = re.compile(rb"\b(?:struct|union|enum)\s+\w+\s+\**\w+\s+(__\w+)(?=\s*[;,])")
_ATOMIC = re.compile(rb"\b_Atomic\s*\(")
_UNNAMED_WIDTH = re.compile(rb":\s*\w+(?=\s*[;,])")
_NAME_THEN_PARENTHESIS = re.compile(rb"\b([A-Za-z_]\w*)\s*\((?!\s*\*)")
_BARE_MEMBER = re.compile(
    rb"""\brandomized_struct_fields_(?:start|end)\b(?!\s*\()
       | (?<=[;{}\s])_*[A-Z][A-Z0-9_]{3,}(?=[ \t]*\r?\n)""",
    re.VERBOSE,
)
# Directives that decide nothing about which members there are; one may stand within a declaration.
_MEMBERLESS_DIRECTIVE = re.compile(
    rb"""^[ \t]*\#[ \t]*(?:define|undef|pragma|error|warning|include|line)\b
         (?:\\\r?\n | /\*.*?\*/ | [^\n])*""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_CONDITION = re.compile(rb"^([ \t]*\#[ \t]*(?:el)?if[ \t]+)([^\n]*?[^\\\s])(?=[ \t]*(?:/[/*]|\r?$))", re.MULTILINE)
# What makes a type: GENRADIX(struct one) members;
_TYPE_CALL = re.compile(rb"[ \t]*[*\w \t]*\b[A-Za-z_]\w*[ \t]*[;,\[:]")
_TYPE_OPERATORS = {b"typeof", b"__typeof__", b"__typeof", b"typeof_unqual", b"_BitInt"}
_GROUPS = {  # macro: number of arguments in front of the members
    b"struct_group": 1,
    b"struct_group_attr": 2,
    b"struct_group_tagged": 2,
    b"__struct_group": 3,
    b"TRAILING_OVERLAP": 3,
    b"__TRAILING_OVERLAP": 3,
}
_NAMED = {  # macro: which argument is the member's name
    b"DECLARE_BITMAP": 0,
    b"DECLARE_FLEX_ARRAY": 1,
    b"__DECLARE_FLEX_ARRAY": 1,
    b"DECLARE_HASHTABLE": 0,
    b"DECLARE_KFIFO": 0,
    b"DECLARE_KFIFO_PTR": 0,
    b"ZONE_PADDING": 0,
    b"CACHELINE_PADDING": 0,
    b"DECLARE_PER_CPU_REF": 0,
    b"DEFINE_DLM_FIELD": 1,
}
_RENAMED = {"callback_head": "rcu_head"}  # include/linux/types.h
_EMPTY = "__empty_"  # a member that DECLARE_FLEX_ARRAY() puts before the array: include/uapi/linux/stddef.h
_NAME = re.compile(rb"[a-z_]\w*")
_TYPED = re.compile(rb"\s*[A-Za-z_][\w\s]*?[\s*]+([A-Za-z_]\w*)\s*")  # __decl_thread(spinlock_t lock);
_TYPE_NAME = re.compile(rb"\w+_t|(?:__)?[usb]e?(?:8|16|32|64)|int|char|long|short|bool|unsigned|signed|void|float")


def written_name(name: str) -> str:
    """What the source says for a member that a compiler knows as ``name``, if a known macro gave it that name."""
    return _RENAMED.get(name, name.removeprefix(_EMPTY))


def plain(source: bytes) -> bytes:
    """``source`` (one record) as plain C of the same length: attributes blanked, member macros spelled out.

    ``DECLARE_BITMAP(map, 64);`` becomes ``int map;``, ``struct_group(name, …);`` an anonymous struct, and a
    macro that nobody knows an ``int`` without a name.
    """
    # Every grammar knows the condition 1.
    known = _CONDITION.sub(
        lambda match: match[1] + b"1".rjust(len(match[2])),
        _MEMBERLESS_DIRECTIVE.sub(lambda match: blank(match[0]), source),
    )
    text = bytearray(known)
    code = bytearray(without_directives(without_comments(bytes(text))))
    for start, end in _attributes(bytes(code)):
        _put(text, code, start, blank(bytes(text[start:end])))
    for match in _ATOMIC.finditer(bytes(code)):
        behind = closing(bytes(code), match.end() - 1)
        if behind is not None:
            _put(text, code, match.start(), blank(match[0]))
            _put(text, code, behind, b" ")
    for match in _UNNAMED_WIDTH.finditer(bytes(code)):
        if _declares_nothing(bytes(code), match.start()):
            _put(text, code, match.start(), blank(match[0]))
    for match in _BARE_MEMBER.finditer(bytes(code)):
        if _begins_declaration(bytes(code), match.start()):
            _put(text, code, match.start(), b"int".ljust(len(match[0]) - 1) + b";")
    _spell_out_members(text, code)
    return bytes(text)


def _attributes(code: bytes) -> Iterator[tuple[int, int]]:
    for match in _WORDS.finditer(code):
        yield match.span()
    for pattern in (_BEFORE_TYPE, _BEHIND_ARRAY, _CONVENTION):
        yield from (match.span() for match in pattern.finditer(code))
    yield from (match.span(1) for match in _BEHIND_NAME.finditer(code))
    for match in _CALLS.finditer(code):
        end = closing(code, match.end() - 1)
        if end is not None:
            yield match.start(), end + 1


def _put(text: bytearray, code: bytearray, start: int, replacement: bytes) -> None:
    text[start : start + len(replacement)] = replacement
    code[start : start + len(replacement)] = replacement


def _declares_nothing(code: bytes, colon: int) -> bool:
    """Whether the bit width at ``colon`` belongs to no name: ``unsigned int : 4;``."""
    start = max(code.rfind(mark, 0, colon) for mark in (b";", b"{", b"}", b",")) + 1
    words = code[start:colon].split()
    types = {b"int", b"unsigned", b"signed", b"char", b"short", b"long", b"const", b"volatile", b"_Bool", b"bool"}
    fixed = re.compile(rb"(?:__)?(?:[us]|be|le|uint|int)\d+(?:_t)?\Z")
    return bool(words) and (words[-1] in types or (len(words) == 1 and bool(fixed.match(words[0]))))


def _spell_out_members(text: bytearray, code: bytearray) -> None:
    position = code.find(b"{") + 1
    while match := _NAME_THEN_PARENTHESIS.search(code, position):
        position = match.end()
        if match[1] in _TYPE_OPERATORS or not _begins_declaration(bytes(code), match.start()):
            continue
        end = closing(bytes(code), match.end() - 1)
        if end is None:
            return
        if match[1] in _GROUPS:
            position = _open_group(text, code, match, end)
        elif match[1] not in _NAMED and _TYPE_CALL.match(code, end + 1):
            _put(text, code, match.start(), b"int".ljust(end + 1 - match.start()))
            position = end + 1
        else:
            _put(text, code, match.start(), _declaration(bytes(code), match, end))
            position = end + 1


def _begins_declaration(code: bytes, start: int) -> bool:
    return code[:start].rstrip()[-1:] in b";{}"


def _arguments(code: bytes, opening: int, end: int) -> list[tuple[int, int]]:
    """Spans of the comma-separated arguments between two parentheses."""
    spans, start, depth = [], opening + 1, 0
    for offset in range(opening + 1, end):
        depth += (code[offset] in b"([{") - (code[offset] in b")]}")
        if code[offset] == ord(",") and depth == 0:
            spans.append((start, offset))
            start = offset + 1
    return [*spans, (start, end)]


def _open_group(text: bytearray, code: bytearray, match: re.Match[bytes], end: int) -> int:
    spans = _arguments(bytes(code), match.end() - 1, end)
    ahead = _GROUPS[match[1]]
    if len(spans) <= ahead:
        return end + 1
    members = spans[ahead][0]
    head = blank(bytes(code[match.start() : members]))
    _put(text, code, match.start(), b"struct {" + head[len(b"struct {") :])
    _put(text, code, end, b"}")
    return members


def _declaration(code: bytes, match: re.Match[bytes], end: int) -> bytes:
    """``int NAME`` (or ``int`` alone), as long as the macro, with a semicolon where the source has none."""
    replacement = bytearray(blank(code[match.start() : end + 1]))
    replacement[:3] = b"int"
    spans = _arguments(code, match.end() - 1, end)
    # Of a macro that nobody knows the only argument that could be one must be the member's name.
    words = [code[start:stop].strip() for start, stop in spans]
    likely = [at for at, word in enumerate(words) if _NAME.fullmatch(word) and not _TYPE_NAME.fullmatch(word)]
    argument = _NAMED.get(match[1], likely[0] if len(likely) == 1 else None)
    typed = _TYPED.fullmatch(code, *spans[0]) if argument is None and len(spans) == 1 else None
    if argument is not None or typed:
        first, last = typed.span(1) if typed else spans[min(argument or 0, len(spans) - 1)]
        replacement[first - match.start() : last - match.start()] = code[first:last]
    if not code[end + 1 :].lstrip().startswith(b";"):
        replacement[-1:] = b";"
    return bytes(replacement)


class LineCounter:
    """Counts the lines of one text; asked for places in rising order, it reads the text once."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._place = 0
        self._breaks = 0

    def number(self, offset: int) -> int:
        """The line of a byte offset, counted from 1."""
        if offset < self._place:
            self._place = self._breaks = 0
        self._breaks += self._text.count(b"\n", self._place, offset)
        self._place = offset
        return self._breaks + 1
