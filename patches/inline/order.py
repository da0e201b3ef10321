# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the object's type complete in front of the record that is to hold it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import tree_sitter

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.preparation import Progress
from linesmith.patches.inline.aftermath import conditionals, without_emptied
from linesmith.patches.inline.lifetimes import ALIGNING, Making
from linesmith.patches.inline.pointer import PointerMember, tags_of
from linesmith.patches.inline.syntax import bare, callee, compact, enclosing, inside, parsed, text
from linesmith.patches.source.atoms import scope
from linesmith.patches.source.body import all_members
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import without_comments, without_directives
from linesmith.patches.source.pieces import followed
from linesmith.patches.source.records import records_named
from linesmith.patches.treewide.image import TreeImage, mentions
from linesmith.patches.treewide.spatch import include_folders

_INCLUDE = re.compile(rb'^[ \t]*\#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
_COMMENT_ABOVE = re.compile(rb"(?:^/\*(?:(?!\*/).)*\*/[ \t]*\r?\n)\Z", re.MULTILINE | re.DOTALL)
_DEEPEST = 400


def target_record(pointer: PointerMember, files: Sequence[str], image: TreeImage, progress: Progress) -> Declared:
    """Where the type that the pointer leads to is declared; ``files`` use it.

    Looked for in the file of the record, in what it and ``files`` include, then in the whole tree. Raises
    ``EditRefused`` when several declarations are left, ``DeclarationNotFound`` when there is none.
    """
    outer = pointer.outer
    tags: dict[str, None] = {}
    for group in ((outer.file,), tuple(included(image, outer.file)), tuple(_seen(files, image))):
        tags.update(dict.fromkeys(tags_of(pointer.record, (image.read(file) for file in group))))
        found = [one for file in group for one in _declared(image, file, pointer, tuple(tags))]
        if found:
            return _only(found, pointer)
    places = dict.fromkeys(one.file for one in mentions(image.tree, pointer.record, progress))
    near = [one for file in _nearest_first(places, outer.file) for one in _declared(image, file, pointer, tuple(tags))]
    if not near:
        raise DeclarationNotFound(f"no body of {pointer.target} is in {image.tree}, which `{pointer.name}` points to")
    return _only(near, pointer)


def _seen(files: Sequence[str], image: TreeImage) -> Iterator[str]:
    """The files and what they include, each once."""
    yield from dict.fromkeys(one for file in files for one in (file, *included(image, file)))


def included(image: TreeImage, file: str) -> Iterator[str]:
    """The files that ``file`` includes, directly or not, as far as they are found without knowing the configuration."""
    waiting, seen = [file], {file}
    while waiting and len(seen) < _DEEPEST:
        one = waiting.pop(0)
        for match in _INCLUDE.finditer(image.read(one)):
            found = _resolved(image, one, match[2].decode("utf-8", "replace"), quoted=match[1] == b'"')
            if found is not None and found not in seen:
                seen.add(found)
                waiting.append(found)
                yield found


def _resolved(image: TreeImage, origin: str, name: str, *, quoted: bool) -> str | None:
    folders = ([str(PurePosixPath(origin).parent)] if quoted else []) + list(include_folders(image.tree, origin))
    places = (posixpath.normpath(posixpath.join(folder, name)) for folder in folders)
    inside = (place for place in places if not place.startswith(("..", "/")))
    return next((place for place in inside if image.has(place)), None)


def _declared(image: TreeImage, file: str, pointer: PointerMember, tags: Sequence[str]) -> Iterator[Declared]:
    source = image.read(file)
    for name in (pointer.record, *tags):
        for record in records_named(source, name):
            if record.kind == "struct" and (record.title == pointer.target or record.typedef or name in tags):
                yield Declared(file, source, record, 1.0)


def _nearest_first(files: dict[str, None], near: str) -> list[str]:
    """Only the files of the record's own folder, if any declares the type there; else all below no ``tools``."""
    own = str(PurePosixPath(near).parent)
    return sorted((file for file in files if not file.startswith("tools/")), key=lambda file: not file.startswith(own))


def _only(found: list[Declared], pointer: PointerMember) -> Declared:
    """The one that has members; where a configuration goes without the object its type is often empty."""
    filled = [one for one in found if b";" in without_comments(one.source)[one.record.opening : one.record.closing]]
    if len(filled) == 1:
        return filled[0]
    places = ", ".join(one.place for one in found[:4])
    reason = f"{pointer.target} is declared {len(found)} times ({places})"
    raise EditRefused(Refusal(RefusalCode.AMBIGUOUS, found[0].place, reason, "leave one declaration only"))


def in_order(pointer: PointerMember, target: Declared, image: TreeImage) -> bool:
    """Whether the type is complete where the record is declared."""
    outer = pointer.outer
    if target.file == outer.file:
        return target.record.closing < outer.record.start
    return target.file in set(included(image, outer.file))


def missed_by(pointer: PointerMember, target: Declared, image: TreeImage) -> Iterator[Refusal]:
    """A header that has the type no more when it is moved, and does not include the one that has it."""
    outer = pointer.outer
    if in_order(pointer, target, image) or target.file == outer.file or target.file.endswith(".c"):
        return
    if outer.file not in set(included(image, target.file)):
        reason = f"{target.record.title} moves to {outer.file}, which is not included here"
        lift = "see whether all who include this header find the type"
        yield Refusal(RefusalCode.TYPE_ORDER, target.place, reason, lift)


def moved_ahead(pointer: PointerMember, target: Declared) -> dict[str, bytes]:
    """The files in which the declaration of the type stands right in front of the record.

    Raises ``EditRefused`` where it stands in a conditional that the record does not stand in.
    """
    outer = pointer.outer
    start, end = _block(target)
    if _guards(target.source, start) != _guards(outer.source, outer.record.start):
        reason = f"{target.record.title} is declared within an #if that {outer.record.title} is not in"
        lift = f"move it in front of {outer.place} by hand"
        raise EditRefused(Refusal(RefusalCode.TYPE_ORDER, target.place, reason, lift))
    place, _ = _block(outer)
    block = target.source[start:end] + b"\n"
    if target.file == outer.file:
        cut = target.source[place:start] + _without_double_blank(target.source[:start], target.source[end:])
        return {outer.file: target.source[:place] + block + cut}
    rest = target.source[:start] + _without_double_blank(target.source[:start], target.source[end:])
    return {outer.file: outer.source[:place] + block + outer.source[place:], target.file: rest}


def _without_double_blank(ahead: bytes, behind: bytes) -> bytes:
    return behind.removeprefix(b"\n") if ahead.endswith(b"\n\n") else behind


def _block(declared: Declared) -> tuple[int, int]:
    """The whole lines of a declaration, with the comment right above."""
    source, record = declared.source, declared.record
    start = source.rfind(b"\n", 0, record.start) + 1
    above = _COMMENT_ABOVE.search(source, max(0, start - 10_000), start)
    end = source.find(b"\n", source.find(b";", record.closing)) + 1
    return above.start() if above else start, end or len(source)


def _guards(source: bytes, offset: int) -> tuple[bytes, ...]:
    """The conditionals around a place but for include guards, which define what they ask for."""
    code = without_comments(source)
    around = [b" ".join(without_comments(one.opening).split()) for one in conditionals(source, offset)]
    return tuple(one for one in around if not _is_guard(code, one))


def _is_guard(code: bytes, opening: bytes) -> bool:
    name = re.search(rb"ifndef (\w+)|defined ?\(? ?(\w+)", opening)
    if name is None:
        return False
    word = re.escape(name[1] or name[2])
    return bool(re.search(rb"^[ \t]*\#[ \t]*define[ \t]+" + word + rb"[ \t]*(?:1[ \t]*)?$", code, re.MULTILINE))


# Whether every record of a program begins where an aligned member asks for.
#
# A compiler relies on an alignment that is promised, so that one allocation that does not keep it is one too many.

# Ask for the size of a record that is there already.
_OF_WHAT_IS_THERE = frozenset(("memset", "memcpy", "memmove", "memcmp", "bzero", "explicit_bzero"))
_NO_MACRO = frozenset(
    ("sizeof", "_Alignof", "alignof", "__alignof__", "offsetof", "typeof", "__typeof__", "container_of")
)


def all_aligned(pointer: PointerMember, made: Sequence[Making], sources: Mapping[str, bytes]) -> bool:
    """Whether makings were seen, all of them align, and no other code of ``sources`` may make a record."""
    if not made or any(one.maker not in ALIGNING for one in made):
        return False
    codes = {file: without_comments(source) for file, source in sources.items()}
    variables = _variables(pointer, codes.values())
    for file, source in sources.items():
        if _is_given_to_macro(pointer, codes[file]) or _has_whole_member(pointer, source):
            return False
        if any(not _is_known(one, file, made) for one in _sizes(pointer, variables, source)):
            return False
    return True


def _names(pointer: PointerMember) -> bytes:
    return b"|".join(rb"\s+".join(map(re.escape, one.encode().split())) for one in pointer.holders)


def _variables(pointer: PointerMember, codes: Iterable[bytes]) -> frozenset[str]:
    """What is declared with the record's name in front: variables, parameters and members."""
    declared = re.compile(rb"\b(?:" + _names(pointer) + rb")\b([\s*]+\w+(?:\s*(?:\[[^]\n]*\]\s*)*,\s*\**\w+)*)")
    found = (match for code in codes for match in declared.findall(code))
    return frozenset(name.decode() for one in found for name in re.findall(rb"\w+", one))


def _is_given_to_macro(pointer: PointerMember, code: bytes) -> bool:
    """Whether a macro gets the record's name, as in ``NEW(struct area)``."""
    called = re.compile(rb"\b(\w+)\s*\((?:[^(){};]*,)?\s*(?:" + _names(pointer) + rb")\s*[,)]")
    return any(match[1].decode() not in _NO_MACRO for match in called.finditer(code))


def _has_whole_member(pointer: PointerMember, source: bytes) -> bool:
    """Whether another record has one of the record as a member, wherever that comes from."""
    for one in inside(parsed(source), "field_declaration"):
        declarator = one.child_by_field_name("declarator")
        whole = declarator is not None and declarator.type in ("field_identifier", "array_declarator")
        if whole and text(one.child_by_field_name("type")) in pointer.holders:
            return True
    return False


def _sizes(pointer: PointerMember, variables: frozenset[str], source: bytes) -> Iterator[tree_sitter.Node]:
    """Every ``sizeof`` of the record, by its name or by a variable."""
    titles = {"".join(one.split()) for one in pointer.holders}
    for one in inside(parsed(source), "sizeof_expression"):
        named = compact(one).removeprefix("sizeof").removeprefix("(").removesuffix(")")
        words = re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", text(one)))
        if named in titles or words[-1] in variables:
            yield one


def _is_known(size: tree_sitter.Node, file: str, made: Sequence[Making]) -> bool:
    """Whether the size is that of one of the makings, or of a record that is there."""
    call = enclosing(size, "call_expression")
    if call is not None and callee(call) in _OF_WHAT_IS_THERE:
        return True
    making = enclosing(size, "assignment_expression", "init_declarator")
    if making is None or call is None or bare(_value(making)) != call:
        return False
    first, last = making.start_point[0] + 1, making.end_point[0] + 1
    return any(one.file == file and one.maker == callee(call) and first <= one.line <= last for one in made)


def _value(making: tree_sitter.Node) -> tree_sitter.Node:
    return making.child_by_field_name("right") or making.child_by_field_name("value") or making


# The declaration of the record with the object in the place of the pointer.

_COMMENT_ABOVE_MEMBER = re.compile(
    rb"(?:^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\r?\n|^[ \t]*//[^\n]*\n)+\Z", re.MULTILINE | re.DOTALL
)
_BESIDE = re.compile(rb"[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)?[ \t]*\r?\n", re.DOTALL)
_FLEXIBLE = re.compile(rb"\[\s*[01]?\s*\]\s*;\s*\Z|DECLARE_FLEX_ARRAY|\bFLEX")


def with_object(pointer: PointerMember, attribute: str) -> bytes:
    """The file with the object as the last member of the record, aligned by ``attribute`` (empty: not at all).

    The comments of the pointer, its entry in kernel-doc and the conditionals around it go along. It stays where the
    pointer was when the record must end with another member, or when an ``#else`` decides which of two there is.
    """
    source = pointer.outer.source
    around = conditionals(source, pointer.start, pointer.outer.record.opening)
    declared = _member_text(pointer, attribute)
    if not _can_be_last(pointer) or any(one.alternative for one in around):
        return source[: pointer.start] + declared + source[pointer.end :]
    start, end = _lines(source, pointer)
    moved = source[start : pointer.start] + declared + source[pointer.end : end]
    block = b"".join(one.opening for one in around) + moved + b"#endif\n" * len(around)
    brace = source.rfind(b"\n", 0, pointer.outer.record.closing) + 1
    rest = source[:start] + source[end:brace]
    return _described(pointer, without_emptied(source, rest + block + source[brace:]))


def _described(pointer: PointerMember, after: bytes) -> bytes:
    """The file with the member's entry of the kernel-doc comment as far down as the member."""
    record = pointer.outer.record
    before = all_members(scope(pointer.outer.source, record)[0])
    moved = (*(name for name in before if name != pointer.name), pointer.name)
    return followed(after, record, before, moved)


def _member_text(pointer: PointerMember, attribute: str) -> bytes:
    text = f"{pointer.target} {pointer.name}"
    return (f"{text} {attribute};" if attribute else f"{text};").encode()


def _lines(source: bytes, pointer: PointerMember) -> tuple[int, int]:
    """The whole lines of the declaration with the comments right above and beside it."""
    start = source.rfind(b"\n", 0, pointer.start) + 1
    above = _COMMENT_ABOVE_MEMBER.search(source, pointer.outer.record.opening, start)
    beside = _BESIDE.match(source, pointer.end)
    return above.start() if above else start, beside.end() if beside else pointer.end


def _can_be_last(pointer: PointerMember) -> bool:
    """Whether the member stands on lines of its own in the body itself, and the record does not end with an array."""
    record, source = pointer.outer.record, pointer.outer.source
    code = without_directives(without_comments(source))
    ahead = code[record.opening + 1 : pointer.start]
    if any(ahead.count(opening) != ahead.count(closing) for opening, closing in ((b"{", b"}"), (b"(", b")"))):
        return False
    last = code[record.opening + 1 : record.closing].rstrip()
    alone = not code[source.rfind(b"\n", 0, pointer.start) + 1 : pointer.start].strip()
    brace_alone = not code[source.rfind(b"\n", 0, record.closing) + 1 : record.closing].strip()
    return alone and brace_alone and not _FLEXIBLE.search(last[last.rfind(b";", 0, -1) + 1 :])
