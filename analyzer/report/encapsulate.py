# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of ``linesmith encapsulate``: as text for a reader, or as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from linesmith.analyzer.model import Refusal
from linesmith.patches.encapsulation.encapsulate import Encapsulated

SCHEMA_VERSION = 1


def render_plan(made: Encapsulated, format_: str) -> bytes:
    """The files that change, the places that stay, and the semantic patch; no change of the tree."""
    if format_ == "json":
        return as_json(made, ())
    return ("\n".join(_lines(made)) + "\n").encode("utf-8", "surrogateescape")


def as_json(made: Encapsulated, files: Sequence[tuple[str, bytes]], unjudged: Sequence[str] = ()) -> bytes:
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
