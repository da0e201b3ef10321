# SPDX-License-Identifier: GPL-2.0-or-later
"""Every place that names a member, with what Coccinelle says of it: the type of the record, and which rules match.

No place is lost: what no rule can change is a site with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from tree_sitter import Node

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.preparation import Progress
from linesmith.patches.source.declaration import Declared
from linesmith.patches.treewide.image import TreeImage
from linesmith.patches.treewide.mentions import Mention, mentions_in
from linesmith.patches.treewide.rules import MemberRules
from linesmith.patches.treewide.spatch import Report, SemanticPatch, Types, spatch
from linesmith.patches.treewide.syntax import parsed, text

_HOLDER, _SEEN = "holder", "seen"
_QUALIFIERS = re.compile(r"\b(?:const|volatile)\b")
_RECORDS = ("struct ", "union ")
_OFFSETS = re.compile(rb"\b(\w*(?:offsetof|container_of|sizeof_field|typeof_member|list_entry|OFFSET|DEFINE)\w*)\s*\(")
# How a declaration of a member goes on behind its name, what is in front of it, and what is no type there.
_DECLARED = re.compile(rb"\s*(?:\[[^\]]*\]\s*)*(?:[;,]|:\s*\d|\)\s*\()|\s+_\w")
_DECLARING = re.compile(rb"[\w*,]\s*\Z|\b[A-Z_0-9]{3,}\s*\([^()]*\Z")
_FLOW = re.compile(rb"\b(?:return|goto|case|else)\s*\Z")
_HAND = "change it by hand"


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
        return self.type.startswith(_RECORDS)


@dataclass(frozen=True, slots=True)
class Survey:
    """The accesses to members of the name: ``own`` ones, and ``unsure`` ones that may be.

    ``mentions`` are all places of the name, ``others`` those that are no accesses. ``unique``: nothing else has the
    name, so that rules need no types. ``deep`` are the files whose types come from headers.
    """

    rules: MemberRules
    own: tuple[UseSite, ...]
    unsure: tuple[UseSite, ...]
    mentions: tuple[Mention, ...]
    others: tuple[Mention, ...]
    deep: frozenset[str]

    @property
    def unique(self) -> bool:
        """Whether whatever has a member of the name is the record."""
        return not self.rules.typed

    @property
    def files(self) -> tuple[str, ...]:
        """The files with accesses to the record, each once."""
        return tuple(dict.fromkeys(one.mention.file for one in self.own))


def surveyed(
    declared: Declared,
    rules: MemberRules,
    files: Iterable[str],
    census: Sequence[str],
    image: TreeImage,
    progress: Progress,
) -> Survey:
    """The uses of the member in ``files``; the named rules of ``census`` are looked for besides its type.

    Headers are read only for files with a type that is needed and not known without.
    """
    mentioned = [one for file in files for one in mentions_in(file, image.read(file), rules.member)]
    accesses = [one for one in mentioned if one.is_access]
    others = tuple(one for one in mentioned if not one.is_access)
    unique = not any(_may_declare(one) for one in others if not is_within(declared, one))
    script = _census(rules, census)
    uses = _uses(accesses, script, Types.FILE, image, progress)
    # A record from outside of the tree may have a member of the name.
    unique = unique and not any(one.is_foreign and one.type not in rules.titles for one in uses)
    deep = frozenset(one.mention.file for one in uses if not (unique or one.is_foreign or one.type in rules.titles))
    if deep:
        uses = [one for one in uses if one.mention.file not in deep]
        uses += _uses([one for one in accesses if one.file in deep], script, Types.HEADERS, image, progress)
    uses.sort(key=lambda one: (one.mention.file, one.mention.offset))
    own = tuple(one for one in uses if one.type in rules.titles or (unique and one.roles))
    unsure = tuple(one for one in uses if not (one in own or one.is_foreign))
    found = MemberRules(rules.member, rules.titles, typed=not unique)
    return Survey(found, own, unsure, tuple(mentioned), others, deep)


def _census(rules: MemberRules, census: Sequence[str]) -> SemanticPatch:
    found = (rules.rule(_HOLDER, (" $@p",), P="T *P", O="T O"), rules.rule(_SEEN, (" $@p",), **ANY_RECORD))
    names = [one.split()[1] for one in census]
    reports = (Report(_HOLDER, "p", ("T",)), Report(_SEEN, "p"), *(Report(name, "p") for name in names))
    return SemanticPatch("\n".join((*found, *census)), reports)


# Metavariables for whatever has a member of the name.
ANY_RECORD = {"P": "expression P", "O": "expression O"}


def _uses(
    accesses: Sequence[Mention], script: SemanticPatch, types: Types, image: TreeImage, progress: Progress
) -> list[UseSite]:
    files = tuple(dict.fromkeys(one.file for one in accesses if not one.macro))
    matches = spatch(script, image, files, progress, types).matches if files else ()
    by_place = {place: list(group) for place, group in groupby(sorted(matches, key=_place), _place)}
    uses = []
    for one in accesses:
        found = by_place.get((one.file, one.line, one.column), [])
        kind = next((dict(match.bindings)["T"] for match in found if match.rule == _HOLDER), "")
        type_ = " ".join(_QUALIFIERS.sub(" ", kind).split())
        roles = frozenset(match.rule for match in found)
        uses.append(UseSite(one, found[0].function if found else "", roles, type_, "const" in kind.split()))
    return uses


# What no rule can change.


def unresolved(survey: Survey, declared: Declared, image: TreeImage) -> Iterator[tuple[Mention, Refusal, bool]]:
    """Places that name the member, as far as is known, why they stay, and whether it is certain that they do."""
    name = declared.record.name.encode()
    for use in survey.unsure:
        one = use.mention
        if not (survey.unique or name in image.read(one.file)):
            continue
        if one.macro:
            reason = f"the macro {one.macro} names the member, and the types of its arguments are not known"
            yield one, Refusal(RefusalCode.IN_MACRO, one.place, reason, _HAND), survey.unique
        elif not use.roles:
            yield one, Refusal(RefusalCode.NOT_PARSED, one.place, "Coccinelle did not parse this", _HAND), survey.unique
        else:
            reason = f"the type of the record is not known ({use.type or 'no type'})"
            yield one, Refusal(RefusalCode.TYPE_UNKNOWN, one.place, reason, f"{_HAND} if it is the record"), False
    root_of = cache(lambda file: parsed(image.read(file)))
    for one in survey.others:
        if is_within(declared, one):
            continue
        if _is_designator(one):
            kind = "" if survey.unique else _initialised(root_of(one.file), one.offset)
            certain = survey.unique or kind in survey.rules.titles
            speaks = any(title.split()[-1].encode() in image.read(one.file) for title in survey.rules.titles)
            if certain or (speaks and not kind):
                yield one, Refusal(RefusalCode.INITIALISER, one.place, "an initialiser sets the member"), certain
        elif _is_offset(one) and (survey.unique or name in one.statement):
            yield one, Refusal(RefusalCode.OFFSET, one.place, "the offset of the member is used"), False


def _initialised(root: Node, offset: int) -> str:
    """The type of what is initialised there, as it is named; empty where that is nested or not plain C."""
    pair: Node | None = root.descendant_for_byte_range(offset, offset + 1)
    while pair is not None and pair.type != "initializer_pair":
        pair = pair.parent
    holder = pair.parent.parent if pair is not None and pair.parent is not None else None
    if holder is not None and holder.type == "initializer_list":  # an element of an array, or a member of a member
        holder = holder.parent
        declarator = holder.child_by_field_name("declarator") if holder is not None else None
        if declarator is None or declarator.type != "array_declarator":
            return ""
    if holder is None or holder.type not in ("init_declarator", "compound_literal_expression"):
        return ""
    declaration = holder.parent if holder.type == "init_declarator" else holder
    kind = text(declaration and declaration.child_by_field_name("type"))
    return " ".join(_QUALIFIERS.sub(" ", kind).split())


def is_within(declared: Declared, mention: Mention) -> bool:
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


def _place(one: object) -> tuple[str, int, int]:
    return one.file, one.line, one.column  # type: ignore[attr-defined]
