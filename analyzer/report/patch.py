# SPDX-License-Identifier: GPL-2.0-or-later
"""A patch as JSON, or as an edit that nothing has confirmed; bytes, because a source file may hold any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.model import ConfigurationCheck, Patch
from linesmith.patches.patch import Draft
from linesmith.patches.series.patch_file import PatchFile

SCHEMA_VERSION = 1


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


def render_draft(draft: Draft, format_: str) -> bytes:
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
