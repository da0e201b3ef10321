# SPDX-License-Identifier: GPL-2.0-or-later
"""The order that the options of ``linesmith record`` make."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from linesmith.analyzer.model import Emulation, Guest, Order

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


def order(command: tuple[str, ...], output: Path, machine: str, given: Mapping[str, Any]) -> Order:
    """The order that the options make; raises ``click.UsageError`` for options that contradict each other."""
    if given["cpus"] % given["nodes"]:
        raise click.UsageError(f"--smp {given['cpus']} cannot be divided among --numa {given['nodes']}")
    if given["last"] and not given["first"]:
        raise click.UsageError("--to needs --from: a region that ends must begin")
    if given["kernel"] is None and any(map(_was_given, _OF_A_KERNEL)):
        raise click.UsageError(f"{', '.join(_OF_A_KERNEL.values())} go with a --kernel to boot")
    if given["kernel"] is not None and machine in ("qemu-user", "perf"):
        raise click.UsageError(f"--on {machine} runs under the kernel of this machine; leave --kernel away")
    return Order(
        command=command,
        emulation=_emulation(given),
        guest=_guest(given),
        log=(given["log"] or output.with_name(f"{output.name}.log")).absolute(),
        trace=given["trace"],
        seconds=given["seconds"],
    )


def _was_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def _emulation(given: Mapping[str, Any]) -> Emulation:
    least = _WAYS * int(given["line_bytes"])
    size = given["cache_bytes"]
    if size and (size < least or size & (size - 1)):
        raise click.UsageError(f"--cache is a power of two from {least} bytes on, such as 32K or 1M")
    return Emulation(
        ring=given["ring"],
        line_bytes=int(given["line_bytes"]),
        adjacent=given["adjacent"],
        cache_bytes=given["cache_bytes"],
        quantum=given["quantum"],
        interleave=given["interleave"],
        seed=given["seed"],
        first=given["first"],
        last=given["last"],
    )


def _guest(given: Mapping[str, Any]) -> Guest | None:
    """The machine, where a kernel was named."""
    if given["kernel"] is None:
        return None
    return Guest(
        kernel=given["kernel"],
        vmlinux=given["vmlinux"],
        cpus=given["cpus"],
        nodes=given["nodes"],
        memory=given["memory"],
        initrd=given["initrd"],
        overlay=given["overlay"],
        words=tuple(given["append"].split()),
    )
