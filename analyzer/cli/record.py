# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith record``: run a command and write down which cache lines CPUs take from each other.

The options make an order; a recorder, chosen or the first that can, carries it out; the profile goes into a file, and a
summary to standard error.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linesmith.analyzer.base.errors import NotRecorded
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.group import interruptible
from linesmith.analyzer.cli.output import (
    check_destinations,
    deliver,
    deliver_parts,
    remark,
    say,
    scratch,
    tell_who_waits,
)
from linesmith.analyzer.cli.settings import is_given

if TYPE_CHECKING:
    from linesmith.analyzer.model import Order, Profile
    from linesmith.plugins.api import Recorder


_MOST_CPUS = 64
# Options of a machine to boot, by the names of their parameters.
_OF_A_KERNEL = {
    "vmlinux": "--vmlinux",
    "cpus": "--smp",
    "nodes": "--numa",
    "memory": "--memory",
    "initrd": "--initrd",
    "overlay": "--overlay",
    "append": "--append",
}
# Of a private cache; the plugin's own number.
_WAYS = 8
_SNAPSHOT_SOURCE = "drgn"
_RESULTS = ("output", "log", "trace")
_TRACE = "accesses.trace"
_PART_BYTES = 1 << 20
_RECORDERS = ("perf", "qemu-user", "qemu")
# Of these the one that has samples, and no trace.
_SAMPLES = "perf"


class _ByteSize(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes with an optional K, M or G, powers of 1024."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        from linesmith.tuner.run.plan_file import byte_size

        try:
            return byte_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


_OPTIONS = (
    click.option(
        "--on",
        "machine",
        metavar="[auto|qemu|qemu-user|perf]",
        default="auto",
        show_default=True,
        help="Where to run: a kernel in QEMU, a program in QEMU, or this machine with its PMU.",
    ),
    click.option("--kernel", metavar="FILE", type=options.EXISTING_FILE, help="Kernel to boot: a bzImage or Image."),
    click.option(
        "--vmlinux",
        metavar="ELF",
        type=options.EXISTING_FILE,
        help="The same kernel with symbols, to name code and objects.",
    ),
    click.option(
        "--smp",
        "cpus",
        metavar="N",
        type=click.IntRange(1, _MOST_CPUS),
        default=4,
        show_default=True,
        help="CPU count.",
    ),
    click.option(
        "--numa",
        "nodes",
        metavar="N",
        type=click.IntRange(1, _MOST_CPUS),
        default=1,
        show_default=True,
        help="Number of NUMA nodes.",
    ),
    click.option("--memory", metavar="SIZE", type=_ByteSize(), default="512M", show_default=True, help="Guest memory."),
    click.option("--initrd", metavar="FILE", type=options.EXISTING_FILE, help="Initial ramdisk to extend."),
    click.option("--overlay", metavar="DIR", type=options.DIRECTORY, help="Directory with files to add to the guest."),
    click.option("--append", metavar="WORDS", default="", help="Parameters to add to the kernel command line."),
    click.option(
        "--ring",
        type=click.Choice(["kernel", "user", "both"]),
        default="kernel",
        show_default=True,
        help="Privilege level to record when a kernel runs.",
    ),
    click.option("--line-bytes", type=click.Choice([64, 128, 256]), default=64, show_default=True, help="Line size."),
    click.option("--adjacent", is_flag=True, help="Simulate the adjacent-line prefetcher (128-byte pairs)."),
    click.option(
        "--cache",
        "cache_bytes",
        metavar="SIZE",
        type=_ByteSize(),
        default=0,
        show_default="without bound",
        help="Size of each CPU's private cache.",
    ),
    click.option(
        "--quantum",
        metavar="N",
        type=click.IntRange(1, 1 << 30),
        default=1000,
        show_default=True,
        help="Instructions per turn of a CPU.",
    ),
    click.option(
        "--interleave",
        type=click.Choice(["exact", "turns"]),
        default="exact",
        show_default=True,
        help="Run the CPUs in turns on one host thread (reproducible), or each on a thread of its own.",
    ),
    click.option(
        "--seed", metavar="N", type=click.IntRange(0, (1 << 63) - 1), default=1, show_default=True, help="Random seed."
    ),
    click.option("--from", "first", metavar="FUNCTION", help="Start recording at the first call of FUNCTION."),
    click.option("--to", "last", metavar="FUNCTION", help="Stop recording when FUNCTION is called."),
    click.option(
        "--trace",
        metavar="FILE",
        type=options.NEW_FILE,
        help="File for the trace of accesses, for replay.  [default: PROFILE.trace]",
    ),
    click.option("--log", metavar="FILE", type=options.NEW_FILE, help="Guest console log.  [default: PROFILE.log]"),
    click.option(
        "--timeout",
        "seconds",
        metavar="SECONDS",
        type=click.IntRange(1, 1 << 20),
        default=600,
        show_default=True,
        help="Time limit of the run.",
    ),
    click.option("--dry-run", is_flag=True, help="Print the commands without running them."),
)


def record_options(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options on a command, in their order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(context_settings={"allow_interspersed_args": False})
@record_options
@click.option(
    "-o",
    "--output",
    metavar="PROFILE",
    required=True,
    type=options.NEW_FILE,
    help="Write the profile to FILE (replaced if it exists); as JSON if the name ends in .json.",
)
@click.argument("command_", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(command_: tuple[str, ...], output: Path, machine: str, dry_run: bool, **given: object) -> None:
    """Run CMD and record the cache lines that CPUs contend for.

    No PMU is needed: QEMU emulates the CPUs, and a cache simulation counts every miss. For a program built with -g:

    \b
        linesmith record -o profile -- ./prog args

    For a kernel that runs CMD (a program of this machine, a busybox applet or a shell command):

    \b
        linesmith record --kernel vmlinuz --vmlinux vmlinux -o profile -- sh -c 'ls | wc'

    Then run `linesmith hot ELF profile`, where ELF is the program or the vmlinux. The exit status is that of CMD (128
    and the signal that killed it); the profile is written where the recording can be read, else the status is 2.
    """  # noqa: D301 - click's mark for lines to leave alone
    from linesmith.tuner.replay.replayer import place_of_trace

    ordered = order(command_, output, machine, given)
    recorder = choose(machine, ordered)
    if ordered.trace is None and recorder.name != _SAMPLES:
        ordered = replace(ordered, trace=place_of_trace(output))
    if dry_run:
        click.echo(visible("\n".join(recorder.commands(ordered))))
        return
    profile, status = record(recorder, ordered, output)
    say(summary(profile, output, ordered) if profile else f"profile: {output}")
    if status:
        how = f"ended with status {status}" if status > 0 else f"was killed by signal {-status}; the profile ends there"
        remark(f"{command_[0]} {how}")
        click.get_current_context().exit(status if status > 0 else 128 - status)


def order(command: tuple[str, ...], output: Path, machine: str, given: Mapping[str, Any]) -> Order:
    """The order that the options make; raises ``click.UsageError`` for options that contradict each other."""
    from linesmith.analyzer.model import Emulation, Guest, Order

    if given["cpus"] % given["nodes"]:
        raise click.UsageError(f"--smp {given['cpus']} cannot be divided among --numa {given['nodes']}")
    if given["last"] and not given["first"]:
        raise click.UsageError("--to needs --from")
    if given["kernel"] is None and any(map(is_given, _OF_A_KERNEL)):
        raise click.UsageError(f"{', '.join(_OF_A_KERNEL.values())} need a --kernel to boot")
    if given["kernel"] is not None and machine in ("qemu-user", "perf"):
        raise click.UsageError(f"--on {machine} runs under the kernel of this machine; leave out --kernel")
    least, size = _WAYS * given["line_bytes"], given["cache_bytes"]
    if size and (size < least or size & (size - 1)):
        raise click.UsageError(f"--cache must be a power of two of at least {least} bytes, such as 32K or 1M")
    guest = None
    if given["kernel"] is not None:
        named = {one.name: given[one.name] for one in fields(Guest) if one.name in given}
        guest = Guest(**named, words=tuple(given["append"].split()))
    return Order(
        command=command,
        emulation=Emulation(**{one.name: given[one.name] for one in fields(Emulation)}),
        guest=guest,
        log=(given["log"] or output.with_name(f"{output.name}.log")).absolute(),
        trace=given["trace"],
        seconds=given["seconds"],
    )


def choose(machine: str, order: Order) -> Recorder:
    """The recorder called ``machine``; for ``auto`` the first that can do it, and why is printed on standard error.

    A kernel that was named is booted. Raises ``NotRecorded`` when none can.
    """
    from linesmith.plugins.machines.system import kvm_verdict
    from linesmith.plugins.registry import recorder

    if machine != "auto":
        return recorder(machine)
    if not order.guest and shutil.which(order.command[0]) is None:
        raise NotRecorded(f"{order.command[0]} is not found or cannot be run; give its path after --")
    reasons = [kvm_verdict()] if order.guest else []
    for name in ("qemu",) if order.guest else _RECORDERS:
        found = recorder(name)
        obstacle = found.obstacle(order)
        if obstacle is None:
            passed_over = "".join(f"; {reason}" for reason in reasons)
            remark(f"recording on {name}{passed_over}")
            return found
        reasons.append(f"not on {name}: {obstacle}")
    raise NotRecorded(f"no recorder works on this machine: {'; '.join(reasons)}")


def record(recorder: Recorder, order: Order, output: Path) -> tuple[Profile | None, int]:
    """Carry out the order and write what comes back to ``output``; no profile for the text of another tool's report.

    The number is the command's status, negative for the signal that killed it.
    """
    from linesmith.plugins.profiles.formats import encode_for
    from linesmith.plugins.recording.text import refuse_unnamed_objects, with_objects
    from linesmith.plugins.registry import snapshot_source
    from linesmith.tuner.replay.replayer import with_trace

    check_destinations([place for place in (output, order.log, order.trace) if place], _RESULTS)
    vmlinux = order.guest.vmlinux if order.guest else None
    refuse_unnamed_objects(vmlinux, snapshot_source(_SNAPSHOT_SOURCE))
    with scratch("linesmith-record-", "cannot create a temporary directory") as folder, interruptible():
        trace = folder / _TRACE if order.trace else None
        recorded = recorder.record(replace(order, trace=trace), folder, tell_who_waits)
        dump = " and looking up objects in the memory dump" if recorded.memory is not None else ""
        tell_who_waits(f"the run has ended; reading its counts{dump}")
        profile = with_objects(recorded, vmlinux, partial(snapshot_source, _SNAPSHOT_SOURCE))
        if trace and order.trace and trace.is_file():
            tell_who_waits(f"saving the trace, {trace.stat().st_size >> 20} MiB")
            profile = with_trace(profile, trace) if profile else None
            with trace.open("rb") as file:  # it may be larger than memory
                deliver_parts(iter(partial(file.read, _PART_BYTES), b""), order.trace, ("trace",))
    deliver(encode_for(profile, output) if profile else recorded.report.encode("utf-8", "surrogateescape"), output)
    return profile, recorded.status


def summary(profile: Profile, output: Path, order: Order) -> str:
    """A few lines that say what was found, what was dropped, and where things are."""
    rows = [*(_sampled(profile) if profile.sampling else _simulated(profile))]
    rows += [f"note: {remark.text}" for remark in profile.remarks]
    rows.append(f"profile: {output}")
    if order.log and order.log.is_file():
        rows.append(f"log: {order.log}")
    if order.trace and profile.recording and profile.recording.trace:
        rows.append(f"trace: {order.trace}")
    return "\n".join(rows)


def _simulated(profile: Profile) -> Iterator[str]:
    from linesmith.analyzer.attribution.variables import lines_apart

    apart = lines_apart(profile)
    taken = sum(line.taken or 0 for line in profile.lines)
    counts = profile.recording.counts if profile.recording else ()
    dropped = ", ".join(f"{name} {value}" for name, value in counts if name.startswith("dropped_") and value)
    yield f"{len(profile.lines)} contended lines, {_hitm(profile)} HITM loads, {taken} lines invalidated by stores"
    if not profile.lines:
        yield "note: no cache line was shared by two CPUs in the region; child processes are not recorded"
    if apart:
        yield f"{len(apart)} of them of {', '.join(sorted(set(apart.values())))}: emulation makes them hotter"
    yield f"dropped: {dropped or 'nothing'}"


def _sampled(profile: Profile) -> Iterator[str]:
    samples = profile.sampling.outcomes if profile.sampling else ()
    peers = sum((line.peer_local or 0) + (line.peer_remote or 0) for line in profile.lines)
    met = f"{peers} loads from peers" if profile.display == "peer" else f"{_hitm(profile)} HITM loads"
    yield f"{len(profile.lines)} contended lines, {met}"
    yield f"{sum(count for _, count in samples)} samples: {', '.join(f'{count} {one.value}' for one, count in samples)}"


def _hitm(profile: Profile) -> int:
    return sum((line.hitm_local or 0) + (line.hitm_remote or 0) for line in profile.lines)
