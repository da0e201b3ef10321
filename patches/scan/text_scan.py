# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks through all sources of a tree for what text alone shows of records: other machines, drivers not built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from linesmith.patches.scan import stamped
from linesmith.patches.scan.stamped import Stamped
from linesmith.patches.scan.text_places import RecordText, TextPlaces
from linesmith.patches.source_bytes import source_bytes

SUFFIX = ".places"
_SUFFIXES = (".c", ".h")
_MOST_BYTES = 8 << 20
_FORMAT = 4
# Said of a file that is larger.
TOO_LARGE = f"it is larger than {_MOST_BYTES >> 20} MiB, so its text was not searched"
_DECODER = msgspec.json.Decoder(Stamped[TextPlaces])


def text_places(
    tree: Path, records: Sequence[str], tell: Callable[[str], None]
) -> Mapping[str, Mapping[str, TextPlaces]]:
    """What the files of ``tree`` show of each record, by record and by file relative to the tree."""
    began = stamped.begun()
    names = {record: stamped.name_of(SUFFIX, _FORMAT, tree, record) for record in records}
    kept = {record: stamped.load(_DECODER, name) for record, name in names.items()}
    looking = {record: RecordText(record) for record in records}
    found: dict[str, dict[str, TextPlaces]] = {record: {} for record in records}
    stamps = dict(stamped.stamps(tree, _SUFFIXES))
    if not all(one.stamps for one in kept.values()):
        tell(f"looking through all sources of {tree}")
    for file, stamp in stamps.items():
        stale = {record for record, one in kept.items() if not one.is_current(file, stamp)}
        content = (source_bytes(tree, file, _MOST_BYTES) if stale else None) or b""
        unread = TextPlaces((), declares=False, unread=True) if stamp[2] > _MOST_BYTES else None
        for record, one in kept.items():
            places = unread or (looking[record].places(file, content) if record in stale else one.found.get(file))
            if places is not None and (places.places or places.declares or places.unread):
                found[record][file] = places
    for record, known in found.items():
        stamped.save(names[record], Stamped(began, stamps, known))
    return found
