# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a patch to what it does to the layouts of the records that it changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from linesmith.analyzer.cli.remarks import remark
from linesmith.analyzer.cli.waiting import tell_who_waits
from linesmith.analyzer.model import ConfigurationCheck
from linesmith.patches.matrix import Asked, Change, check
from linesmith.patches.redeclared import redeclared
from linesmith.patches.tree import Tree
from linesmith.patches.versions.mail_texts import mails_of
from linesmith.patches.versions.mails import patched

_SOURCES = (".h", ".c")


def checked(patch: Path, tree: Tree) -> tuple[tuple[str, ConfigurationCheck], ...]:
    """Each record that the patch declares otherwise, by ``file:line``, as the tree's configuration compiles it.

    Raises ``PatchRefused`` and ``TreeError``.
    """
    content = sys.stdin.buffer.read() if str(patch) == "-" else patch.read_bytes()
    versions = patched(tree.root, mails_of("standard input" if str(patch) == "-" else patch.name, content))
    for one in versions.remarks:
        remark(one)
    changes = versions.changes
    found = [(change.file, one) for change in changes if change.file.endswith(_SOURCES) for one in redeclared(change)]
    asked = [(f"{file}:{one.line}", Change(changes, one.name, one.title, file)) for file, one in found]
    results = tuple((place, check(change, tree, Asked(("tree",)), tell_who_waits)[0]) for place, change in asked)
    for one in dict.fromkeys(said for _, result in results for said in result.remarks):
        remark(one)
    return results


def complaints(found: tuple[tuple[str, ConfigurationCheck], ...]) -> Iterator[str]:
    """What is worse than before, a line each, as programs that check patches write it."""
    for place, one in found:
        if one.failed:
            yield f"{place}: ERROR: {one.failed}"
        for record in one.records:
            if record.before and record.after and record.after.size > record.before.size:
                before, after = record.before, record.after
                lines = f", from {before.lines} to {after.lines} lines" if after.lines > before.lines else ""
                held = " with it" if record.holder else ""
                yield f"{place}: WARNING: {record.record} grows{held} from {before.size} to {after.size} bytes{lines}"
