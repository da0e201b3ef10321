# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map beside perf's data type profiling, on the same samples in one run.

    python tests/bench/access_against_perf.py RECORDING... [--perf PERF] [--vmlinux VMLINUX] [--list 20]

Recordings are those of ``perf record -e cpu-clock`` or any other event; perf must be 6.8 or later. A kernel must have
run where its vmlinux says (``nokaslr``). Printed are, by samples and by distinct addresses: how many touch memory,
which of them each side knows the type of, how often both agree, every kind of disagreement, what each took, and our
samples per second. perf names the type of the innermost variable, we the outermost type: they agree when one type lies
in the other one at that place.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from fused_branches import LONGEST_INSTRUCTION, in_front, is_address_only, is_conditional_jump
from loaded_file import LoadedFile
from perf_types import PerfAnswer, PerfReport, knows_types, typed
from type_spots import Naming, Relation, relation

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import resolve
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.layouts import dwarf
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import AccessOutcome, CodeAccess

NAMELESS = "(unknown type)"  # what perf calls records that only a typedef or a variable names
# %fs:0x28 or %gs:0x28 without a register: the SIB byte, then the number.
STACK_PROTECTOR = b"\x25\x28\x00\x00\x00"
TIMED_SAMPLES = 4_000_000


@dataclass(frozen=True, slots=True)
class Compared:
    """One sampled instruction: what perf says, what we say (nothing: no memory is touched), and how they relate.

    ``protector`` tells that the stack protector's word is read, ``nothing`` that no memory is touched for sure: an
    address is computed (``lea``), or perf has gone on to the instruction in front as if both were one, which only
    comparisons and jumps are.
    """

    perf: PerfAnswer
    ours: CodeAccess | None
    relation: Relation | None
    protector: bool
    nothing: bool

    @property
    def named_by_perf(self) -> bool:
        """Whether perf names a type; one without a name is none."""
        return self.perf.type not in (None, NAMELESS) and not self.perf.stack_operation

    @property
    def named_by_us(self) -> bool:
        """Whether we name a type."""
        return self.ours is not None and self.ours.outcome.resolved

    @property
    def frame(self) -> bool:
        """Whether only the function's own frame is touched, as either side has it."""
        return self.perf.stack_operation or (self.ours is not None and self.ours.outcome is AccessOutcome.STACK)

    @property
    def counts(self) -> bool:
        """Whether memory other than the frame is touched, as either side has it."""
        if self.frame or self.protector or self.nothing:
            return False
        return self.ours is not None or self.named_by_perf

    @property
    def assembly(self) -> bool:
        """Whether the code was not compiled from C, so that nobody can know types."""
        return self.ours is not None and (
            self.ours.outcome is AccessOutcome.NO_TYPES or Path(self.ours.file).suffix in (".S", ".s")
        )


def main() -> None:
    """Compare, and print."""
    options = _options()
    if not knows_types(options.perf):
        print(f"skipped: {options.perf} is no perf that can sort by data type; 6.8 or later is needed", file=sys.stderr)
        return
    everything: list[Compared] = []
    for recording in options.recording:
        report = typed(options.perf, recording, options.vmlinux)
        compared = compare(report)
        print(f"\n{recording.name}")
        show(compared, options.list)
        show_cost(report, compared)
        everything += compared
    if len(options.recording) > 1:
        print("\nall recordings")
        show(everything, 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", nargs="+", type=Path)
    parser.add_argument("--perf", default="perf")
    parser.add_argument("--vmlinux", type=Path)
    parser.add_argument("--list", type=int, default=0, help="how many disagreements to show")
    return parser.parse_args()


def compare(report: PerfReport) -> list[Compared]:
    """Both answers for each sampled instruction in a file whose code we can map."""
    by_file: dict[str, list[PerfAnswer]] = {}
    for answer in report.answers:
        by_file.setdefault(answer.file, []).append(answer)
    return [one for file, answers in by_file.items() for one in _compare_file(Path(file), answers)]


def _compare_file(file: Path, answers: Sequence[PerfAnswer]) -> list[Compared]:
    try:
        accesses, layouts = read_accesses(file).accesses, dwarf.read_layouts(file).layouts
    except LinesmithError as error:
        print(f"left out: {error}", file=sys.stderr)
        return []
    code = LoadedFile(file)
    return [_compared(answer, accesses, layouts, code) for answer in answers]


def _compared(answer: PerfAnswer, accesses: AccessMap, layouts: Layouts, code: LoadedFile) -> Compared:
    here = code.bytes_at(answer.address, LONGEST_INSTRUCTION)
    ours, before = _access_at(answer.address, accesses), _access_in_front(answer.address, accesses, code)
    if ours is None and is_conditional_jump(here):
        ours = before
    nothing = ours is None and (is_address_only(here) or before is not None)
    found = Compared(answer, ours, None, STACK_PROTECTOR in here[:LONGEST_INSTRUCTION], nothing)
    if ours is None or ours.type is None or answer.type is None or not (found.named_by_perf and found.named_by_us):
        return found
    theirs = Naming(answer.type, answer.offset, answer.field)
    return replace(found, relation=relation(theirs, Naming(ours.type, ours.offset or 0), layouts))


def _access_in_front(address: int, accesses: AccessMap, code: LoadedFile) -> CodeAccess | None:
    """The access of a comparison, or another instruction that can fuse with a jump, that ends at ``address``."""
    near = np.searchsorted(accesses.address, (np.uint64(address - LONGEST_INSTRUCTION), np.uint64(address)))
    comparison = in_front(address, [int(one) for one in accesses.address[near[0] : near[1]]], code.bytes_at)
    return None if comparison is None else _access_at(comparison, accesses)


def _access_at(address: int, accesses: AccessMap) -> CodeAccess | None:
    """Of an instruction with several accesses (``push (%rax)``) the one that is known, rather than the frame."""
    first, last = np.searchsorted(accesses.address, (np.uint64(address), np.uint64(address + 1)))
    here = sorted(
        accesses.accesses(range(int(first), int(last))),
        key=lambda one: (not one.outcome.resolved, one.outcome is AccessOutcome.STACK),
    )
    return here[0] if here else None


def show(compared: Sequence[Compared], listed: int) -> None:
    """The table of one recording, by samples and by distinct addresses."""
    counting = [one for one in compared if one.counts]
    untouched = [one for one in compared if one.nothing and one.named_by_perf]
    print(f"  {'':52}{'samples':>9}{'':9}{'addresses':>9}")
    _row("in files that were mapped", compared, compared)
    _row("touching only the function's frame", [one for one in compared if one.frame], compared)
    _row("  with a variable that perf names", [one for one in compared if one.frame and one.named_by_perf], compared)
    _row("reading the stack protector's word", [one for one in compared if one.protector], compared)
    _row("touching nothing, but named by perf", untouched, compared)
    _row("touching other memory", counting, compared)
    _show_resolved(counting)
    compiled = [one for one in counting if not one.assembly]
    _row("of these not in assembly", compiled, counting)
    _show_resolved(compiled)
    both = [one for one in counting if one.relation is not None]
    _show_agreement(both)
    _show_reasons(counting)
    _show_disagreements([one for one in both if one.relation and not one.relation.agrees], listed)


def _show_resolved(counting: Sequence[Compared]) -> None:
    _row("  resolved by linesmith", [one for one in counting if one.named_by_us], counting)
    _row("  resolved by perf", [one for one in counting if one.named_by_perf], counting)
    _row("  by perf alone", [one for one in counting if one.named_by_perf and not one.named_by_us], counting)
    _row("  by neither", [one for one in counting if not one.named_by_perf and not one.named_by_us], counting)
    _row("  (by perf as a record without a name)", [o for o in counting if o.perf.type == NAMELESS], counting)


def _show_agreement(both: Sequence[Compared]) -> None:
    _row("resolved by both", both, both)
    _row("  agreeing", [one for one in both if one.relation and one.relation.agrees], both)
    for kind in Relation:
        _row(f"    {kind.value}", [one for one in both if one.relation is kind], both)


def _row(title: str, some: Sequence[Compared], whole: Sequence[Compared]) -> None:
    samples, all_samples = (sum(one.perf.samples for one in group) for group in (some, whole))
    shares = (samples / all_samples if all_samples else 0, len(some) / len(whole) if whole else 0)
    print(f"  {title:52}{samples:9}{shares[0]:8.1%} {len(some):9}{shares[1]:8.1%}")


def _show_reasons(counting: Sequence[Compared]) -> None:
    """What became of those that we do not resolve, and of how many of them perf names a type."""
    missing = [one for one in counting if not one.named_by_us]
    for title, group in (("unresolved", missing), ("  of them named by perf", [o for o in missing if o.named_by_perf])):
        reasons = Counter(one.ours.outcome.value if one.ours else "no access seen" for one in group)
        print(f"  {title}: " + ", ".join(f"{reason} {count}" for reason, count in reasons.most_common()))


def _show_disagreements(some: Sequence[Compared], listed: int) -> None:
    for one in sorted(some, key=lambda one: -one.perf.samples)[:listed]:
        assert one.ours is not None
        print(
            f"  {one.perf.address:#x} {one.perf.symbol} ({one.perf.samples} samples): perf {one.perf.type}+"
            f"{one.perf.offset:#x} ({one.perf.field}), linesmith {one.ours.type}+{one.ours.offset:#x} "
            f"({one.ours.path}, {one.ours.outcome.value})"
        )


def show_cost(report: PerfReport, compared: Sequence[Compared]) -> None:
    """Seconds of processor time of both sides for this recording."""
    samples = sum(one.perf.samples for one in compared)
    typing = report.cpu - report.cpu_without_types
    print(f"  perf: {report.cpu:.1f} s CPU, {report.cpu_without_types:.1f} s of it without types: ", end="")
    print(f"{len(report.answers) / typing:.0f} addresses/s, {samples / typing:.0f} samples/s")
    for file in sorted({one.perf.file for one in compared}):
        addresses = [one.perf.address for one in compared if one.perf.file == file]
        print(f"  linesmith, {Path(file).name}: map made in {_seconds_to_map(Path(file)):.1f} s CPU, ", end="")
        opened, rate = _rates(Path(file), addresses)
        print(f"opened in {opened:.3f} s CPU, {rate / 1e6:.1f} million samples/s")


def _seconds_to_map(file: Path) -> float:
    """Processor time of a process that has nothing kept, children included."""
    with tempfile.TemporaryDirectory() as cache:
        before = os.times()
        subprocess.run(
            [str(Path(sys.executable).with_name("linesmith")), "access", str(file)],
            env={**os.environ, "LINESMITH_CACHE_DIR": cache},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def _rates(file: Path, addresses: Sequence[int]) -> tuple[float, float]:
    """(Seconds to open the kept map, samples per second): type, offset and kind of samples drawn from ``addresses``."""
    drawn = np.random.default_rng(0).choice(np.array(addresses, np.uint64), TIMED_SAMPLES)
    started = time.process_time()
    accesses = read_accesses(file).accesses
    opened = time.process_time()
    rows = resolve(drawn, accesses)
    places = accesses.place[rows]
    _ = accesses.place_type[places], accesses.place_offset[places], accesses.kind[rows], accesses.outcome[rows]
    return opened - started, TIMED_SAMPLES / (time.process_time() - opened)


if __name__ == "__main__":
    main()
