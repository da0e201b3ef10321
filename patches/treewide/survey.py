# SPDX-License-Identifier: GPL-2.0-or-later
"""Every place that names a member, with what Coccinelle says of it: the type of the record, and which rules match.

Every place of the tree that names it in code is looked at, whatever the configuration or the machine, and none is lost:
what no rule can change is a site with its reason.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tree_sitter import Node

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.layouts.placement import is_user_abi
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.source.declaration import Declared, files_below
from linesmith.patches.source.macros import LineCounter, without_comments
from linesmith.patches.source.records import records_named
from linesmith.patches.source.tree import MOST_BYTES, source_bytes
from linesmith.patches.treewide.image import TreeImage
from linesmith.patches.treewide.spatch import ANY_RECORD, MemberRules, RuleMatch, SemanticPatch, Types, spatch
from linesmith.patches.treewide.syntax import enclosing, member_declarations, parsed, text

_HOLDER, _SEEN = "holder", "seen"
_QUALIFIERS = re.compile(r"\b(?:const|volatile)\b")
_OFFSETS = re.compile(rb"\b(\w*(?:offsetof|container_of|sizeof_field|typeof_member|list_entry|OFFSET|DEFINE)\w*)\s*\(")
# How a declaration of a member goes on behind its name, what is in front of it, and what is no type there.
_DECLARED = re.compile(rb"\s*(?:\[[^\]]*\]\s*)*(?:[;,]|:\s*\d|\)\s*\()|\s+_\w")
_DECLARING = re.compile(rb"[\w*,]\s*\Z|\b[A-Z_0-9]{3,}\s*\([^()]*\Z")
_FLOW = re.compile(rb"\b(?:return|goto|case|else)\s*\Z")
_HAND = "change it by hand"
_SUFFIXES = (".c", ".h", ".S", ".inc", ".hh", ".def", ".lds", ".cc", ".cpp")
# What is shown of a line; bytes around a word that are read to tell what it is; files between two reports of progress.
_MOST_OF_A_LINE, _CONTEXT, _REPORT_EVERY = 1 << 12, 400, 10_000
_ACCESS = re.compile(rb"(?:->|(?<=[\w)\]])\s*\.)\s*\Z")
_DEFINE = re.compile(rb"^[ \t]*\#[ \t]*define[ \t]+(\w+)(?:\\\r?\n|[^\n])*", re.MULTILINE)
# Programs of a kernel tree that are built by themselves; they share headers with the rest only by chance.
_APART = ("tools/", "samples/", "scripts/", "Documentation/", "usr/", "rust/")
_NAME = rb"([A-Za-z_]\w*)"
_BEHIND = re.compile(rb"\s*" + _NAME + rb"\s*;")
_TYPEDEF = re.compile(rb"\btypedef\s+\Z")


@dataclass(frozen=True, slots=True)
class Mention:
    """One place of a word; ``offset`` is its first byte in ``file``, ``line`` counts from 1, ``column`` from 0.

    ``text`` is the source line without the blanks at its ends. ``macro`` names the macro whose definition it is in.
    ``ahead`` and ``behind`` are some of the code around the word, comments and strings blanked.
    """

    file: str
    line: int
    column: int
    offset: int
    text: str
    macro: str = ""
    ahead: bytes = field(default=b"", compare=False)
    behind: bytes = field(default=b"", compare=False)

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"

    @property
    def is_access(self) -> bool:
        """Whether the word follows ``->`` or a dot behind an expression."""
        return _ACCESS.search(self.ahead) is not None

    @property
    def statement(self) -> bytes:
        """The text around the word up to the nearest semicolons."""
        return self.ahead.split(b";")[-1] + self.behind.split(b";")[0]


def mentions(tree: Path, word: str, progress: Progress) -> tuple[Mention, ...]:
    """The places of ``word`` outside of comments and strings, by file; links and build results are not entered."""
    files = files_naming(tree, (word,), progress)[word]
    return tuple(one for file in files for one in mentions_in(file, read_source(tree, file), word))


def mentions_in(file: str, source: bytes, word: str) -> Iterator[Mention]:
    """The places of ``word`` in the code of one file."""
    code = without_comments(source)
    lines = LineCounter(source)
    definition = next(definitions := _DEFINE.finditer(code), None)
    for match in re.finditer(rb"\b" + re.escape(word.encode()) + rb"\b", code):
        at, behind = match.span()
        while definition is not None and definition.end() <= at:
            definition = next(definitions, None)
        macro = definition[1].decode() if definition is not None and definition.start() <= at else ""
        start = source.rfind(b"\n", 0, at) + 1
        text = source[start : start + _MOST_OF_A_LINE].partition(b"\n")[0].decode("utf-8", "replace").strip()
        around = code[max(0, at - _CONTEXT) : at], code[behind : behind + _CONTEXT]
        yield Mention(file, lines.number(start), at - start, at, text, macro, *around)


def files_naming(tree: Path, words: Sequence[str], progress: Progress) -> dict[str, list[str]]:
    """The files that have each word, be it in a comment, from one reading of the tree."""
    patterns = {word: re.compile(rb"\b" + re.escape(word.encode()) + rb"\b") for word in words}
    found: dict[str, list[str]] = {word: [] for word in words}
    for count, file in enumerate(source_files(tree), 1):
        if count % _REPORT_EVERY == 0:
            progress(f"looking for {', '.join(words)}: {count} files read")
        source = read_source(tree, file)
        for word, pattern in patterns.items():
            if word.encode() in source and pattern.search(source):
                found[word].append(file)
    return found


def source_files(tree: Path) -> Iterator[str]:
    """C, header and assembly files below ``tree``, relative to it, in the order of their names."""
    return files_below(tree, tree, _SUFFIXES)


def unread_files(tree: Path) -> Iterator[Refusal]:
    """The files below ``tree`` that are left out because of their size."""
    for file in source_files(tree):
        status = (tree / file).lstat()
        if stat.S_ISREG(status.st_mode) and status.st_size > MOST_BYTES:
            reason = f"this file is larger than {MOST_BYTES >> 20} MiB and was not read"
            yield Refusal(RefusalCode.NOT_PARSED, f"{file}:1", reason, _HAND)


def read_source(tree: Path, file: str) -> bytes:
    """The bytes of a regular file of the tree; none of what is a link, cannot be read, or is no source for its size."""
    return source_bytes(tree, file, links=False) or b""


def other_programs(tree: Path, file: str = "") -> tuple[str, ...]:
    """The folders of the tree whose programs are built apart from the rest; none for a ``file`` of theirs."""
    return _APART if is_kernel(tree) and not file.startswith(_APART) else ()


def declared_with(
    tree: Path, record: str, member: str, naming: dict[str, list[str]]
) -> tuple[Declared, tuple[Refusal, ...]]:
    """The record with this tag or typedef that declares ``member``, and copies of it in other programs.

    ``naming`` are the files that name both. Raises ``DeclarationNotFound``; ``EditRefused`` where several records fit
    or the record is shared with user space.
    """
    every = declared_in(tree, naming[member], record, naming[record])
    found = [
        one for one in every if any(member in names for _, names, _ in member_declarations(one.source, one.record))
    ]
    if not found:
        remedy = "check both names; the record may be named by its tag or a typedef"
        raise DeclarationNotFound(f"{tree} declares no record {record} with a member {member}; {remedy}")
    near = [one for one in found if not one.file.startswith(other_programs(tree))] or found
    # What a unit declares for itself is no concern of others.
    near = [one for one in near if not one.file.endswith(".c")] or near
    own = near[0]
    if len(near) > 1:
        places = ", ".join(one.place for one in near)
        reason = f"{own.record.title} with this member is declared {len(near)} times ({places})"
        lift = "name with --tree a folder that holds one of them and its users"
        raise EditRefused(Refusal(RefusalCode.AMBIGUOUS, own.place, reason, lift))
    if is_user_abi(own.file):
        reason = f"{record} is shared with user space, so its members must stay"
        raise EditRefused(Refusal(RefusalCode.USER_ABI, own.place, reason))
    said = "another program has a {} with this member"
    lift = "change it by hand where it is compiled with files that were changed"
    copies = ((one.place, said.format(one.record.title)) for one in found if one is not own)
    return own, tuple(Refusal(RefusalCode.OTHER_PROGRAM, place, reason, lift) for place, reason in copies)


def declared_in(tree: Path, files: Iterable[str], name: str, naming: Iterable[str]) -> Iterator[Declared]:
    """The records of ``files`` with this tag or typedef; typedefs of a tag may be in any file of ``naming``."""
    pattern = re.compile(rb"\btypedef\s+struct\s+" + _NAME + rb"\s+" + re.escape(name.encode()) + rb"\s*;")
    tags = (tag.decode() for file in naming for tag in pattern.findall(read_source(tree, file)))
    names = dict.fromkeys((name, *tags))
    for file in files:
        source = read_source(tree, file)
        yield from (Declared(file, source, record, 1.0) for one in names for record in records_named(source, one))


def titles_of(declared: Declared, tree: Path, naming: Iterable[str]) -> tuple[str, ...]:
    """The record as C code may name it, its title first: ``struct _queue``, ``queue_t``.

    ``naming`` are the files that may have typedefs.
    """
    record = declared.record
    if record.typedef:
        # A record may have a tag besides its typedef.
        head = declared.source[record.start : record.opening].decode("utf-8", "replace").split()
        return (record.title, *([" ".join(head)] if len(head) > 1 else []))
    code = without_comments(declared.source)
    own = _BEHIND.match(code, record.closing + 1) if _TYPEDEF.search(code, 0, record.start) else None
    words = (record.kind.encode(), re.escape(record.name.encode()), _NAME)
    pattern = re.compile(rb"\btypedef\s+%s\s+%s\s+%s\s*;" % words)
    others = (name for file in naming for name in pattern.findall(read_source(tree, file)))
    return tuple(dict.fromkeys((record.title, *(one.decode() for one in (*(own.groups() if own else ()), *others)))))


@dataclass(frozen=True, slots=True)
class MemberSearch:
    """A member of ``outer`` that is looked for in the tree of ``image``, as ``rules`` speak of it.

    ``naming`` are the files that have each word, without those of other programs and with copies of the record;
    ``left`` are such copies, and files that were not read.
    """

    image: TreeImage
    progress: Progress
    outer: Declared
    rules: MemberRules
    naming: dict[str, list[str]]
    left: tuple[Refusal, ...]

    def mentions(self) -> Iterator[Mention]:
        """The places that name the member, in the image as it is now."""
        for file in self.naming[self.rules.member]:
            yield from mentions_in(file, self.image.read(file), self.rules.member)


def searched(image: TreeImage, record: str, member: str, progress: Progress, words: Sequence[str] = ()) -> MemberSearch:
    """The record with this tag or typedef that declares ``member``, and the files that name both or one of ``words``.

    Raises what ``declared_with`` does.
    """
    naming = files_naming(image.tree, (member, *words, record), progress)
    outer, copies = declared_with(image.tree, record, member, naming)
    apart = other_programs(image.tree, outer.file)
    copied = {one.place.rpartition(":")[0] for one in copies}
    near = {
        word: [one for one in files if not one.startswith(apart) and one not in copied]
        for word, files in naming.items()
    }
    rules = MemberRules(member, titles_of(outer, image.tree, naming[record]))
    return MemberSearch(image, progress, outer, rules, near, (*copies, *unread_files(image.tree)))


@dataclass(frozen=True, slots=True)
class UseSite:
    """An access to a member of the name. ``type`` is that of the record in front of it, empty where it is not known.

    ``roles`` are the rules that match here; there are none where Coccinelle did not parse the code.
    """

    mention: Mention
    function: str
    roles: frozenset[str]
    type: str
    is_constant: bool

    @property
    def is_foreign(self) -> bool:
        """Whether the type is that of some record; a typedef that is not resolved may be any."""
        return self.type.startswith(("struct ", "union "))


@dataclass(frozen=True, slots=True)
class Survey:
    """The accesses to members of the name: ``own`` ones, and ``unsure`` ones that may be.

    ``mentions`` are all places of the name. ``unique``: nothing else has the name, so that rules need no types.
    ``deep`` are the files whose types come from headers.
    """

    rules: MemberRules
    own: tuple[UseSite, ...]
    unsure: tuple[UseSite, ...]
    mentions: tuple[Mention, ...]
    deep: frozenset[str]

    @property
    def unique(self) -> bool:
        """Whether whatever has a member of the name is the record."""
        return not self.rules.typed

    @property
    def files(self) -> tuple[str, ...]:
        """The files with accesses to the record, each once."""
        return tuple(dict.fromkeys(one.mention.file for one in self.own))


def surveyed(search: MemberSearch, census: Sequence[str] = ()) -> Survey:
    """The uses of the member; the named rules of ``census`` are looked for besides its type.

    Headers are read only for files with a type that is needed and not known without.
    """
    rules, mentioned = search.rules, list(search.mentions())
    accesses = [one for one in mentioned if one.is_access]
    others = (one for one in mentioned if not (one.is_access or _is_within(search.outer, one)))
    unique = not any(map(_may_declare, others))
    looked_for = (rules.rule(_HOLDER, (" $@p",), P="T *P", O="T O"), rules.rule(_SEEN, (" $@p",), **ANY_RECORD))
    # A rule begins with ``@ name @``.
    reports = {one.split()[1]: ("T",) if one is looked_for[0] else () for one in (*looked_for, *census)}
    script = SemanticPatch("\n".join((*looked_for, *census)), reports)
    uses = _uses(search, accesses, script, Types.FILE)
    # A record from outside of the tree may have a member of the name.
    unique = unique and not any(one.is_foreign and one.type not in rules.titles for one in uses)
    deep = frozenset(one.mention.file for one in uses if not (unique or one.is_foreign or one.type in rules.titles))
    if deep:
        uses = [one for one in uses if one.mention.file not in deep]
        uses += _uses(search, [one for one in accesses if one.file in deep], script, Types.HEADERS)
    uses.sort(key=lambda one: (one.mention.file, one.mention.offset))
    own = tuple(one for one in uses if one.type in rules.titles or (unique and one.roles))
    unsure = tuple(one for one in uses if not (one in own or one.is_foreign))
    found = MemberRules(rules.member, rules.titles, typed=not unique)
    return Survey(found, own, unsure, tuple(mentioned), deep)


def _uses(search: MemberSearch, accesses: Sequence[Mention], script: SemanticPatch, types: Types) -> list[UseSite]:
    files = tuple(dict.fromkeys(one.file for one in accesses if not one.macro))
    by_place: dict[tuple[str, int, int], list[RuleMatch]] = {}
    for match in spatch(script, search.image, files, search.progress, types).matches if files else ():
        by_place.setdefault((match.file, match.line, match.column), []).append(match)
    uses = []
    for one in accesses:
        found = by_place.get((one.file, one.line, one.column), [])
        kind = next((dict(match.bindings)["T"] for match in found if match.rule == _HOLDER), "")
        type_ = " ".join(_QUALIFIERS.sub(" ", kind).split())
        roles = frozenset(match.rule for match in found)
        uses.append(UseSite(one, found[0].function if found else "", roles, type_, "const" in kind.split()))
    return uses


# What no rule can change.


def unresolved(survey: Survey, search: MemberSearch) -> Iterator[tuple[Mention, Refusal, bool]]:
    """Places that name the member, as far as is known, why they stay, and whether it is certain that they do."""
    image, declared, titles = search.image, search.outer, survey.rules.titles
    name, certain = declared.record.name.encode(), survey.unique
    for use in survey.unsure:
        one = use.mention
        if not (certain or name in image.read(one.file)):
            continue
        if one.macro:
            reason = f"the macro {one.macro} names the member, and the types of its arguments are not known"
            yield one, Refusal(RefusalCode.IN_MACRO, one.place, reason, _HAND), certain
        elif not use.roles:
            yield one, Refusal(RefusalCode.NOT_PARSED, one.place, "Coccinelle did not parse this", _HAND), certain
        else:
            reason = f"the type of the record is not known ({use.type or 'no type'})"
            yield one, Refusal(RefusalCode.TYPE_UNKNOWN, one.place, reason, f"{_HAND} if it is the record"), False
    root_of = cache(lambda file: parsed(image.read(file)))
    for one in (one for one in survey.mentions if not (one.is_access or _is_within(declared, one))):
        if _is_designator(one):
            kind = "" if certain else _initialised(root_of(one.file), one.offset)
            speaks = any(title.split()[-1].encode() in image.read(one.file) for title in titles)
            if certain or kind in titles or (speaks and not kind):
                refusal = Refusal(RefusalCode.INITIALISER, one.place, "an initialiser sets the member")
                yield one, refusal, certain or kind in titles
        elif _is_offset(one) and (certain or name in one.statement):
            yield one, Refusal(RefusalCode.OFFSET, one.place, "the offset of the member is used"), False


def _initialised(root: Node, offset: int) -> str:
    """The type of what is initialised there, as it is named; empty where that is nested or not plain C."""
    leaf = root.descendant_for_byte_range(offset, offset + 1)
    pair = enclosing(leaf, "initializer_pair") if leaf is not None else None
    holder = pair.parent.parent if pair is not None and pair.parent is not None else None
    if holder is not None and holder.type == "initializer_list":  # an element of an array, or a member of a member
        holder = holder.parent
        declarator = holder and holder.child_by_field_name("declarator")
        holder = holder if declarator and declarator.type == "array_declarator" else None
    if holder is None or holder.type not in ("init_declarator", "compound_literal_expression"):
        return ""
    declaration = holder.parent if holder.type == "init_declarator" else holder
    kind = text(declaration and declaration.child_by_field_name("type"))
    return " ".join(_QUALIFIERS.sub(" ", kind).split())


def _is_within(declared: Declared, mention: Mention) -> bool:
    """Whether the place is in the body of the record."""
    return mention.file == declared.file and declared.record.opening < mention.offset < declared.record.closing


def _may_declare(mention: Mention) -> bool:
    """Whether the word may be declared here as a member of another record, as a variable, or by a macro."""
    if _is_designator(mention) or _is_offset(mention):
        return False
    declares = _DECLARED.match(mention.behind) and not _FLOW.search(mention.ahead)
    return bool(mention.macro or (declares and _DECLARING.search(mention.ahead)))


def _is_designator(mention: Mention) -> bool:
    """Whether the word stands behind the dot of a designated initialiser."""
    return mention.ahead.rstrip().endswith(b".") and not mention.is_access


def _is_offset(mention: Mention) -> bool:
    """Whether the word is an argument of ``offsetof()``, ``container_of()`` or the like."""
    statement = re.split(rb"[;{}]", mention.ahead)[-1]
    calls = (statement[match.end() - 1 :] for match in _OFFSETS.finditer(statement))
    return any(call.count(b"(") > call.count(b")") for call in calls)
