# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from an order to a profile in a file, and what is told on the way."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.cli.interruption import interruptible
from linesmith.analyzer.cli.output import check_destinations, deliver, deliver_parts
from linesmith.analyzer.cli.remarks import quiet, remark
from linesmith.analyzer.cli.waiting import CLEAR_LINE
from linesmith.analyzer.errors import NotRecorded, OutputError
from linesmith.analyzer.model import Order, Profile, Recorded
from linesmith.plugins.api import Recorder
from linesmith.plugins.machines.kvm import kvm_verdict
from linesmith.plugins.profiles.recorded import can_hold, encode_for
from linesmith.plugins.recordings.objects import with_objects
from linesmith.plugins.registry import recorder, snapshot_source

_SNAPSHOT_SOURCE = "drgn"
_RESULTS = ("output", "log", "trace")
_TRACE = "accesses.trace"
_PART_BYTES = 1 << 20
_RECORDERS = ("perf", "qemu-user", "qemu")


def choose(machine: str, order: Order) -> Recorder:
    """The recorder called ``machine``; for ``auto`` the first that can do it, and why is said on standard error.

    A kernel that was named is booted. Raises ``NotRecorded`` when none can.
    """
    if machine != "auto":
        return recorder(machine)
    if not order.guest and shutil.which(order.command[0]) is None:
        raise NotRecorded(f"{order.command[0]} is not found or cannot be run; name its path behind --")
    reasons = [kvm_verdict()] if order.guest else []
    for name in ("qemu",) if order.guest else _RECORDERS:
        found = recorder(name)
        obstacle = found.obstacle(order)
        if obstacle is None:
            passed_over = "".join(f"; {reason}" for reason in reasons)
            remark(f"recording on {name}{passed_over}")
            return found
        reasons.append(f"not on {name}: {obstacle}")
    raise NotRecorded(f"nothing here can record: {'; '.join(reasons)}")


def record(chosen: Recorder, order: Order, output: Path) -> Profile | None:
    """Carry out the order and write what comes back to ``output``; ``None`` for the text of another tool's report."""
    can_hold(output)
    check_destinations([place for place in (output, order.log, order.trace) if place], _RESULTS)
    with _scratch() as scratch, interruptible():
        trace = scratch / _TRACE if order.trace else None
        recorded = chosen.record(replace(order, trace=trace), scratch, _tell)
        profile = _with_objects(recorded, order)
        if trace and order.trace:
            _keep(trace, order.trace)
    deliver(encode_for(profile, output) if profile else recorded.report.encode("utf-8", "surrogateescape"), output)
    return profile


def _keep(trace: Path, destination: Path) -> None:
    """Write a trace, which may be larger than memory, where the user wants it."""
    with trace.open("rb") as file:
        deliver_parts(iter(partial(file.read, _PART_BYTES), b""), destination, ("trace",))


def summary(profile: Profile, output: Path, order: Order) -> str:
    """A few lines that say what was found, what was dropped, and where things are."""
    rows = [*(_sampled(profile) if profile.sampling else _simulated(profile))]
    rows += [f"note: {remark.text}" for remark in profile.remarks]
    rows.append(f"profile: {output}")
    if order.log and order.log.is_file():
        rows.append(f"log: {order.log}")
    if order.trace and order.trace.is_file():
        rows.append(f"trace: {order.trace}")
    return "\n".join(rows)


def _simulated(profile: Profile) -> Iterator[str]:
    apart = [line for line in profile.lines if line.apart]
    taken = sum(line.taken or 0 for line in profile.lines)
    counts = profile.recording.counts if profile.recording else ()
    dropped = ", ".join(f"{name} {value}" for name, value in counts if name.startswith("dropped_") and value)
    yield f"{len(profile.lines)} contended lines, {_hitm(profile)} HITM loads, {taken} lines taken by stores"
    if not profile.lines:
        yield "note: no two CPUs met on a line in the region; what child processes do is not followed"
    if apart:
        yield f"{len(apart)} of them set apart (timekeeping, scheduler): emulation makes them hot"
    yield f"dropped: {dropped or 'nothing'}"


def _sampled(profile: Profile) -> Iterator[str]:
    samples = profile.sampling.outcomes if profile.sampling else ()
    peers = sum((line.peer_local or 0) + (line.peer_remote or 0) for line in profile.lines)
    met = f"{peers} loads from peers" if profile.display == "peer" else f"{_hitm(profile)} HITM loads"
    yield f"{len(profile.lines)} contended lines, {met}"
    yield f"{sum(count for _, count in samples)} samples: {', '.join(f'{count} {one.value}' for one, count in samples)}"


def _hitm(profile: Profile) -> int:
    return sum((line.hitm_local or 0) + (line.hitm_remote or 0) for line in profile.lines)


def _with_objects(recorded: Recorded, order: Order) -> Profile | None:
    """The profile with the objects that lay on its lines, where there is a memory dump to look at."""
    if recorded.memory is not None:
        _tell("looking up objects in the memory dump")
    vmlinux = order.guest.vmlinux if order.guest else None
    return with_objects(recorded, vmlinux, partial(snapshot_source, _SNAPSHOT_SOURCE))


def _tell(progress: str) -> None:
    """What takes time is told to a person who waits, not to a log."""
    if sys.stderr.isatty() and not quiet():
        click.echo(f"{CLEAR_LINE}{visible(progress)} ...", err=True)


@contextmanager
def _scratch() -> Iterator[Path]:
    try:
        folder = TemporaryDirectory(prefix="linesmith-record-")
    except OSError as error:
        raise OutputError(
            f"no temporary directory can be made ({error.strerror}); set TMPDIR to one that can be written"
        ) from error
    with folder as name:
        yield Path(name)
