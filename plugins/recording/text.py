# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a recording: a text of rows, one word for what a row is, then its fields (``docs/record.md`` has the form).

Also how it came about, as its profile says it, and the objects on its lines, from the dump of the guest's memory.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from linesmith.analyzer.base.errors import LinesmithError, NotRecorded
from linesmith.analyzer.model import Order, Profile, Recorded, Recording, Remark
from linesmith.plugins.api import SnapshotSource

_HEAD = "linesmith-recording 2"
_END = "end"


@dataclass(frozen=True, slots=True)
class LineRow:
    """A cache line on which CPUs met; ``space`` is ``k`` (kernel), ``u`` (user) or ``p`` (physical)."""

    address: int
    space: str
    loads: int
    stores: int
    first_cpu: int


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """One instruction at one place; ``kind`` is ``L``, ``S`` or ``A`` (atomic), offset and width are bytes."""

    line: int
    offset: int
    width: int
    ip: int
    kind: str


@dataclass(frozen=True, slots=True)
class AccessRow(InstructionRow):
    """Accesses by one instruction of one CPU to one place."""

    cpu: int
    hits: int
    hitm_local: int
    hitm_remote: int
    shared_miss: int
    cold_miss: int
    upgrade: int
    own_local: int
    own_remote: int
    invalidated: int


@dataclass(frozen=True, slots=True)
class PairRow(InstructionRow):
    """Misses of a victim for which one writer is to blame; offsets and widths are bytes in the line."""

    writer_offset: int
    writer_width: int
    writer_ip: int
    true_sharing: bool
    local: int
    remote: int
    shadowed: int = 0


@dataclass(frozen=True, slots=True)
class CallerRow(InstructionRow):
    """Contended accesses of one instruction to one place that were reached on one path of the recording."""

    path: int
    count: int


@dataclass(slots=True)
class RecordingText:
    """Every row of a recording, in its order; ``paths`` are where callers go on, the innermost first, by number."""

    settings: dict[str, str] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    lines: list[LineRow] = field(default_factory=list)
    accesses: list[AccessRow] = field(default_factory=list)
    pairs: list[PairRow] = field(default_factory=list)
    paths: dict[int, tuple[int, ...]] = field(default_factory=dict)
    callers: list[CallerRow] = field(default_factory=list)


def read_recording(path: Path) -> RecordingText:
    """The rows of the file at ``path``; raises ``NotRecorded`` when it is absent, cut off or damaged."""
    recording = RecordingText()
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            if file.readline().rstrip("\n") != _HEAD:
                raise NotRecorded(f"{path} does not begin with '{_HEAD}'; record again with this linesmith")
            for number, row in enumerate(file, 2):
                words = row.split()
                if words == [_END]:
                    return recording
                _take(recording, words, f"{path}:{number}")
    except FileNotFoundError as error:
        raise NotRecorded("QEMU ended without a recording; the region of interest was never reached") from error
    raise NotRecorded(f"{path} is truncated: its last row is not '{_END}'; free disk space and record again")


def _take(recording: RecordingText, words: list[str], place: str) -> None:
    """Put one row into the recording."""
    try:
        kind, row = words[0] if words else "", words[1:]
        match kind:
            case "set":
                recording.settings[row[0]] = " ".join(row[1:])
            case "node":
                recording.nodes[int(row[0])] = int(row[1])
            case "count":
                recording.counts[row[0]] = int(row[1])
            case "line":
                address, space, *numbers = row
                recording.lines.append(LineRow(int(address, 16), space, *map(int, numbers)))
            case "access":
                line, offset, width, ip, access, *numbers = row
                met = (int(line, 16), int(offset), int(width), int(ip, 16))
                recording.accesses.append(AccessRow(*met, access, *map(int, numbers)))
            case "pair":
                line, offset, width, ip, access, writer_offset, writer_width, writer_ip, sharing, *numbers = row
                victim = (int(line, 16), int(offset), int(width), int(ip, 16), access)
                writer = (int(writer_offset), int(writer_width), int(writer_ip, 16))
                recording.pairs.append(PairRow(*victim, *writer, sharing == "true", *map(int, numbers)))
            case "path":
                recording.paths[int(row[0])] = tuple(int(one, 16) for one in row[1:])
            case "caller":
                line, offset, width, ip, access, path, count = row
                met = (int(line, 16), int(offset), int(width), int(ip, 16))
                recording.callers.append(CallerRow(*met, access, int(path), int(count)))
            case _:
                raise ValueError("no row of this kind")
    except (ValueError, TypeError, IndexError) as error:
        raise NotRecorded(f"{place} cannot be understood ({error}); record again with this linesmith") from error


def circumstances(order: Order, text: RecordingText, on: str, qemu: str, build_id: str | None) -> Recording:
    """The settings and counts of a recording made ``on`` ``qemu`` or ``qemu-user``; ``qemu`` is its version.

    Raises ``NotRecorded`` when a setting is missing.
    """
    settings = text.settings
    nodes = tuple(node for _, node in sorted(text.nodes.items()))
    if settings.get("mode") != "system":
        # A program has as many CPUs as threads were seen.
        seen = max((row.cpu for row in text.accesses), default=0) + 1
        nodes = tuple(text.nodes.get(cpu, 0) for cpu in range(seen))
    try:
        return Recording(
            on=on,
            command=order.command,
            nodes=nodes,
            machine=settings["target"],
            line_bytes=int(settings["line_bytes"]),
            ring=settings["ring"],
            quantum=int(settings["quantum"]),
            interleave=settings["interleave"],
            seed=order.emulation.seed,
            cache_bytes=int(settings["cache_bytes"]),
            adjacent=settings["adjacent"] == "1",
            build_id=build_id,
            versions=(("qemu", qemu), ("host", platform.platform())),
            counts=tuple(text.counts.items()),
        )
    except (KeyError, ValueError) as error:
        raise NotRecorded(f"the recording lacks a setting ({error}); reinstall linesmith and record again") from error


def refuse_unnamed_objects(vmlinux: Path | None, source: SnapshotSource) -> None:
    """Raise ``NotRecorded`` before anything runs where the memory of a kernel could not be read afterwards."""
    if vmlinux is not None and (reason := source.obstacle()):
        raise NotRecorded(f"--vmlinux is to name the kernel's objects, and {reason}")


def with_objects(recorded: Recorded, vmlinux: Path | None, open_source: Callable[[], SnapshotSource]) -> Profile | None:
    """The profile with the objects that lay on its lines, where there is a memory dump to look at.

    ``open_source`` gives what reads the dump. When it cannot be read, a remark says why objects are not known.
    """
    profile = recorded.profile
    if profile is None or recorded.memory is None or vmlinux is None:
        return profile
    lines = [line for line in profile.lines if line.address is not None]
    addresses = {(line.address or 0) + (access.offset or 0) for line in lines for access in line.accesses}
    try:
        snapshot = open_source().read(recorded.memory, vmlinux, addresses)
    except LinesmithError as error:
        remark = Remark(f"objects are not known: {error}")
        return replace(profile, remarks=(*profile.remarks, remark))
    remarks = (*profile.remarks, *map(Remark, snapshot.remarks))
    return replace(profile, areas=snapshot.areas, remarks=remarks)
