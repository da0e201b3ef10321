# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of ``patch``, ``encapsulate`` and ``inline``: as text for a reader, or as JSON.

Bytes, because a source file may hold any; in JSON a byte that is no UTF-8 is a backslash, ``x`` and two digits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from linesmith.analyzer.base.text import visible
from linesmith.analyzer.model import ConfigurationCheck, Patch, Refusal
from linesmith.analyzer.report.json_text import Json, fields_of, json_text
from linesmith.analyzer.report.prose import counted
from linesmith.patches.edit.patch import UnverifiedEdit
from linesmith.patches.series.mails import PatchFile

if TYPE_CHECKING:
    from linesmith.patches.encapsulation.encapsulate import Encapsulated
    from linesmith.patches.inline.inline import Inlined

SCHEMA_VERSION = 1


def encapsulate_plan(made: Encapsulated, format_: str) -> bytes:
    """The files that change, the places that stay, and the semantic patch; no change of the tree."""
    if format_ == "json":
        return encapsulate_json(made, ())
    return "".join(f"{line}\n" for line in _encapsulated(made)).encode("utf-8", "surrogateescape")


def encapsulate_json(made: Encapsulated, files: Sequence[tuple[str, bytes]], unjudged: Sequence[str] = ()) -> bytes:
    """One object; ``patches`` are the names and texts of ``files``, ``unjudged`` what the deadline left out."""
    document = {
        "schema": SCHEMA_VERSION,
        "record": made.declared.title,
        "member": made.declared.name,
        "place": made.declared.place,
        "accessor": made.accessor.name,
        "gives": made.accessor.form.value,
        "replaced": [{"place": one.mention.place, "function": one.function} for one in made.places],
        "left": made.series.refusals,
        "broken": made.broken,
        "notes": made.series.notes,
        "semantic_patch": made.rules,
        "unjudged": unjudged,
        "patches": _texts(files),
    }
    return json_text(document).encode()


def inline_plan(inlined: Inlined, format_: str) -> bytes:
    """What stands in the way, where a person must look, and the semantic patch; no change of the tree."""
    if format_ == "json":
        return inline_json(inlined, ())
    return "".join(f"{line}\n" for line in _inlined(inlined)).encode("utf-8", "surrogateescape")


def inline_json(inlined: Inlined, files: Sequence[tuple[str, bytes]], unjudged: Sequence[str] = ()) -> bytes:
    """One object; ``patches`` are the names and texts of ``files``, none where something stands in the way.

    ``unjudged`` are the files that the deadline left out.
    """
    study, pointer = inlined.study, inlined.study.pointer
    document = {
        "schema": SCHEMA_VERSION,
        "record": pointer.outer.record.title,
        "pointer": pointer.name,
        "target": pointer.target,
        "place": pointer.place,
        "uses": [fields_of(use, "place", "role", "function") for use in study.uses],
        "caches": study.caches.gone,
        "standing": inlined.standing,
        "sites": inlined.study.sites,
        "semantic_patch": study.rules,
        "unjudged": unjudged,
        "patches": _texts(files),
    }
    return json_text(document).encode()


def _texts(files: Sequence[tuple[str, bytes]]) -> list[Json]:
    return [{"name": name, "text": _readable(text)} for name, text in files]


def _encapsulated(made: Encapsulated) -> Iterator[str]:
    name = f"{made.declared.title}.{made.declared.name}"
    counts = Counter(place.mention.file for place in made.places)
    places = f"{counted(len(made.places), 'place')} in {counted(len(counts), 'file')}"
    through = f"go{'es' * (len(made.places) == 1)} through {made.accessor.name}(), which gives its {made.accessor.form}"
    yield f"{name} ({made.declared.place}): {places} {through}"
    yield from (f"  {count:4}  {file}" for file, count in sorted(counts.items()))
    yield from _places("Does not compile any more", made.broken)
    yield from _places("Not touched", made.series.refusals)
    yield from _semantic_patch(made.rules)


def _inlined(inlined: Inlined) -> Iterator[str]:
    pointer, uses = inlined.study.pointer, len(inlined.study.uses)
    yield f"{pointer.outer.record.title}.{pointer.name} ({pointer.place}): a pointer to {pointer.target}, {uses} uses"
    yield from _places("In the way", inlined.standing)
    yield from _places("To look at", inlined.study.sites)
    yield from _semantic_patch(inlined.study.rules)


def _places(title: str, places: Sequence[Refusal]) -> Iterator[str]:
    if places:
        yield from ("", f"{title}:", *(f"  {one.code}  {one}" for one in places))


def _semantic_patch(rules: str) -> Iterator[str]:
    yield from ("", "Semantic patch, for spatch --sp-file:", "", rules.rstrip("\n"))


def render_json(patch: Patch, files: Sequence[PatchFile], checks: Sequence[ConfigurationCheck]) -> bytes:
    """One object with the fields of ``model.Patch``, the files as one text and one by one, and the ``checks``."""
    texts = _texts([(file.name, file.content) for file in files])
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
