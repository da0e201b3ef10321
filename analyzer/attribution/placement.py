# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the run-time addresses of a profile lie in the ELF file: builds, KASLR, load addresses, variables.

How far KASLR moved a sampled kernel is known from a symbol that the profile tells (its anchor), else solved from the
sampled code addresses alone. A pasted report names no build. But where every row's address lies in the function that
the row names, and on an instruction that touches memory, all by one and the same distance, no other build is meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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
# Kernels and programs are moved by whole pages.
PAGE = 4096
# So many places in the code, in so many functions, must agree; of a kernel one in each, at one of the 512 of KASLR.
PLACES = 6
FUNCTIONS = 3
# Fewer are enough if what they touch lies in the variables that their code names: places of code that do so.
_FEWEST = 2
# Share of the rows that must lie in their function, and of those on an instruction that touches memory: what a sample
# names is now and then the instruction behind (docs/access.md).
INSIDE = 0.95
TOUCHING = 0.8
# Addresses without names that must tell: of 512 distances, none makes so many touch memory by chance.
NAMELESS = 12
_INTO = re.compile(r"(?P<name>[\w.$]+)\+(?P<bytes>0x[0-9a-fA-F]+|\d+)")
_ANOTHER_BUILD = "the code addresses are not those of the ELF file; functions are matched by name"
_KERNEL_NAMES = ("[kernel.kallsyms]", "[kernel.vmlinux]", "vmlinux")
_WORD = 1 << 64


def _code_samples(profile: Profile, kernel: bool) -> dict[int, int]:
    """Samples by code address, of the kernel or of programs."""
    found: Counter[int] = Counter()
    for access in (access for line in profile.lines for access in line.accesses):
        if access.code_address is not None and access.kernel in (kernel, None):
            found[access.code_address] += access.records or 1
    return found


def _solved_slide(codes: Mapping[int, int], accesses: AccessMap) -> int | None:
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
        moved = _solved_slide(_code_samples(profile, kernel=True), accesses)
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
            page = mapping.offset // PAGE
            segment = next((one for one in symbols.segments if one.offset // PAGE == page), None)
            if segment is not None:
                moved.setdefault(mapping.pid, mapping.start - segment.address // PAGE * PAGE)
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


@dataclass(frozen=True, slots=True)
class _CodeRow:
    """A place in the code; ``spans`` are of the functions with its name, ``into`` its byte there (``name+12``)."""

    function: str
    address: int
    spans: tuple[tuple[int, int], ...]
    into: int | None

    def fits(self, distance: int) -> bool:
        """Whether the address, moved back by ``distance``, lies in the function, and where the report says."""
        place = self.address - distance
        return any(low <= place < high and self.into in (None, place - low) for low, high in self.spans)

    def distances(self) -> Iterator[int]:
        """The whole pages by which the function may have been moved."""
        for low, high in self.spans:
            if self.into is not None:
                yield from () if (self.address - self.into - low) % PAGE else (self.address - self.into - low,)
                continue
            last = (self.address - low) // PAGE
            first = -((high - 1 - self.address) // PAGE)
            yield from (page * PAGE for page in range(first, last + 1))


def with_linked_code(
    profile: Profile, accesses: AccessMap, kernel: bool, identity: ElfIdentity | None = None
) -> tuple[Profile, int | None]:
    """The profile with code addresses as in the ELF file, and by how many bytes they were moved, if they are of it.

    ``None`` tells that they were not found to be of its build. Addresses that do not fit are left out. Of a program's
    few, the symbols of ``identity`` may tell: variables were moved by the same distance.
    """
    rows = _rows(profile, accesses, kernel)
    distance = _distance(rows, accesses, kernel)
    if distance is None and _enough(rows, PLACES):
        return replace(profile, remarks=(*profile.remarks, Remark(_ANOTHER_BUILD))), None
    if distance is None and not kernel and identity is not None:
        distance = _by_variables(profile, rows, accesses, identity)
    if distance is None:
        return _with_names(profile, accesses) if kernel else (profile, None)
    fitting = dict.fromkeys(row.address for row in rows if row.fits(distance))
    words = (
        f"{len(fitting)} of {len(rows)} code addresses are those of the ELF file, moved by {distance:#x}: "
        "what each instruction touches is known"
    )
    return _linked(profile, fitting, distance, words), distance


def is_of_another_build(profile: Profile) -> bool:
    """Whether ``with_linked_code`` found that the report was taken on another build than the ELF file is of."""
    return any(remark.text == _ANOTHER_BUILD for remark in profile.remarks)


def _with_names(profile: Profile, accesses: AccessMap) -> tuple[Profile, int | None]:
    """The same for a report of a kernel that names no function: the code tells them, if it is of this build."""
    told = (access for line in profile.lines for access in line.accesses if access.kernel and not access.function)
    codes = {one.code_address: 1 for one in told if one.code_address is not None}
    distance = _solved_slide(codes, accesses) if len(codes) >= NAMELESS else None
    if distance is None:
        return profile, None
    rows = resolve(np.array(sorted(codes), np.uint64) - np.uint64(distance), accesses)
    names = {
        address: accesses.functions[int(accesses.function[row])]
        for address, row in zip(sorted(codes), rows, strict=True)
        if row != NO_ROW
    }
    words = (
        f"{len(names)} of {len(codes)} code addresses without a name are instructions of the ELF file that touch "
        f"memory, moved by {distance:#x}: it is taken for the same build"
    )
    return _linked(profile, names, distance, words), distance


def _linked(profile: Profile, places: Mapping[int, str | None], distance: int, words: str) -> Profile:
    """The profile with a remark, and with the code addresses among ``places`` as in the file, the others left out.

    The name of a function is put in where ``places`` tells it.
    """

    def linked(access: Access) -> Access:
        address = access.code_address
        if address is None or address not in places:
            return replace(access, code_address=None)
        return replace(access, code_address=address - distance, function=places[address] or access.function)

    lines = tuple(replace(line, accesses=tuple(map(linked, line.accesses))) for line in profile.lines)
    return replace(profile, lines=lines, remarks=(*profile.remarks, Remark(words)))


def _rows(profile: Profile, accesses: AccessMap, kernel: bool) -> list[_CodeRow]:
    """The distinct places in the code whose function the ELF file has."""
    told = [access for line in profile.lines for access in line.accesses if access.kernel in (kernel, None)]
    distinct = {(one.function, one.code_address): one for one in told if one.function and not one.symbol_cut}
    found = []
    for (function, address), access in distinct.items():
        numbers = accesses.functions.called(function) if function and address is not None else ()
        spans = tuple((int(accesses.function_low[one]), int(accesses.function_high[one])) for one in numbers)
        if spans and function and address is not None:
            match = _INTO.fullmatch(access.source or "")
            into = int(match["bytes"], 0) if match and match["name"] == function else None
            found.append(_CodeRow(function, address, spans, into))
    return found


def _distance(rows: list[_CodeRow], accesses: AccessMap, kernel: bool) -> int | None:
    """The distance that most rows agree on, if they are enough."""
    votes = Counter(distance for row in rows for distance in set(row.distances()))
    if not votes:
        return None
    best = max(votes, key=lambda distance: (votes[distance], distance % STEP == 0, -abs(distance)))
    fitting = [row for row in rows if row.fits(best)]
    linked = np.array([row.address - best for row in fitting], np.uint64)
    touching = int((resolve(linked, accesses) != NO_ROW).sum())
    right = len(fitting) >= INSIDE * len(rows) and touching >= TOUCHING * len(fitting)
    few = kernel and best % STEP == 0 and 0 <= best < ROOM
    return best if right and _enough(fitting, FUNCTIONS if few else PLACES) else None


def _by_variables(profile: Profile, rows: list[_CodeRow], accesses: AccessMap, identity: ElfIdentity) -> int | None:
    """The distance by which all code lies in its functions, and what it touches in the variables that it names."""
    possible = set.intersection(*(set(row.distances()) for row in rows)) if len(rows) >= _FEWEST else set[int]()
    symbols = read_symbols(identity) if possible else None
    for distance in sorted(possible, key=abs):
        met = set(_variables_met(profile, distance, accesses, symbols)) if symbols else set()
        inside = sum(within for _, _, within in met)
        if inside >= PLACES and inside >= INSIDE * len(met) and len({code for code, _, _ in met}) >= _FEWEST:
            return distance
    return None


def _variables_met(
    profile: Profile, distance: int, accesses: AccessMap, symbols: ElfSymbols
) -> Iterator[tuple[int, int, bool]]:
    """Addresses of code that touches a variable by its name, and of data; whether that is in the variable."""
    for line in profile.lines:
        for access in line.accesses:
            if access.code_address is None or access.offset is None or line.address is None:
                continue
            row = int(resolve(np.array([access.code_address - distance], np.uint64), accesses)[0])
            if row == NO_ROW or not accesses.variable[row]:
                continue
            data = line.address + access.offset - distance
            named = symbols.objects(accesses.variables[int(accesses.variable[row])])
            if named:
                yield access.code_address, data, any(one.address <= data < one.address + one.size for one in named)


def _enough(rows: list[_CodeRow], places: int) -> bool:
    return len(rows) >= places and len({row.function for row in rows}) >= FUNCTIONS
