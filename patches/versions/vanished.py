# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that no changed file of the second version declares any more, though somebody guards them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import FileChange, Layout, RecordKind
from linesmith.patches.declaration import staged_files
from linesmith.patches.masking import without_comments
from linesmith.patches.redeclared import declared
from linesmith.patches.versions.counterparts import names_of
from linesmith.patches.versions.declaring import record_texts
from linesmith.patches.versions.paths import read_inside
from linesmith.patches.versions.versions import MOST_BYTES, Versions

_MARKED = re.compile(rb"align|cacheline", re.IGNORECASE)
_TOLD = 3
# Ids that no compiled file gives; -1 is that of the tasks by which a kernel is known.
_FIRST_ID = -2


def vanished(changes: Sequence[FileChange], intended: Collection[str]) -> Iterator[str]:
    """A sentence on the aligned records, without those ``intended``, that changed files declare no more."""
    found = [f"{name} of {file}" for name, file in _gone(changes, _aligned) if name not in intended]
    if found:
        counted = f"{len(found)} records" if len(found) > 1 else "1 record"
        told = ", ".join(found[:_TOLD]) + (", …" if len(found) > _TOLD else "")
        yield f"{counted} with an alignment in no changed file any more, compared with nothing: {told}"


def gone_for_good(versions: Versions, intended: Collection[str]) -> tuple[str, ...]:
    """Those of the records ``intended`` that the first version declares and the second does not."""
    gone = {name for name, _ in _gone(versions.changes, declared) if name in intended}
    return tuple(sorted(gone - _declared_still(versions, gone)))


def with_gone(layouts: LayoutTable, names: Collection[str]) -> LayoutTable:
    """The layouts with records called so, of which nothing is known but that they were there."""
    fresh = [name for name in names if not layouts.variants(name)]
    stand_ins = (Layout(_FIRST_ID - place, name, RecordKind.STRUCT, 0, ()) for place, name in enumerate(fresh))
    return LayoutTable((*layouts, *stand_ins)) if fresh else layouts


def _gone(changes: Sequence[FileChange], guarded: Callable[[bytes], frozenset[bytes]]) -> Iterator[tuple[str, str]]:
    """Each ``guarded`` record of the first version that no changed file of the second one declares, and its file."""
    kept = frozenset(name for change in changes for name in declared(change.after))
    for change in changes:
        gone = names_of((change,)).gone.get(change.file, frozenset()) - kept
        for name in sorted(gone & guarded(change.before or b"")) if gone else ():
            yield name.decode(), change.file


def _aligned(text: bytes) -> frozenset[bytes]:
    """The names of records that somebody gave an alignment."""
    if not _MARKED.search(text):
        return frozenset()
    marked = (one for one in record_texts(without_comments(text)) if _MARKED.search(one))
    # Behind a record that has a name there may be an attribute alone.
    return frozenset(
        name
        for one in marked
        for name in declared(one[: one.find(b"{") + 1]) or declared(one[one.rfind(b"}") :] + b";")
    )


def _declared_still(versions: Versions, names: Collection[str]) -> frozenset[str]:
    """Those of ``names`` that a file declares which is the same in both versions."""
    changed = versions.after
    files = (file for file in staged_files(versions.root) if names and file not in changed)
    wanted = frozenset(name.encode() for name in names)
    found = (wanted & declared(text) for file in files if (text := read_inside(versions.root, file, MOST_BYTES)))
    return frozenset(name.decode() for some in found for name in some)
