# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of ``patch``, ``encapsulate`` and ``inline``: as text for a reader, or as JSON.

Bytes, because a source file may hold any; in JSON a byte that is no UTF-8 is a backslash, ``x`` and two digits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from linesmith.analyzer.base.text import visible
from linesmith.analyzer.model import ConfigurationCheck, Patch, Refusal
from linesmith.analyzer.report.prose import Json, counted, fields_of, json_text
from linesmith.patches.edit.patch import UnverifiedEdit
from linesmith.patches.series.mails import PatchFile

if TYPE_CHECKING:
    from linesmith.patches.encapsulation.encapsulate import Encapsulated
    from linesmith.patches.inline.inline import Inlined

SCHEMA_VERSION = 1


def treewide(
    shown: tuple[Json, Iterable[str]],
    rules: str,
    format_: str,
    files: Sequence[PatchFile] = (),
    unjudged: Sequence[str] = (),
) -> bytes:
    """A change of a whole tree in the form asked for: its fields or its lines, and the semantic patch.

    In JSON the ``files`` are ``patches``, none where something stands in the way; the deadline left out ``unjudged``.
    """
    fields, lines = shown
    if format_ == "json":
        patches = _texts(files)
        ends = {"semantic_patch": rules, "unjudged": unjudged, "patches": patches}
        return json_text({"schema": SCHEMA_VERSION, **fields, **ends}).encode()
    text = (*lines, "", "Semantic patch, for spatch --sp-file:", "", rules.rstrip("\n"))
    return "".join(f"{line}\n" for line in text).encode("utf-8", "surrogateescape")


def encapsulated(made: Encapsulated) -> tuple[Json, Iterable[str]]:
    """The files that change and the places that stay."""
    declared, accessor, left = made.declared, made.accessor, made.series.refusals
    counts = Counter(place.mention.file for place in made.places)
    places = f"{counted(len(made.places), 'place')} in {counted(len(counts), 'file')}"
    through = f"go{'es' * (len(made.places) == 1)} through {accessor.name}(), which gives its {accessor.form}"
    return {
        "record": declared.title,
        "member": declared.name,
        "place": declared.place,
        "accessor": accessor.name,
        "gives": accessor.form.value,
        "replaced": [{"place": one.mention.place, "function": one.function} for one in made.places],
        "left": left,
        "broken": made.standing,
        "notes": made.series.notes,
    }, (
        f"{declared.title}.{declared.name} ({declared.place}): {places} {through}",
        *(f"  {count:4}  {file}" for file, count in sorted(counts.items())),
        *_places("Does not compile any more", made.standing),
        *_places("Not touched", left),
    )


def inlined(made: Inlined) -> tuple[Json, Iterable[str]]:
    """What stands in the way, and where a person must look."""
    pointer = made.pointer
    record = pointer.outer.record.title
    return {
        "record": record,
        "pointer": pointer.name,
        "target": pointer.target,
        "place": pointer.place,
        "uses": [fields_of(use, "place", "role", "function") for use in made.uses],
        "caches": made.caches,
        "standing": made.standing,
        "sites": made.sites,
    }, (
        f"{record}.{pointer.name} ({pointer.place}): a pointer to {pointer.target}, {len(made.uses)} uses",
        *_places("In the way", made.standing),
        *_places("To look at", made.sites),
    )


def _places(title: str, places: Sequence[Refusal]) -> Iterator[str]:
    if places:
        yield from ("", f"{title}:", *(f"  {one.code}  {one}" for one in places))


def _texts(files: Sequence[PatchFile]) -> list[Json]:
    return [{"name": file.name, "text": _readable(file.content)} for file in files]


def render_json(patch: Patch, files: Sequence[PatchFile], checks: Sequence[ConfigurationCheck]) -> bytes:
    """One object with the fields of ``model.Patch``, the files as one text and one by one, and the ``checks``."""
    texts = _texts(files)
    document = msgspec.to_builtins(replace(patch, diff=_readable(patch.diff.encode("utf-8", "surrogateescape"))))
    whole = "\n".join(str(one["text"]) for one in texts)
    return _json({**document, "message": str(patch.message), "patch": whole, "patches": texts, "checks": checks})


def render_checks(found: Sequence[tuple[str, ConfigurationCheck]]) -> str:
    """What a compiler makes of the records that a patch changes, each with the ``place`` of its declaration."""
    document = [{"place": place, **msgspec.to_builtins(one)} for place, one in found]
    return _json({"records": document}).decode()


def render_draft(draft: UnverifiedEdit, format_: str) -> bytes:
    """The unconfirmed edit with the commands that would confirm it, as comments in front of the diff."""
    commands = [str(command) for command in draft.commands]
    if format_ == "json":
        place = draft.declared.place
        return _json({"place": place, "diff": _readable(draft.diff), "verified": "", "commands": commands})
    lines = [f"# {draft.declared.place}: not verified (--dry-run)"]
    lines += [f"# would run: {command}" for command in commands]
    lines += ["# would compile the file as it is and as patched, with the tree's flags, and read the layouts back", ""]
    return visible("\n".join(lines)).encode() + draft.diff


def _readable(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


def _json(document: Json) -> bytes:
    """With all that a terminal would not show escaped, as the text of a patch needs it."""
    return visible(json_text({"schema": SCHEMA_VERSION, **document})).encode()
