# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a profile of a recording: rows grouped by line and instruction, code addresses named.

The names are those of a guest's kernel, or of a program with its libraries.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from linesmith.analyzer.base.elf import Segment
from linesmith.analyzer.base.errors import ElfError, NotRecorded
from linesmith.analyzer.model import (
    MOST_CALL_PATHS,
    MOST_CALLERS,
    Access,
    CacheLine,
    CallPath,
    Conflict,
    Misses,
    Profile,
    Recording,
    Remark,
)
from linesmith.plugins.machines.elf_image import SymbolTable, code_symbols, kallsyms_symbols, read_elf
from linesmith.plugins.machines.user import MappedRange
from linesmith.plugins.recording.text import AccessRow, CallerRow, LineRow, PairRow, RecordingText

_KERNEL_HALF = 1 << 63
# A kernel has many thousand lines that two CPUs met on once or twice, as pages go from one to the other. Together they
# matter, so that they are listed with what met on them, but without accesses that only hit.
WHOLE_LINES = 4096
MOST_LINES = 32768
# Accesses and conflicts; some 280 bytes each in the file, of which no more than 256 MiB are read back.
WHOLE_ROWS = 400_000
MOST_ROWS = 800_000
# Where a kernel is entered: what ran before did not call it. Source: arch/x86/entry, arch/arm64/kernel/entry.S.
_ENTRY = re.compile(r"asm_|entry_|el[01]t?_|el[01]t?h?_\d+_|ret_from_|vectors$|error_entry|common_interrupt")


@dataclass(frozen=True, slots=True)
class CodeName:
    """Where an instruction lies: its function and file, as far as symbols say, and how far above its place there."""

    function: str | None = None
    object_file: str | None = None
    moved: int = 0


Naming = Callable[[int], CodeName]


def to_profile(
    text: RecordingText, recording: Recording, naming: Naming, source: str, remarks: Iterable[str] = ()
) -> Profile:
    """The lines with misses for which another CPU is to blame, hottest first; ``naming`` names code addresses."""
    accesses, pairs, callers = _by_line(text.accesses), _by_line(text.pairs), _by_line(text.callers)
    # Each address, and each path, is named once.
    names = cache(naming)
    paths = cache(lambda number: tuple(_functions(text.paths.get(number, ()), names)))
    lines = [
        _line(row, accesses[row.address], pairs[row.address], names, recording, _reached(callers[row.address], paths))
        for row in text.lines
    ]
    hot = sorted((line for line in lines if line.contended), key=lambda line: (-line.contended, line.address or 0))
    total = sum(line.contended for line in hot)
    listed = _as_there_is_room(hot)
    ranked = tuple(replace(line, rank=rank, share=line.contended / total) for rank, line in enumerate(listed, 1))
    left_out = hot[len(listed) :]
    if left_out:
        share = sum(line.contended for line in left_out) / total
        below = f"{len(left_out):,} lines with {share:.1%} of all contended accesses are below those in the profile"
        remarks = (*remarks, below)
    return Profile(
        source=source,
        title="",
        display="hitm",
        lines=ranked,
        remarks=tuple(map(Remark, remarks)),
        totals=tuple(sorted(text.counts.items())),
        recording=recording,
    )


def _as_there_is_room(hot: Sequence[CacheLine]) -> list[CacheLine]:
    """The hottest lines, whole as long as there is room for that, then bare."""
    listed: list[CacheLine] = []
    rows = 0
    for line in hot[:MOST_LINES]:
        whole = len(listed) < WHOLE_LINES and rows + _rows(line) <= WHOLE_ROWS
        one = line if whole else replace(line, accesses=tuple(one for one in line.accesses if one.contended))
        rows += _rows(one)
        if rows > MOST_ROWS:
            break
        listed.append(one)
    return listed


def _rows(line: CacheLine) -> int:
    return len(line.accesses) + len(line.conflicts)


RowT = TypeVar("RowT", AccessRow, PairRow, CallerRow)


def _by_line(rows: Sequence[RowT]) -> defaultdict[int, list[RowT]]:
    grouped: defaultdict[int, list[RowT]] = defaultdict(list)
    for row in rows:
        grouped[row.line].append(row)
    return grouped


# Where an access goes: offset, width, instruction, kind. How often it was reached from which callers.
_Place = tuple[int, int, int, str]
_Reached = Counter[tuple[str, ...]]


def _functions(returns: Sequence[int], names: Naming) -> Iterator[str]:
    """The functions of the calls that return to these addresses, up to where the kernel was entered."""
    for address in returns:
        # The last instruction of a function may be a call that does not return.
        function = names(address - 1).function
        if function is None:
            return
        yield function
        if _ENTRY.match(function):
            return


def _reached(rows: Sequence[CallerRow], paths: Callable[[int], tuple[str, ...]]) -> dict[_Place, _Reached]:
    """How often each access of a line was reached on which path."""
    found: defaultdict[_Place, _Reached] = defaultdict(Counter)
    for row in rows:
        found[row.offset, row.width, row.ip, row.kind][paths(row.path)] += row.count
    return found


def _call_paths(function: str | None, reached: _Reached) -> tuple[CallPath, ...]:
    """Who called the function, without the function itself."""
    counts = _Reached()
    for path, count in reached.items():
        others = dict.fromkeys(one for one in path if one != function)
        counts[tuple(others)[:MOST_CALLERS]] += count
    return tuple(CallPath(path, count) for path, count in counts.most_common(MOST_CALL_PATHS) if path)


def _line(
    row: LineRow,
    rows: Sequence[AccessRow],
    pairs: Sequence[PairRow],
    names: Naming,
    recording: Recording,
    reached: Mapping[_Place, _Reached],
) -> CacheLine:
    groups: defaultdict[_Place, list[AccessRow]] = defaultdict(list)
    for one in rows:
        groups[one.offset, one.width, one.ip, one.kind].append(one)
    none = _Reached()
    accesses = [_access(group, names, recording.nodes, reached.get(place, none)) for place, group in groups.items()]
    accesses.sort(key=lambda one: (one.offset or 0, -one.contended, one.code_address or 0))
    conflicts = sorted((_conflict(one, names) for one in pairs), key=lambda one: (-one.misses, one.offset))
    return CacheLine(
        rank=0,
        address=row.address,
        accesses=tuple(accesses),
        bytes=recording.line_bytes,
        hitm_remote=sum(one.hitm_remote or 0 for one in accesses),
        hitm_local=sum(one.hitm_local or 0 for one in accesses),
        stores_l1_hit=sum(one.stores_l1_hit or 0 for one in accesses),
        stores_l1_miss=sum(one.stores_l1_miss or 0 for one in accesses),
        taken=sum(one.taken or 0 for one in accesses),
        records=row.loads + row.stores,
        loads=row.loads,
        conflicts=tuple(conflicts),
        misses=_misses(rows),
    )


def _misses(rows: Sequence[AccessRow]) -> Misses:
    return Misses(
        hitm_local=sum(one.hitm_local for one in rows),
        hitm_remote=sum(one.hitm_remote for one in rows),
        shared=sum(one.shared_miss for one in rows),
        upgrade=sum(one.upgrade for one in rows),
        taken_local=sum(one.own_local for one in rows),
        taken_remote=sum(one.own_remote for one in rows),
        cold=sum(one.cold_miss for one in rows),
    )


def _access(rows: Sequence[AccessRow], names: Naming, nodes: Sequence[int], reached: _Reached) -> Access:
    """Rows of one instruction and place, one a CPU, as one row. An atomic update counts as a store."""
    first = rows[0]
    place = names(first.ip)
    loads = first.kind == "L"
    taken = sum(one.own_local + one.own_remote for one in rows)
    hits = sum(one.hits for one in rows)
    missed = taken + sum(one.shared_miss + one.cold_miss + one.upgrade for one in rows)
    hitm_local, hitm_remote = sum(one.hitm_local for one in rows), sum(one.hitm_remote for one in rows)
    cpus = {one.cpu for one in rows}
    return Access(
        offset=first.offset,
        function=place.function,
        hitm_remote=hitm_remote,
        hitm_local=hitm_local,
        stores_l1_hit=0 if loads else hits,
        stores_l1_miss=0 if loads else missed,
        records=hits + missed + hitm_local + hitm_remote,
        cpus=len(cpus),
        code_address=first.ip - place.moved,
        object_file=place.object_file,
        nodes=_nodes(cpus, nodes),
        kernel=first.ip >= _KERNEL_HALF,
        width=first.width,
        taken=taken,
        call_paths=_call_paths(place.function, reached),
    )


def _nodes(cpus: Iterable[int], nodes: Sequence[int]) -> str:
    """The CPUs of each node, as ``perf c2c report -NN`` lists them: ``0{0,1},1{4}``."""
    by_node: defaultdict[int, list[int]] = defaultdict(list)
    for cpu in sorted(cpus):
        if cpu < len(nodes):
            by_node[nodes[cpu]].append(cpu)
    return ",".join(f"{node}{{{','.join(map(str, mine))}}}" for node, mine in sorted(by_node.items()))


def _conflict(row: PairRow, names: Naming) -> Conflict:
    victim, writer = names(row.ip), names(row.writer_ip)
    return Conflict(
        offset=row.offset,
        width=row.width,
        function=victim.function,
        writer_offset=row.writer_offset,
        writer_width=row.writer_width,
        writer_function=writer.function,
        true_sharing=row.true_sharing,
        local=row.local,
        remote=row.remote,
        shadowed=row.shadowed,
        stores=row.kind != "L",
        code_address=row.ip - victim.moved,
        writer_code_address=row.writer_ip - writer.moved,
    )


def address_of(function: str, symbols: SymbolTable, file: Path) -> str:
    """The address of a function of ``file``, hexadecimal as QEMU's plugin takes it; raises ``NotRecorded``."""
    address = symbols.address_of(function)
    if address is None:
        raise NotRecorded(f"{file} has no function {function}; name one that `nm` lists")
    return f"{address:x}"


@dataclass(frozen=True, slots=True)
class KernelNames:
    """Symbols of a kernel; ``remarks`` say what is missing."""

    code: SymbolTable
    object_file: str | None
    remarks: tuple[str, ...] = ()

    def __call__(self, address: int) -> CodeName:
        """The function at a kernel address; nothing for the addresses of programs."""
        found = self.code.at(address) if address >= _KERNEL_HALF else None
        return CodeName(found.name if found else None, self.object_file if found else None)


def of_vmlinux(vmlinux: Path) -> KernelNames:
    """Names from the ELF file of the kernel; raises ``ElfError``."""
    return KernelNames(SymbolTable(code_symbols(vmlinux)), vmlinux.name)


def of_kallsyms(text: str) -> KernelNames:
    """Names from the guest's own ``/proc/kallsyms``."""
    table = SymbolTable(kallsyms_symbols(text))
    missing = "no --vmlinux was given: functions are named by the guest's /proc/kallsyms, objects in memory are not"
    nothing = "no --vmlinux was given and the guest has no /proc/kallsyms: code is shown by address only"
    if not table.symbols:
        return KernelNames(table, None, (nothing,))
    return KernelNames(table, "vmlinux", (missing,))


@dataclass(frozen=True, slots=True)
class _NamedFile:
    """The code symbols of a mapped file; a file that is no ELF file names nothing."""

    segments: tuple[Segment, ...]
    code: SymbolTable

    @classmethod
    def at_path(cls, path: Path) -> _NamedFile:
        """Read the file."""
        try:
            return cls(read_elf(path).segments, SymbolTable(code_symbols(path)))
        except ElfError:
            return cls((), SymbolTable(()))

    def at(self, offset: int) -> str | None:
        """The function that the byte at ``offset`` of the file belongs to."""
        for one in self.segments:
            if one.is_loaded and one.offset <= offset < one.offset + one.file_bytes:
                found = self.code.at(one.address + offset - one.offset)
                return found.name if found else None
        return None


class ProgramNames:
    """Answers for every file that was mapped; a file is read when an address in it is first asked for.

    ``program`` is the file whose code gets the addresses that it has there, ``moved`` bytes below.
    """

    def __init__(self, mappings: Sequence[MappedRange], program: Path, moved: int) -> None:
        self._program, self._moved = str(program), moved
        self._mappings = sorted(mappings, key=lambda one: one.start)
        self._starts = [one.start for one in self._mappings]
        self._files: dict[str, _NamedFile] = {}

    def __call__(self, address: int) -> CodeName:
        """The function at an address, and the file that it is from."""
        place = bisect_right(self._starts, address) - 1
        if place < 0 or address >= self._mappings[place].end:
            return CodeName()
        mapping = self._mappings[place]
        if mapping.path not in self._files:
            self._files[mapping.path] = _NamedFile.at_path(Path(mapping.path))
        function = self._files[mapping.path].at(address - mapping.start + mapping.offset)
        moved = self._moved if mapping.path == self._program else 0
        return CodeName(function, Path(mapping.path).name, moved)
