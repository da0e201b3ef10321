# SPDX-License-Identifier: GPL-2.0-or-later
"""What is recorded of a build: the steps of a benchmark, or a command of the plan, as one order for a recorder."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import Built, Evidence, Guest, Order, Step

KERNEL = "kernel"


def is_kernel(built: Built) -> bool:
    """Whether the build is booted; any other is run."""
    return KERNEL in dict(built.products)


def steps_of_command(evidence: Evidence) -> tuple[Step, ...]:
    """The plan's command as a step."""
    return (Step(evidence.command, evidence.seconds),)


def kernel_order(built: Built, evidence: Evidence, steps: Sequence[Step], seed: int, folder: Path) -> Order:
    """Boot the build and run all steps; the console's log goes into ``folder``."""
    guest = Guest(
        kernel=built.product(KERNEL),
        vmlinux=_product(built, evidence.elf),
        cpus=evidence.cpus,
        nodes=evidence.nodes,
        memory=evidence.memory,
        overlay=evidence.overlay,
        words=evidence.words,
    )
    words = [_guest_words(step, built) for step in steps]
    command = words[0] if len(words) == 1 else ("sh", "-c", " && ".join(map(shlex.join, words)))
    return replace(_order(command, evidence, seed), guest=guest, log=folder / "console.log")


def program_order(built: Built, evidence: Evidence, step: Step, seed: int, folder: Path) -> Order:
    """Run the program of one step in an empty folder within ``folder``, where what it prints goes too."""
    _product(built, evidence.elf)
    place = folder / "place"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    order = _order(_words(step, built), evidence, seed)
    return replace(order, environment=step.environment, output=folder / "output.txt", directory=place)


def _order(command: tuple[str, ...], evidence: Evidence, seed: int) -> Order:
    return Order(command, replace(evidence.emulation, seed=seed), seconds=evidence.seconds)


def _product(built: Built, name: str) -> Path:
    try:
        return built.product(name)
    except KeyError:
        known = ", ".join(name for name, _ in built.products)
        raise PlanError(f"[record] elf = {name!r} is no product of the build; name one of {known}") from None


def _words(step: Step, built: Built) -> tuple[str, ...]:
    """The words of a step with the paths of products; other braces are left alone."""
    words = step.command
    for name, path in built.products:
        words = tuple(word.replace(f"{{{name}}}", str(path)) for word in words)
    return words


def _guest_words(step: Step, built: Built) -> tuple[str, ...]:
    """The words of a step with its environment and pinning, as a guest's busybox has them."""
    words = _words(step, built)
    if step.cpus:
        words = ("taskset", f"{sum(1 << cpu for cpu in step.cpus):x}", *words)
    if step.environment:
        words = ("env", *(f"{name}={value}" for name, value in step.environment), *words)
    return words
