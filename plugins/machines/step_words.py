# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a step as they are run and as they are shown."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from pathlib import Path

from linesmith.analyzer.errors import GuestFailed
from linesmith.analyzer.model import Built, Step


def words_of(step: Step, built: Built) -> tuple[str, ...]:
    """The step's command with each ``{product}`` replaced by that product's path; other braces stay as they are.

    A program that is named by a relative path is one of where we are: a step runs in a folder of its own.
    """
    places = {f"{{{name}}}": str(path.absolute()) for name, path in built.products}
    program, *words = (_replaced(word, places) for word in step.command)
    return (str(Path(program).absolute()) if "/" in program else program, *words)


def shown(step: Step, words: tuple[str, ...]) -> str:
    """The words of a step as for a shell, with its environment and the CPUs that it is pinned to."""
    environment = tuple(f"{name}={value}" for name, value in step.environment)
    pinned = ("taskset", "-c", cpu_list(step.cpus)) if step.cpus else ()
    return shlex.join((*(("env", *environment) if environment else ()), *pinned, *words))


def cpu_list(cpus: tuple[int, ...]) -> str:
    """CPUs as taskset(1) takes them."""
    return ",".join(map(str, cpus))


def name_of(step: Step, number: int) -> str:
    """What a message calls a step; steps count from 1."""
    return f"step {number} ({shlex.join(step.command)[:80]})"


def check_cpus(step: Step, number: int, usable: Collection[int]) -> None:
    """Raises ``GuestFailed`` when the step is to run on a CPU that is not there to be used."""
    for cpu in step.cpus:
        if cpu not in usable:
            there = ", ".join(map(str, sorted(usable)))
            raise GuestFailed(f"{name_of(step, number)} is to run on CPU {cpu}, but there are {there}; pin it to those")


def _replaced(word: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        word = word.replace(name, path)
    return word
