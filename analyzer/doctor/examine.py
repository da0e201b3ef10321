# SPDX-License-Identifier: GPL-2.0-or-later
"""All checks in the order in which they are shown; those of places are here.

Places are the cache, the source tree with its configuration, and the running kernel's debug information.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from linesmith.analyzer.base.cache import cache_directory, location
from linesmith.analyzer.base.errors import CacheError
from linesmith.analyzer.doctor import programs, recording
from linesmith.analyzer.doctor.programs import Distribution, this_distribution
from linesmith.analyzer.model import Check, Readiness

AREA = "places"
_MIB = 1 << 20
_RELEASE = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+) *$", re.MULTILINE)
_MAKEFILE_BYTES = 1 << 16
_BTF = Path("/sys/kernel/btf/vmlinux")


def examine(tree: Path, build: Path | None, tell: Callable[[str], None]) -> tuple[Check, ...]:
    """Try every part; takes some seconds, for perf and KVM are tried by running them, within a time limit.

    ``build`` is the ``O=`` directory of a build of the source ``tree``, where that is another.
    """
    distribution = this_distribution()
    tell("trying perf")
    perf = tuple(recording.sampling_checks(distribution))
    tell("trying KVM")
    emulated = tuple(recording.emulation_checks(distribution))
    tell("looking for programs")
    return (
        recording.recording_check((*perf, *emulated)),
        *perf,
        *emulated,
        *programs.program_checks(distribution),
        *programs.library_checks(),
        cache(location()),
        *sources(tree, build or tree),
        running_kernel(distribution, os.uname().release),
    )


def cache(folder: Path) -> Check:
    """Whether layouts can be kept, and how much is."""
    purpose = "keeps layouts, access maps and scans, so that later commands start at once"
    remedy = "export LINESMITH_CACHE_DIR=/a/directory/that/can/be/written"
    existing = next(one for one in (folder, *folder.parents) if one.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Check(AREA, "cache", Readiness.MISSING, f"{folder} cannot be written", purpose, remedy)
    if folder.is_dir():
        try:
            cache_directory()
        except CacheError as error:
            return Check(AREA, "cache", Readiness.MISSING, str(error), purpose, remedy)
    used = sum(one.lstat().st_size for one in folder.rglob("*") if one.is_file()) if folder.is_dir() else 0
    free = shutil.disk_usage(existing).free
    said = f"{folder}: {used / _MIB:.0f} MiB used, {free / _MIB:.0f} MiB free"
    return Check(AREA, "cache", Readiness.READY, said, purpose)


def sources(tree: Path, build: Path) -> Iterator[Check]:
    """The tree and its configuration."""
    purpose = "source tree for `patch`, `encapsulate`, `inline`, `bench` and `tune` (read-only)"
    workers = ("patch", "encapsulate", "inline", "bench", "tune")
    release = _release(tree)
    if not release:
        remedy = "linesmith doctor --tree DIR"
        said = f"{tree.resolve()} is none"
        yield Check(AREA, "kernel tree", Readiness.MISSING, said, purpose, remedy, worked_on_by=workers)
        return
    yield Check(
        AREA, "kernel tree", Readiness.READY, f"Linux {release} in {tree.resolve()}", purpose, worked_on_by=workers
    )
    config = build / ".config"
    place = f"-C {shlex.quote(str(tree))}" + (f" O={shlex.quote(str(build.absolute()))}" if build != tree else "")
    purpose = "configuration of the build: commands compile with it"
    if config.is_file():
        yield Check(AREA, "configuration", Readiness.READY, str(config.resolve()), purpose)
    else:
        remedy = f"make {place} defconfig"
        yield Check(AREA, "configuration", Readiness.MISSING, f"no {config}", purpose, remedy)


def running_kernel(distribution: Distribution, release: str) -> Check:
    """The vmlinux of the kernel that runs here, as distributions install it."""
    purpose = "the ELF file for profiles of this machine's kernel"
    places = (f"/usr/lib/debug/boot/vmlinux-{release}", f"/usr/lib/debug/lib/modules/{release}/vmlinux")
    whole = next((place for place in places if Path(place).is_file()), None)
    if whole:
        return Check(AREA, "running kernel", Readiness.READY, whole, purpose)
    packaged = "debian" in distribution.words[:1] and Path(f"/boot/vmlinuz-{release}").is_file()
    remedy = distribution.install(f"linux-image-{release}-dbg") if packaged else ""
    if _BTF.is_file():
        said = f"{_BTF}: layouts only, no source lines and no code"
        return Check(AREA, "running kernel", Readiness.LIMITED, said, purpose, remedy)
    return Check(AREA, "running kernel", Readiness.MISSING, f"no debug information of {release}", purpose, remedy)


def _release(tree: Path) -> str:
    """The release of a kernel tree, as its Makefile begins; empty for anything else."""
    if not (tree / "Kbuild").is_file():
        return ""
    try:
        with (tree / "Makefile").open("rb") as file:
            head = file.read(_MAKEFILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return ".".join(value for _, value in _RELEASE.findall(head)[:3])
