# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the run-time addresses of a sampled profile lie in the ELF file: builds, KASLR, load addresses, variables.

How far KASLR moved a kernel is known from a symbol that the profile tells (its anchor), else solved from the sampled
code addresses alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import PurePath

import numpy as np

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import NO_ROW, resolve
from linesmith.analyzer.attribution.variables import ObjectMap, Shift, variable_areas
from linesmith.analyzer.base.elf import ElfSymbols, read_symbols
from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Access, CacheLine, ElfIdentity, Profile, Remark, Sampling

# x86 moves its kernel by multiples of 2 MiB within 1 GiB (arch/x86/boot/compressed/kaslr.c).
STEP, ROOM = 2 << 20, 1 << 30
# Instructions of other code that happen to touch memory: well below one half (docs/profiles.md).
PLAUSIBLE = 0.8


def _code_samples(profile: Profile, kernel: bool) -> dict[int, int]:
    """Samples by code address, of the kernel or of programs."""
    found: dict[int, int] = {}
    for line in profile.lines:
        for access in line.accesses:
            if access.code_address is not None and access.kernel in (kernel, None):
                found[access.code_address] = found.get(access.code_address, 0) + (access.records or 1)
    return found


def solved_slide(codes: Mapping[int, int], accesses: AccessMap) -> int | None:
    """The multiple of 2 MiB by which moved most instructions are ones that touch memory; bytes.

    ``codes`` are samples by code address. ``None`` where no distance makes four fifths of them such instructions.
    """
    if not codes:
        return None
    address = np.array(sorted(codes), np.uint64)
    times = np.array([codes[int(one)] for one in address])
    hits = {
        step: int(times[resolve(address - np.uint64(step), accesses) != NO_ROW].sum()) for step in range(0, ROOM, STEP)
    }
    best = max(hits, key=lambda step: hits[step])
    return best if hits[best] >= PLAUSIBLE * times.sum() else None


_KERNEL_NAMES = ("[kernel.kallsyms]", "[kernel.vmlinux]", "vmlinux")
_PAGE = 4096
_WORD = 1 << 64


class Trust(StrEnum):
    """What of a profile counts whose build-id is not that of the ELF file: nothing, its addresses, or its names."""

    BUILD_ID = "build-id"
    LAYOUT = "layout"
    SYMBOLS = "symbols"


def placed(
    profile: Profile,
    identity: ElfIdentity,
    layouts: Layouts,
    accesses: AccessMap | None,
    kernel: bool,
    trust: Trust = Trust.BUILD_ID,
) -> Profile:
    """A profile with code addresses and names of functions as in the ELF file, and its variables as ``areas``.

    Addresses of lines stay those at run time. ``sampling.build_id`` is then that of the file. A recording of this
    build that has no objects gets its variables; other profiles than sampled ones are returned as they are. Raises
    ``ProfileError`` unless ``trust`` says what to go by.
    """
    sampling, recording = profile.sampling, profile.recording
    if recording and recording.moved is not None and recording.build_id == identity.build_id and not profile.areas:
        return with_variables(profile, identity, layouts, accesses, kernel, recording.moved)
    if sampling is None or (profile.areas and sampling.build_id):
        return profile
    refuse_other_samples(profile, identity, kernel, trust)
    if trust is Trust.SYMBOLS:
        return replace(profile, lines=_without_code(profile.lines))
    symbols = read_symbols(identity)
    shift = _kernel_shift(profile, symbols, accesses) if kernel else _program_shift(sampling, symbols, identity)
    if shift is None:
        return replace(profile, remarks=(*profile.remarks, Remark(_not_placed(profile, identity, kernel))))
    lines = (
        replace(line, accesses=tuple(_as_linked(access, line, shift, symbols, kernel) for access in line.accesses))
        for line in profile.lines
    )
    moved = replace(profile, lines=tuple(lines))
    share = _plausible(moved, accesses, kernel)
    if share is not None and share < PLAUSIBLE:
        words = (
            f"only {share:.0%} of the samples are of instructions that touch memory in the ELF file, so it is of "
            "another build; names of functions must do"
        )
        return replace(profile, lines=_without_code(profile.lines), remarks=(*profile.remarks, Remark(words)))
    known = ObjectMap(profile.areas)
    areas = variable_areas(moved, symbols, layouts, accesses, shift, kernel)
    areas = tuple(area for area in areas if known.at(area.address) is None)
    build_id = identity.build_id or "none"
    return replace(moved, areas=(*profile.areas, *areas), sampling=replace(sampling, build_id=build_id))


def with_variables(
    profile: Profile, identity: ElfIdentity, layouts: Layouts, accesses: AccessMap | None, kernel: bool, distance: int
) -> Profile:
    """A profile of this very build, moved by ``distance`` bytes, with its variables as ``areas``."""
    symbols = read_symbols(identity)
    image = _image(symbols, kernel)
    if image is None:
        return profile

    def shift(address: int, _: int | None) -> int | None:
        return distance if address - distance in image else None

    return replace(profile, areas=variable_areas(profile, symbols, layouts, accesses, shift, kernel))


def _image(symbols: ElfSymbols, kernel: bool) -> range | None:
    """What the file takes of its addresses when it is loaded; ``None`` where it does not say."""
    if kernel:
        begin, end = symbols.address_of("_text"), symbols.address_of("_end")
        return None if begin is None or end is None else range(begin, end)
    parts = symbols.segments
    return (
        range(min(one.address for one in parts), max(one.address + one.memory_bytes for one in parts))
        if parts
        else None
    )


def refuse_other_samples(profile: Profile, identity: ElfIdentity, kernel: bool, trust: Trust) -> None:
    """Raises ``ProfileError`` where the samples are of another build and ``trust`` does not say what to go by."""
    sampling = profile.sampling
    if sampling is None or (profile.areas and sampling.build_id) or trust is not Trust.BUILD_ID:
        return
    recorded = _recorded_build(sampling, identity, kernel)
    if recorded is not None and identity.build_id is not None and recorded != identity.build_id:
        raise ProfileError(
            f"{profile.source} was recorded on build-id {recorded}, but {identity.path} has {identity.build_id};"
            " give the ELF file of the same build, or add --assume-same-layout (match by address) or --by-symbol"
            " (match by name)"
        )


def _recorded_build(sampling: Sampling, identity: ElfIdentity, kernel: bool) -> str | None:
    """The build-id that the profile tells of the kernel or of the program."""
    if kernel:
        found = (one.build_id for one in sampling.builds if one.path.startswith(_KERNEL_NAMES))
        return next(found, None)
    same = [one for one in sampling.builds if one.build_id == identity.build_id]
    named = [one for one in sampling.builds if _is_named_as(one.path, identity)]
    return next((one.build_id for one in (*same, *named)), None)


def _is_named_as(path: str, identity: ElfIdentity) -> bool:
    return PurePath(path).name == PurePath(identity.path).name


def _not_placed(profile: Profile, identity: ElfIdentity, kernel: bool) -> str:
    if kernel and all(access.kernel is False for line in profile.lines for access in line.accesses):
        return f"no sample on a shared line is in kernel code; give the program that was sampled, not {identity.path}"
    if kernel:
        return "nothing tells how far the kernel was moved, so that its addresses are not looked up; names must do"
    return f"the profile tells of no process that had {PurePath(identity.path).name} mapped; names of functions must do"


def _without_code(lines: Iterable[CacheLine]) -> tuple[CacheLine, ...]:
    return tuple(
        replace(line, accesses=tuple(replace(access, code_address=None) for access in line.accesses)) for line in lines
    )


def _kernel_shift(profile: Profile, symbols: ElfSymbols, accesses: AccessMap | None) -> Shift | None:
    """How far the kernel was moved, by its anchor, else by its code."""
    anchor = profile.sampling.anchor if profile.sampling else None
    linked = symbols.address_of(anchor[0]) if anchor else None
    moved = None
    if anchor and linked is not None:
        moved = anchor[1] - linked
    elif accesses is not None:
        moved = solved_slide(_code_samples(profile, kernel=True), accesses)
    image = _image(symbols, kernel=True)
    if moved is None or image is None:
        return None
    return lambda address, _: moved if address - moved in image else None


def _program_shift(sampling: Sampling, symbols: ElfSymbols, identity: ElfIdentity) -> Shift | None:
    """How far the file was moved in each process that had it mapped."""
    builds = {one.path: one.build_id for one in sampling.builds}
    moved: dict[int, int] = {}
    ends: dict[int, int] = {}
    last = max((one.address + one.memory_bytes for one in symbols.segments), default=0)
    for mapping in sampling.mappings:
        if builds.get(mapping.path) == identity.build_id or _is_named_as(mapping.path, identity):
            # From the segment's address in the file to where it is mapped; 0 for programs that are not moved.
            page = mapping.offset // _PAGE
            segment = next((one for one in symbols.segments if one.offset // _PAGE == page), None)
            if segment is not None:
                moved.setdefault(mapping.pid, mapping.start - segment.address // _PAGE * _PAGE)
                ends[mapping.pid] = last + moved[mapping.pid]
    if not moved:
        return None

    def shift(address: int, pid: int | None) -> int | None:
        """Code that processes share has the address that it has in the first of them."""
        for one in (*((pid,) if pid in moved else ()), *moved):
            if moved[one] <= address < ends[one]:
                return moved[one]
        return None

    return shift


def _as_linked(access: Access, line: CacheLine, shift: Shift, symbols: ElfSymbols, kernel: bool) -> Access:
    """The access with its code address and function as in the file, if its code is in there."""
    if access.code_address is None or access.kernel not in (kernel, None):
        return access
    distance = shift(access.code_address, line.pid)
    if distance is None:
        return access
    linked = access.code_address - distance
    function = symbols.function_at(linked)

    def caller(returns: int) -> str | None:
        away = shift(returns, line.pid)
        found = None if away is None else symbols.function_at(returns - away - 1)
        return found.name if found else None

    return replace(
        access,
        code_address=linked,
        function=function.name if function else access.function,
        call_paths=tuple(one.named(caller) for one in access.call_paths),
    )


def _plausible(profile: Profile, accesses: AccessMap | None, kernel: bool) -> float | None:
    """Share of the samples in the file's code that are of instructions that touch memory."""
    if accesses is None:
        return None
    codes = _code_samples(profile, kernel)
    address = np.array(sorted(codes), np.uint64)
    times = np.array([codes[int(one)] for one in address], np.int64)
    low, high = accesses.function_low.min(initial=_WORD - 1), accesses.function_high.max(initial=0)
    inside = (address >= low) & (address < high)
    total = int(times[inside].sum())
    return int(times[inside & (resolve(address, accesses) != NO_ROW)].sum()) / total if total else None
