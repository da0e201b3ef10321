# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a build runs: the machine that is asked for, the commands it runs in one boot, and what they printed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# A setting of a plugin, as TOML has it.
Setting = str | int | float | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """A machine: ``name`` is that of the plugin; ``memory`` is in bytes, ``seconds`` bounds a boot with its commands.

    ``settings`` are the plugin's own (the host of ``ssh``, words for the kernel's command line).
    """

    name: str
    cpus: int = 4
    nodes: int = 1
    memory: int = 1 << 30
    seconds: int = 600
    overlay: Path | None = None
    settings: tuple[tuple[str, Setting], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A command to run, without a shell; ``{name}`` in a word is the path of the build's product of that name.

    ``cpus`` pin it, none leave it free. ``silent`` marks a warm-up or a preparation, whose output is not parsed.
    """

    command: tuple[str, ...]
    seconds: int = 300
    cpus: tuple[int, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """How a step ended: ``output`` is what it wrote to standard output, ``seconds`` its wall time on its machine."""

    step: Step
    status: int
    output: str
    errors: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Session:
    """One boot, or one sitting at a machine that runs already: its steps in order, and what it says of itself."""

    done: tuple[Done, ...]
    release: str = ""
    facts: tuple[tuple[str, str], ...] = ()
