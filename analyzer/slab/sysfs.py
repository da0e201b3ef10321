# SPDX-License-Identifier: GPL-2.0-or-later
"""What a running kernel says of its caches: /sys/kernel/slab, or the text that grep makes of it.

The text has a line for each file: ``dentry/slab_size:192``, as ``grep -s . /sys/kernel/slab/*/*`` writes it, with any
folders before. Source: Documentation/ABI/testing/sysfs-kernel-slab.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from linesmith.analyzer.errors import SlabFactsError
from linesmith.analyzer.model import SlabBasis, SlabCache, SlabGeometry

_NEEDED = ("object_size", "slab_size", "align", "objs_per_slab", "order")
_FIELDS = (*_NEEDED, "aliases", "red_zone")
_LINE = re.compile(r"(?:.*/)?([^/\n]+)/(\w+):(\d+)(?:\s.*)?\Z")
_MOST_BYTES = 64 << 20
_MOST_DIGITS = 10
_WORD_BYTES = 8


def measured_caches(path: Path, page_bytes: int) -> Mapping[str, SlabCache]:
    """The caches by name; ``path`` is a directory like /sys/kernel/slab or the text of one.

    Raises ``SlabFactsError`` when it cannot be read or describes no cache.
    """
    facts: dict[str, dict[str, int]] = {}
    try:
        for cache, field, value in _in_directory(path) if path.is_dir() else _in_text(path):
            facts.setdefault(cache, {})[field] = value
    except OSError as error:
        raise SlabFactsError(f"cannot read {path}: {error.strerror}; copy /sys/kernel/slab as root") from error
    sound = {name: _cache(name, one, page_bytes) for name, one in facts.items() if _is_sound(one)}
    if not sound:
        raise SlabFactsError(
            f"{path} describes no slab cache; give /sys/kernel/slab or the output of grep -s . /sys/kernel/slab/*/*"
        )
    return sound


def _in_directory(path: Path) -> Iterator[tuple[str, str, int]]:
    for folder in sorted(path.iterdir()):
        for field in _FIELDS:
            file = folder / field
            if file.is_file():
                words = file.read_text("utf-8", "replace").split()
                if words and words[0].isdecimal() and len(words[0]) <= _MOST_DIGITS:
                    yield folder.name, field, int(words[0])


def _in_text(path: Path) -> Iterator[tuple[str, str, int]]:
    with path.open("rb") as file:
        text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and match[2] in _FIELDS and len(match[3]) <= _MOST_DIGITS:
            yield match[1], match[2], int(match[3])


def _is_sound(facts: Mapping[str, int]) -> bool:
    return all(field in facts for field in _NEEDED) and facts["slab_size"] > 0 and facts["objs_per_slab"] > 0


def _cache(name: str, facts: Mapping[str, int], page_bytes: int) -> SlabCache:
    align = max(facts["align"], 1)
    geometry = SlabGeometry(
        facts["object_size"],
        facts["align"],
        facts["slab_size"],
        min(facts["order"], 31),
        facts["objs_per_slab"],
        page_bytes,
        -(-_WORD_BYTES // align) * align if facts.get("red_zone") else 0,
    )
    return SlabCache(name, geometry, SlabBasis.MEASURED, "in /sys/kernel/slab", facts.get("aliases", 0))
