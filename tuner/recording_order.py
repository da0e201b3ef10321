# SPDX-License-Identifier: GPL-2.0-or-later
"""What is recorded of a build: the steps of a benchmark, or a command of the plan, as one order for a recorder."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import Built, Evidence, Guest, Order, Step
from linesmith.plugins.machines.step_words import words_of

KERNEL = "kernel"


def is_kernel(built: Built) -> bool:
    """Whether the build is booted; any other is run."""
    return KERNEL in dict(built.products)


def unbuilt(products: Iterable[str], folder: Path) -> Built:
    """Stands for a build that is yet to be made, with its products in ``folder`` (which need not be there)."""
    return Built(folder.name, folder, tuple((name, folder / name) for name in products))


def steps_of_command(evidence: Evidence) -> tuple[Step, ...]:
    """The plan's command as a step."""
    return (Step(evidence.command, evidence.seconds),)


def product_of(built: Built, evidence: Evidence) -> Path:
    """The product with debug information; raises ``PlanError`` when it is none of the build's."""
    try:
        return built.product(evidence.elf)
    except KeyError:
        known = ", ".join(name for name, _ in built.products)
        raise PlanError(f"[record] elf = {evidence.elf!r} is no product of the build; name one of {known}") from None


def kernel_order(built: Built, evidence: Evidence, steps: Sequence[Step], seed: int, folder: Path) -> Order:
    """Boot the build and run all steps; the console's log goes into ``folder``."""
    guest = Guest(
        kernel=built.product(KERNEL),
        vmlinux=product_of(built, evidence),
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
    """Run the program of one step in a folder within ``folder``, where what it prints goes too."""
    product_of(built, evidence)
    order = _order(words_of(step, built), evidence, seed)
    return replace(order, environment=step.environment, output=folder / "output.txt", directory=folder / "place")


def _order(command: tuple[str, ...], evidence: Evidence, seed: int) -> Order:
    return Order(command, replace(evidence.emulation, seed=seed), seconds=evidence.seconds)


def _guest_words(step: Step, built: Built) -> tuple[str, ...]:
    """The words of a step with its environment and pinning, as a guest's busybox has them."""
    words = words_of(step, built)
    if step.cpus:
        words = ("taskset", f"{sum(1 << cpu for cpu in step.cpus):x}", *words)
    if step.environment:
        words = ("env", *(f"{name}={value}" for name, value in step.environment), *words)
    return words
