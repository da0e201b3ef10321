# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks every part of a kernel's memory in turn what lies at an address."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import drgn
import msgspec

from linesmith.analyzer.base.errors import SnapshotError, ToolMissing, install_command
from linesmith.analyzer.model import ObjectArea, Snapshot
from linesmith.plugins.snapshots.areas import BootMemory, PerCpuChunks, stacks, vmalloc
from linesmith.plugins.snapshots.kernel import opened
from linesmith.plugins.snapshots.object_types import KernelMemory, typed
from linesmith.plugins.snapshots.pages import DirectMap, Slabs
from linesmith.plugins.snapshots.pointers import KernelRecords
from linesmith.plugins.snapshots.variables import Modules, Variables

Finder = Callable[[int], ObjectArea | None]


def snapshot(memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
    """The areas of the kernel ``vmlinux`` in ``memory`` that hold ``addresses``; see ``SnapshotSource``."""
    program = opened(memory, vmlinux)
    records = KernelRecords(program)
    slabs = Slabs(program, records.size)
    variables = Variables(program)
    direct = DirectMap(program, slabs, variables)
    typed_memory = KernelMemory(program, variables, direct)
    boot = BootMemory(typed_memory, direct, records.size)
    areas = areas_of(addresses, (*_special(program, variables), direct.frame, boot.area, direct.area))
    areas = typed(areas, addresses, typed_memory, records)
    remarks = () if slabs.readable else ("only the SLUB allocator is read; slab objects of this kernel have no names",)
    build_id = program.main_module().build_id
    return Snapshot(
        source=str(memory),
        areas=areas,
        kernel_release=program["init_uts_ns"].name.release.string_().decode("utf-8", "backslashreplace"),
        build_id=build_id and build_id.hex(),
        remarks=remarks,
    )


def areas_of(addresses: Iterable[int], finders: Collection[Finder]) -> tuple[ObjectArea, ...]:
    """The areas that hold ``addresses``, by address; the first finder that knows one is believed."""
    found: list[ObjectArea] = []
    for address in sorted(set(addresses)):
        if found and address < found[-1].end:
            continue
        area = next((area for finder in finders if (area := finder(address)) is not None), None)
        found.extend(() if area is None else _beside(found, area))
    return tuple(found)


def _beside(found: list[ObjectArea], area: ObjectArea) -> tuple[ObjectArea, ...]:
    """``area`` where it does not overlap the last one; of memory known by its pages only, what the other leaves."""
    last = found[-1] if found else None
    if last is None or area.address >= last.end:
        return (area,)
    if _is_bare(last) and area.address > last.address:
        found[-1] = _part(last, last.address, area.address)
        return (area,)
    return (_part(area, last.end, area.end),) if _is_bare(area) else ()


def _is_bare(area: ObjectArea) -> bool:
    return not area.types and area.count == 1


def _part(area: ObjectArea, start: int, end: int) -> ObjectArea:
    return replace(area, address=start, size=end - start, stride=end - start)


def _special(program: drgn.Program, variables: Variables) -> tuple[Finder, ...]:
    """What has to be asked before the direct map and vmalloc memory, since it may lie within them."""
    task_stacks = stacks(program)
    return (
        task_stacks.area,
        variables.image,
        variables.per_cpu,
        PerCpuChunks(program).area,
        Modules(program).area,
        vmalloc(program, task_stacks).area,
    )


# Reads a memory dump of a kernel, or the running kernel, with drgn.


class DrgnMemory:
    """Names objects in memory by the kernel's own records (https://drgn.readthedocs.io)."""

    name = "drgn"

    def read(self, memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
        """The areas that hold ``addresses``; see ``SnapshotSource``."""
        # Loaded on use: everything else works without drgn.
        try:
            import drgn
        except ImportError as error:
            raise ToolMissing(
                f"naming objects in memory needs drgn ({error}); install it with: {install_command('snapshot')}"
            ) from error

        try:
            return snapshot(memory, vmlinux, addresses)
        except (LookupError, AttributeError, ValueError, drgn.FaultError, drgn.BadDataError) as error:
            # Kernels move their records; drgn and this reader know them up to their own release.
            raise SnapshotError(
                f"drgn {version('drgn')} cannot find its way in {memory} ({error}); a newer drgn may know this kernel"
            ) from error


# Snapshots as files: the map of objects alone, without a byte of the memory they lie in.

VERSION = 1
_MOST_BYTES = 1 << 30
_ADDRESSES = 1 << 64


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    """The file: its version, then the snapshot as the model has it."""

    version: int = msgspec.field(name="linesmith-snapshot")
    snapshot: Snapshot


class _Head(msgspec.Struct):
    version: int = msgspec.field(name="linesmith-snapshot")


def encode(snapshot: Snapshot) -> bytes:
    """The document for a snapshot: one line of UTF-8 JSON with a newline."""
    return msgspec.json.encode(_Document(VERSION, snapshot)) + b"\n"


def read_snapshot(path: Path) -> Snapshot:
    """The snapshot in a file; raises ``SnapshotError`` when it is none, is damaged or of another version."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SnapshotError(f"cannot read the snapshot {path}: {error.strerror}; name another file") from error
    if len(data) > _MOST_BYTES:
        raise SnapshotError(f"{path} is larger than any snapshot; give what `linesmith snapshot` wrote")
    return _decoded(data, path)


def _decoded(data: bytes, path: Path) -> Snapshot:
    try:
        version = msgspec.json.decode(data, type=_Head).version
        if version != VERSION:
            raise SnapshotError(
                f"{path} is a snapshot of linesmith in version {version}, but this linesmith reads version {VERSION}; "
                "take it again, or use the linesmith that wrote it"
            )
        snapshot = msgspec.json.decode(data, type=_Document).snapshot
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SnapshotError(
            f"{path} is no snapshot, or a damaged one ({error}); give what `linesmith snapshot` wrote"
        ) from error
    if not all(map(_is_in_memory, snapshot.areas)):
        raise SnapshotError(f"{path} has an object of no size or beyond all addresses; take it again")
    return snapshot


def _is_in_memory(area: ObjectArea) -> bool:
    return min(area.size, area.stride, area.count) > 0 and 0 <= area.address < area.end <= _ADDRESSES
