# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the object's type complete in front of the record that is to hold it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from linesmith.analyzer.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.declaration import Declared
from linesmith.patches.inline.conditionals import conditionals
from linesmith.patches.inline.names import tags_of
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.kbuild import Progress
from linesmith.patches.masking import without_comments
from linesmith.patches.records import records_named
from linesmith.patches.semantic.image import TreeImage
from linesmith.patches.semantic.mentions import mentions
from linesmith.patches.semantic.spatch import include_folders

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
