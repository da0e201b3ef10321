# SPDX-License-Identifier: GPL-2.0-or-later
"""How Kbuild would compile each unit of a prepared build: make says it without doing it, in seconds.

``make -n`` prints the recipes; ``-o prepare`` keeps it from asking for tools and libraries that only a whole build
needs. What it says is kept beside the build.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from linesmith.analyzer.base import durable
from linesmith.analyzer.errors import TreeError
from linesmith.patches.child import Command, started
from linesmith.patches.flags import Flags, from_words
from linesmith.patches.preparation import Preparation, Progress, locked
from linesmith.plugins.machines.child import Streams

DRY_SECONDS = 600
# Commands are long and alike.
_FAST = 1
# What Kbuild runs behind the compiler (scripts/Kbuild.include, cmd_and_fixdep).
_BEHIND = b"; scripts/basic/fixdep "
# The object and the source end the call; objtool may come behind them (scripts/Makefile.build, cmd_cc_o_c).
_OUTPUT = b" -c -o "


@dataclass(frozen=True, slots=True)
class UnitCommands:
    """The compiler calls of a build by unit, relative to the tree; ``directory`` is where they are made."""

    commands: Mapping[str, str]
    directory: Path
    outside: tuple[Path, ...]

    def flags(self, unit: str) -> Flags | None:
        """The flags of one unit, ``None`` where the build has no such unit; raises ``TreeError`` for no compiler."""
        command = self.commands.get(unit)
        if command is None:
            return None
        return from_words(shlex.split(command), self.directory / "Makefile", self.directory, self.outside)


def unit_commands(one: Preparation, progress: Progress) -> UnitCommands:
    """Every unit that make would compile, those of modules included; raises ``TreeError`` when it names none."""
    kept = one.units
    if not kept.is_file():
        with locked(one.root, progress):
            if not kept.is_file():  # who waited for it need not ask again
                _keep(one, progress)
    commands = msgspec.json.decode(zlib.decompress(kept.read_bytes()), type=dict[str, str])
    return UnitCommands(commands, one.output, (one.tree, one.root))


def _keep(one: Preparation, progress: Progress) -> None:
    progress(f"asking make how it compiles the units of {one.tree}")
    found = _asked(one)
    durable.replace(one.units, zlib.compress(msgspec.json.encode(found), _FAST))


def _asked(one: Preparation) -> dict[str, str]:
    said = one.root / "dry-run"
    _dry_run(one, said)
    found = dict(_units(one, said))
    if not found:
        raise TreeError(f"make names no unit that it would compile for {one.tree}; see {said}")
    said.unlink()
    return found


def _dry_run(one: Preparation, said: Path) -> None:
    """Write what ``make -n`` prints. Its status says nothing: a dry run misses what it did not make."""
    argv = ("make", "-n", "-k", "--no-print-directory", "-C", str(one.output), "-f", str(one.farm / "Makefile"))
    whole = (*argv, "-o", "prepare", *one.variables, "V=1")
    with said.open("wb") as output:
        streams = Streams(subprocess.DEVNULL, output, subprocess.STDOUT)
        with started(Command(whole, one.output, DRY_SECONDS, one.confinement()), streams) as process:
            try:
                process.wait(DRY_SECONDS)
            except subprocess.TimeoutExpired:
                raise TreeError(f"make -n did not end within {DRY_SECONDS} s in {one.output}") from None


def _units(one: Preparation, said: Path) -> Iterator[tuple[str, str]]:
    """Pairs of unit and compiler call."""
    begin = f"; {one.tools.compiler} ".encode()
    farm = f"{one.farm}/"
    with said.open("rb") as lines:
        for line in lines:
            end = line.rfind(_BEHIND)
            start = line.rfind(begin, 0, end) if end > 0 else -1
            call, _, ends = line[start + 2 : end].partition(_OUTPUT) if start >= 0 else (b"", b"", b"")
            command = (call + _OUTPUT + ends.partition(b";")[0]).decode("utf-8", "surrogateescape").strip()
            source = command.rpartition(" ")[2]
            if source.startswith(farm) and source.endswith(".c") and "-D__KERNEL__" in command:
                yield os.path.normpath(source.removeprefix(farm)), command
