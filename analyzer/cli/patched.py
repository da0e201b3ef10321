# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a patch to what it does to the layouts of the records that it changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from linesmith.analyzer.cli.remarks import remark
from linesmith.analyzer.cli.waiting import tell_who_waits
from linesmith.analyzer.model import ConfigurationCheck
from linesmith.patches.deadline import Deadline
from linesmith.patches.matrix import Asked, Change, check
from linesmith.patches.records import is_obscure
from linesmith.patches.redeclared import redeclared
from linesmith.patches.tree import Tree
from linesmith.patches.versions.mail_texts import mails_of
from linesmith.patches.versions.mails import patched

_SOURCES = (".h", ".c")
_TEXT = "the text"
_OBSCURE = (
    "the brackets of a record do not pair, or are spelt otherwise, so not all records were found; "
    "look at the file by hand, or compare two builds"
)


def checked(patch: Path, tree: Tree, deadline: Deadline) -> tuple[tuple[str, ConfigurationCheck], ...]:
    """Each record that the patch declares otherwise, by ``file:line``, as the tree's configuration compiles it.

    All of it counts against ``deadline``. Raises ``PatchRefused`` and ``TreeError``, and ``DeadlinePassed`` where the
    patch itself is not read in time.
    """
    content = sys.stdin.buffer.read() if str(patch) == "-" else patch.read_bytes()
    with deadline.running():
        versions = patched(tree.root, mails_of("standard input" if str(patch) == "-" else patch.name, content))
        changes = [one for one in versions.changes if one.file.endswith(_SOURCES)]
        found = [(change.file, one) for change in changes for one in redeclared(change)]
        texts = ((one.file, one.before, one.after) for one in changes)
        obscure = [file for file, before, after in texts if before and after and is_obscure(after)]
    for one in versions.remarks:
        remark(one)
    asked = Asked(("tree",), deadlines=lambda: deadline)
    results = (
        *(
            (f"{file}:{one.line}", _checked(Change(versions.changes, one.name, one.title, file), tree, asked))
            for file, one in found
        ),
        *((f"{file}:1", ConfigurationCheck(_TEXT, failed=_OBSCURE, unjudged=(file,))) for file in obscure),
    )
    for one in dict.fromkeys(said for _, result in results for said in result.remarks):
        remark(one)
    return results


def _checked(change: Change, tree: Tree, asked: Asked) -> ConfigurationCheck:
    return check(change, tree, asked, tell_who_waits)[0]


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
