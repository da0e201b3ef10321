# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of ``linesmith inline``: as text for a reader, or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from linesmith.analyzer.model import Refusal
from linesmith.patches.inline.inline import Inlined

SCHEMA_VERSION = 1


def render_plan(inlined: Inlined, format_: str) -> bytes:
    """What stands in the way, where a person must look, and the semantic patch; no change of the tree."""
    if format_ == "json":
        return as_json(inlined, ())
    return ("\n".join(_lines(inlined)) + "\n").encode("utf-8", "surrogateescape")


def as_json(inlined: Inlined, files: Sequence[tuple[str, bytes]], unjudged: Sequence[str] = ()) -> bytes:
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


def _lines(inlined: Inlined) -> Iterator[str]:
    pointer = inlined.study.pointer
    uses = len(inlined.study.found.uses)
    yield f"{pointer.outer.record.title}.{pointer.name} ({pointer.place}): a pointer to {pointer.target}, {uses} uses"
    yield from _listed("In the way", inlined.standing)
    yield from _listed("To look at", inlined.sites)
    yield ""
    yield "Semantic patch, for spatch --sp-file:"
    yield ""
    yield inlined.study.rules.rstrip("\n")


def _listed(title: str, places: Sequence[Refusal]) -> Iterator[str]:
    if places:
        yield ""
        yield f"{title}:"
        yield from (f"  {one.code}  {one}" for one in places)
