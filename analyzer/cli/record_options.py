# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ``linesmith record``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_NEW_FILE = click.Path(dir_okay=False, path_type=Path)
_MOST_CPUS = 64


class _Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes with an optional K, M or G, powers of 1024."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        from linesmith.tuner.byte_size import byte_size

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
        help="Where to run: a whole kernel in QEMU, one program in QEMU, or this machine's PMU.",
    ),
    click.option("--kernel", metavar="FILE", type=_FILE, help="Kernel to boot: a bzImage or Image."),
    click.option("--vmlinux", metavar="ELF", type=_FILE, help="The same kernel with symbols: names code and objects."),
    click.option(
        "--smp", "cpus", metavar="N", type=click.IntRange(1, _MOST_CPUS), default=4, show_default=True, help="CPUs."
    ),
    click.option(
        "--numa",
        "nodes",
        metavar="N",
        type=click.IntRange(1, _MOST_CPUS),
        default=1,
        show_default=True,
        help="NUMA nodes, which divide the CPUs.",
    ),
    click.option(
        "--memory", metavar="SIZE", type=_Size(), default="512M", show_default=True, help="Memory of the guest."
    ),
    click.option("--initrd", metavar="FILE", type=_FILE, help="First file system to build on."),
    click.option("--overlay", metavar="DIR", type=_FOLDER, help="Files to add to the guest, as they lie below DIR."),
    click.option("--append", metavar="WORDS", default="", help="More words for the kernel's command line."),
    click.option(
        "--ring",
        type=click.Choice(["kernel", "user", "both"]),
        default="kernel",
        show_default=True,
        help="Whose accesses to follow in a whole machine.",
    ),
    click.option(
        "--line-bytes", type=click.Choice(["64", "128", "256"]), default="64", show_default=True, help="Cache line."
    ),
    click.option("--adjacent", is_flag=True, help="Each miss also fetches the other line of its pair."),
    click.option(
        "--cache",
        "cache_bytes",
        metavar="SIZE",
        type=_Size(),
        default=0,
        show_default="without bound",
        help="Private cache of a CPU.",
    ),
    click.option(
        "--quantum",
        metavar="N",
        type=click.IntRange(1, 1 << 30),
        default=1000,
        show_default=True,
        help="Instructions that a CPU runs before the next one does.",
    ),
    click.option(
        "--interleave",
        type=click.Choice(["exact", "turns"]),
        default="exact",
        show_default=True,
        help="One host thread, repeatable; or a thread for each CPU.",
    ),
    click.option(
        "--seed", metavar="N", type=click.IntRange(0, (1 << 63) - 1), default=1, show_default=True, help="Of the turns."
    ),
    click.option("--from", "first", metavar="FUNCTION", help="Record from the first call of FUNCTION on."),
    click.option("--to", "last", metavar="FUNCTION", help="Stop where FUNCTION is called."),
    click.option("--trace", metavar="FILE", type=_NEW_FILE, help="Keep a trace for what-if replays."),
    click.option("--log", metavar="FILE", type=_NEW_FILE, help="Console of the guest.  [default: PROFILE.log]"),
    click.option(
        "--timeout",
        "seconds",
        metavar="SECONDS",
        type=click.IntRange(1, 1 << 20),
        default=600,
        show_default=True,
        help="Give up after so long.",
    ),
    click.option("--dry-run", is_flag=True, help="Show the commands instead of running them."),
)


def record_options(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options on a command, in their order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
