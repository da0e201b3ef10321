# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of a kernel's slab caches: what its source asks for them, and what its /sys/kernel/slab says.

What its source asks for is in ``known_caches.txt``, a row for each cache.

The banner in the image tells the release (init/version.c, linux_banner). What sysfs says is read from there, or from
text with a line for each file:
``dentry/slab_size:192``, as ``grep -s . /sys/kernel/slab/*/*`` writes it (Documentation/ABI/testing/sysfs-kernel-slab).
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Flag, auto
from functools import cache, reduce
from operator import or_
from pathlib import Path

from linesmith.analyzer.base.errors import ElfError, SlabFactsError
from linesmith.analyzer.model import SlabBasis, SlabCache, SlabGeometry, SlabMachine

Release = tuple[int, int]
_ARM64 = "aarch64"
# arm64 aligned kmalloc() for DMA by devices that are not coherent, until small buffers were copied instead.
_ARM64_DMA_BYTES = 128
_BOUNCES = (6, 5)
_DEFAULT = SlabMachine()
_BEGINNING = b"Linux version "
_BANNER = re.compile(_BEGINNING + rb"(\d{1,3})\.(\d{1,3})\D")
_NEEDED = ("object_size", "slab_size", "align", "objs_per_slab", "order")
_FIELDS = (*_NEEDED, "aliases", "red_zone")
_FACT = re.compile(r"(?:.*/)?([^/\n]+)/(\w+):(\d+)(?:\s.*)?\Z")
_MOST_BYTES = 64 << 20
_MOST_DIGITS = 10
_WORD_BYTES = 8


class CacheFlags(Flag):
    """What decides where objects begin. ``OWN_ALIGNMENT``: that of the record; ``GROWS``: larger than the record."""

    NONE = 0
    OWN_ALIGNMENT = auto()
    SIZE_ALIGNMENT = auto()
    LINE_ALIGNMENT = auto()
    HWCACHE_ALIGN = auto()
    TYPESAFE_BY_RCU = auto()
    CONSTRUCTOR = auto()
    INNER_FREE_POINTER = auto()
    GROWS = auto()


@dataclass(frozen=True, slots=True)
class KnownCache:
    """The cache ``name`` of objects of ``record``, made by ``function`` from release ``since`` to before ``until``."""

    record: str
    name: str
    function: str
    flags: CacheFlags
    since: Release
    until: Release


@cache
def _known_caches() -> tuple[KnownCache, ...]:
    lines = Path(__file__).with_name("known_caches.txt").read_text(encoding="ascii").splitlines()
    return tuple(_row(*line.split()) for line in lines if line and not line.startswith("#"))


def _row(record: str, name: str, function: str, flags: str, releases: str = "-") -> KnownCache:
    """The cache of a row; where ``6.7-6.12`` has one end, or none, the releases beyond are meant too."""
    since, _, until = releases.partition("-")
    asked = reduce(or_, (CacheFlags[word.upper()] for word in flags.split(",")))
    return KnownCache(record, name, function, asked, _release(since or "0.0"), _release(until or "99.0"))


def _release(text: str) -> Release:
    version, patch_level = map(int, text.split("."))
    return version, patch_level


def known_cache(record: str, release: Release) -> KnownCache | None:
    """The cache that serves objects of ``record`` in that release, if one is known."""
    return _by_record(release).get(record)


@cache
def _by_record(release: Release) -> dict[str, KnownCache]:
    """The first cache of each record: lints ask for thousands."""
    return {one.record: one for one in reversed(tuple(_of_release(release)))}


def caches_called(name: str, release: Release) -> tuple[KnownCache, ...]:
    """The caches of that name in that release, one for each record that it is known to serve."""
    return tuple(one for one in _of_release(release) if one.name == name)


def served_records(release: Release) -> tuple[str, ...]:
    """Names of the records that known caches of that release serve."""
    return tuple(one.record for one in _of_release(release))


def _of_release(release: Release) -> Iterator[KnownCache]:
    return (one for one in _known_caches() if one.since <= release < one.until)


def machine_of(
    name: str, release: tuple[int, int] | None, cpus: int = _DEFAULT.cpus, page_bytes: int = _DEFAULT.page_bytes
) -> SlabMachine:
    """The machine of an ELF file by its ``name``; without a release the rules of Linux 6.12 hold."""
    rules = release or _DEFAULT.release
    kmalloc = _ARM64_DMA_BYTES if name == _ARM64 and rules < _BOUNCES else _DEFAULT.kmalloc_alignment
    return SlabMachine(cpus=cpus, page_bytes=page_bytes, release=rules, kmalloc_alignment=kmalloc)


@contextmanager
def kernel_image(elf: Path) -> Iterator[mmap.mmap | bytes]:
    """The content of ``elf``, mapped where the file system lets it be, else read. Raises ``ElfError``."""
    try:
        with elf.open("rb") as file:
            try:
                image = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError):
                # What the kernel writes itself, as /sys/kernel/btf/vmlinux, can be read but not always mapped.
                yield file.read()
                return
            with image:
                yield image
    except OSError as error:
        raise ElfError(f"cannot read {elf}: {error}; give a vmlinux") from error


def release_of(elf: Path) -> tuple[int, int] | None:
    """Version and patch level of the kernel in ``elf``; ``None`` where it says none. Raises ``ElfError``."""
    with kernel_image(elf) as image:
        at = image.find(_BEGINNING)  # takes a third of the time that the expression takes to look through an image
        while at >= 0:
            match = _BANNER.match(image, at)
            if match:
                return int(match[1]), int(match[2])
            at = image.find(_BEGINNING, at + 1)
    return None


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
    sound = {
        name: _cache(name, one, page_bytes)
        for name, one in facts.items()
        if all(field in one for field in _NEEDED) and one["slab_size"] > 0 and one["objs_per_slab"] > 0
    }
    if not sound:
        raise SlabFactsError(
            f"{path} has no slab cache; give /sys/kernel/slab or the output of grep -s . /sys/kernel/slab/*/*"
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
        match = _FACT.match(line)
        if match and match[2] in _FIELDS and len(match[3]) <= _MOST_DIGITS:
            yield match[1], match[2], int(match[3])


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
