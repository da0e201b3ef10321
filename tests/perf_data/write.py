# SPDX-License-Identifier: GPL-2.0-or-later
"""Write perf.data files whose content is known.

    PYTHONPATH=tests python -m perf_data.write kernel VMLINUX -o perf.data --truth truth.json --samples 20000
        [--hardware intel|intel-aux|amd|arm|power]
        [--slide 0x...] [--seed 1] [--callchains] [--more] [--pages 1024]
    PYTHONPATH=tests python -m perf_data.write program PROGRAM -o perf.data ...

The kernel is a 6.1 with DWARF, the program is ``connections.c`` compiled (``program_scenario.compiled``).

The truth is JSON: for each member of each object how many samples of which kind, from which CPUs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perf_data import kernel_scenario, program_scenario, records
from perf_data.hand_made import with_more
from perf_data.hardware import ALL, Hardware
from perf_data.image import Kernel, Program
from perf_data.recording import Computer, Recording, write
from perf_data.records import Field, Mode
from perf_data.samples import HERE
from perf_data.scenario import Task, TruthRow, draw, truth


def main() -> None:
    options = _options()
    hardware = ALL[options.hardware]
    if options.what == "program":
        program = Program(options.elf.resolve(), options.slide or Program.slide)
        recording, rows = program_recording(program, hardware, options.samples, options.seed)
    else:
        kernel = Kernel(options.elf, options.slide or Kernel.slide)
        recording, rows = kernel_recording(
            kernel, hardware, options.samples, options.seed, options.callchains, options.pages
        )
    write(options.output, with_more(recording) if options.more else recording)
    if options.truth:
        options.truth.write_text(json.dumps([one.as_json() for one in rows], indent=1))


def kernel_recording(
    kernel: Kernel, hardware: Hardware, samples: int, seed: int = 1, callchains: bool = False, pages: int = 1024
) -> tuple[Recording, list[TruthRow]]:
    """The exec storm of ``kernel_scenario`` on that hardware, and the truth about it."""
    computer = Computer(machine=hardware.machine, cpu=hardware.cpu)
    touches = kernel_scenario.touches(kernel, computer, (1, 2) if callchains else (0,), pages)
    drawn = draw(touches, samples, hardware, seed)
    events = hardware.events
    if callchains:
        events = tuple(replace(one, more=one.more | Field.CALLCHAIN) for one in events)
    recording = Recording(
        events,
        drawn.samples,
        _chains(kernel),
        computer,
        head=records.kernel_map(*kernel.text) + _names(kernel_scenario.TASKS),
        builds=records.build_id(Mode.KERNEL, "[kernel.kallsyms]", kernel.build_id),
    )
    return recording, truth(drawn, touches, computer)


def program_recording(
    program: Program, hardware: Hardware, samples: int, seed: int = 1
) -> tuple[Recording, list[TruthRow]]:
    """The server of ``program_scenario`` on that hardware, and the truth about it."""
    computer = Computer(machine=hardware.machine, cpu=hardware.cpu)
    touches = program_scenario.touches(program, computer)
    drawn = draw(touches, samples, hardware, seed)
    recording = Recording(
        hardware.events,
        drawn.samples,
        computer=computer,
        head=_names(program_scenario.tasks(program)) + b"".join(one.record() for one in program.mappings),
        builds=records.build_id(Mode.USER, program.path or str(program.elf), program.build_id),
    )
    return recording, truth(drawn, touches, computer)


def _names(tasks: Sequence[Task]) -> bytes:
    return b"".join(records.comm(one.pid, one.tid, one.name) for one in tasks)


def _chains(kernel: Kernel) -> Sequence[tuple[int, ...]]:
    """Two stacks; the first entry says that kernel addresses follow, the second is the sampled instruction."""
    mapped, left = kernel.code("mmap_region", 0x60), kernel.code("do_exit", 0x90)
    return ((_KERNEL_CONTEXT, HERE, mapped, kernel.code("do_mmap", 0x40)), (_KERNEL_CONTEXT, HERE, left))


_KERNEL_CONTEXT = (1 << 64) - 128


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kernel", "program"))
    parser.add_argument("elf", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--hardware", choices=sorted(ALL), default="intel")
    parser.add_argument("--slide", type=lambda text: int(text, 0), default=None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--callchains", action="store_true")
    parser.add_argument("--more", action="store_true", help="another event, a guest, losses")
    parser.add_argument("--pages", type=int, default=1024, help="how many pages are of one CPU alone")
    return parser.parse_args()


if __name__ == "__main__":
    main()
