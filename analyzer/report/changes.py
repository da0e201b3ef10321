# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of ``linesmith encapsulate``: as text for a reader, or as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from linesmith.analyzer.base.text import visible
from linesmith.analyzer.model import ConfigurationCheck, Patch, Refusal
from linesmith.patches.edit.patch import UnverifiedEdit
from linesmith.patches.encapsulation.encapsulate import Encapsulated
from linesmith.patches.inline.inline import Inlined
from linesmith.patches.series.mails import PatchFile

SCHEMA_VERSION = 1


def encapsulate_plan(made: Encapsulated, format_: str) -> bytes:
    """The files that change, the places that stay, and the semantic patch; no change of the tree."""
    if format_ == "json":
        return encapsulate_json(made, ())
    return ("\n".join(_lines(made)) + "\n").encode("utf-8", "surrogateescape")


def encapsulate_json(made: Encapsulated, files: Sequence[tuple[str, bytes]], unjudged: Sequence[str] = ()) -> bytes:
    """One object; ``patches`` are the names and texts of ``files``, ``unjudged`` what the deadline left out."""
    told = {
        "schema": SCHEMA_VERSION,
        "record": made.declared.title,
        "member": made.declared.name,
        "place": made.declared.place,
        "accessor": made.accessor.name,
        "gives": made.accessor.form.value,
        "replaced": [{"place": f"{one.file}:{one.line}", "function": one.function} for one in made.places],
        "left": [msgspec.to_builtins(one) for one in made.series.refusals],
        "broken": [msgspec.to_builtins(one) for one in made.broken],
        "notes": list(made.series.notes),
        "semantic_patch": made.rules,
        "unjudged": list(unjudged),
        "patches": [{"name": name, "text": text.decode("utf-8", "backslashreplace")} for name, text in files],
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"


def _lines(made: Encapsulated) -> Iterator[str]:
    name = f"{made.declared.title}.{made.declared.name}"
    counts = Counter(place.file for place in made.places)
    places = f"{len(made.places)} place{'s' * (len(made.places) != 1)}"
    files = f"{len(counts)} file{'s' * (len(counts) != 1)}"
    through = f"go{'es' * (len(made.places) == 1)} through {made.accessor.name}(), which gives its {made.accessor.form}"
    yield f"{name} ({made.declared.place}): {places} in {files} {through}"
    yield from (f"  {count:4}  {file}" for file, count in sorted(counts.items()))
    yield from _listed("Does not compile any more", made.broken)
    yield from _listed("Not touched", made.series.refusals)
    yield ""
    yield "Semantic patch, for spatch --sp-file:"
    yield ""
    yield made.rules.rstrip("\n")


def _listed(title: str, places: Sequence[Refusal]) -> Iterator[str]:
    if places:
        yield ""
        yield f"{title}:"
        yield from (f"  {one.code}  {one}" for one in places)


# What became of ``linesmith inline``: as text for a reader, or as JSON.


def inline_plan(inlined: Inlined, format_: str) -> bytes:
    """What stands in the way, where a person must look, and the semantic patch; no change of the tree."""
    if format_ == "json":
        return inline_json(inlined, ())
    return ("\n".join(_inline_lines(inlined)) + "\n").encode("utf-8", "surrogateescape")


def inline_json(inlined: Inlined, files: Sequence[tuple[str, bytes]], unjudged: Sequence[str] = ()) -> bytes:
    """One object; ``patches`` are the names and texts of ``files``, none where something stands in the way.

    ``unjudged`` are the files that the deadline left out.
    """
    told = {
        "schema": SCHEMA_VERSION,
        "record": inlined.study.pointer.outer.record.title,
        "pointer": inlined.study.pointer.name,
        "target": inlined.study.pointer.target,
        "place": inlined.study.pointer.place,
        "uses": [_use(inlined, number) for number in range(len(inlined.study.found.uses))],
        "caches": list(inlined.study.caches.gone),
        "standing": [msgspec.to_builtins(one) for one in inlined.standing],
        "sites": [msgspec.to_builtins(one) for one in inlined.sites],
        "semantic_patch": inlined.study.rules,
        "unjudged": list(unjudged),
        "patches": [{"name": name, "text": text.decode("utf-8", "backslashreplace")} for name, text in files],
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"


def _use(inlined: Inlined, number: int) -> dict[str, str]:
    use = inlined.study.found.uses[number]
    return {"place": use.place, "role": use.role.value, "function": use.function}


def _inline_lines(inlined: Inlined) -> Iterator[str]:
    pointer = inlined.study.pointer
    uses = len(inlined.study.found.uses)
    yield f"{pointer.outer.record.title}.{pointer.name} ({pointer.place}): a pointer to {pointer.target}, {uses} uses"
    yield from _listed("In the way", inlined.standing)
    yield from _listed("To look at", inlined.sites)
    yield ""
    yield "Semantic patch, for spatch --sp-file:"
    yield ""
    yield inlined.study.rules.rstrip("\n")


# A patch as JSON, or as an edit that nothing has confirmed; bytes, because a source file may hold any.


def render_json(patch: Patch, files: Sequence[PatchFile], checks: Sequence[ConfigurationCheck]) -> bytes:
    """One object with the fields of ``model.Patch``, the files as one text and one by one, and the ``checks``.

    A byte that is no UTF-8 is written as a backslash, ``x`` and two digits, since JSON has no place for it.
    """
    diff = _readable(patch.diff.encode("utf-8", "surrogateescape"))
    told: dict[str, object] = msgspec.to_builtins(replace(patch, diff=diff))
    texts = [{"name": file.name, "text": _readable(file.content)} for file in files]
    return _json(
        {
            **told,
            "patch": "\n".join(one["text"] for one in texts),
            "patches": texts,
            "checks": msgspec.to_builtins(checks),
        }
    )


def render_checks(found: Sequence[tuple[str, ConfigurationCheck]]) -> str:
    """What a compiler makes of the records that a patch changes, each with the ``place`` of its declaration."""
    told = [{"place": place, **msgspec.to_builtins(one)} for place, one in found]
    return _json({"records": told}).decode()


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


def _json(told: dict[str, object]) -> bytes:
    encoded = msgspec.json.format(msgspec.json.encode({"schema": SCHEMA_VERSION, **told}), indent=2)
    return visible(encoded.decode()).encode() + b"\n"
