# SPDX-License-Identifier: GPL-2.0-or-later
"""One access as a person judges it: what the map says, the source around the line, the instructions around it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from access.expressions import Expression, relative

from linesmith.analyzer.model import CodeAccess

LINES_AROUND = 3
BYTES_BEHIND = 16
INSTRUCTIONS = 32


@dataclass(frozen=True, slots=True)
class Scene:
    """The file whose code is looked at, and the directories where its sources lie."""

    elf: Path
    roots: Sequence[str]


def described(access: CodeAccess, expressions: Sequence[Expression], scene: Scene) -> str:
    """Everything that a ruling by hand takes, as text."""
    width = f"{access.width} bytes" if access.width else "width not known"
    chain = f" through {' > '.join(access.inlined)}" if access.inlined else ""
    reached = ", ".join(dict.fromkeys(expression.text for expression in expressions))
    head = (
        f"{access.address:#x} {access.function}+{access.into or 0:#x}{chain}",
        f"map: {access.place} (+{access.offset}) {access.kind}, {width}, {access.outcome} {access.variable or ''}",
        f"source: {access.file}:{access.line}",
        f"line reaches: {reached}",
    )
    return "\n".join((*head, *_source(access, scene), *_code(access, scene)))


def _source(access: CodeAccess, scene: Scene) -> list[str]:
    if not access.line:
        return []
    lines = _lines(relative(access.file, scene.roots), tuple(scene.roots))
    first = max(access.line - LINES_AROUND, 1)
    shown = lines[first - 1 : access.line + LINES_AROUND]
    return [f"{'>' if first + n == access.line else ' '}{first + n:6} {text}" for n, text in enumerate(shown)]


@lru_cache(maxsize=64)
def _lines(name: str, roots: tuple[str, ...]) -> list[str]:
    for path in (Path(name), *(Path(root) / name for root in roots)):
        if path.is_file():
            return path.read_text(errors="replace").splitlines()
    return []


def _code(access: CodeAccess, scene: Scene) -> list[str]:
    start = access.address - access.into if access.into is not None else access.address
    command = ["objdump", "-d", "--no-show-raw-insn", f"--start-address={start:#x}"]
    command += [f"--stop-address={access.address + BYTES_BEHIND:#x}", str(scene.elf)]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    shown = [line for line in printed if ":\t" in line][-INSTRUCTIONS:]
    wanted = f"{access.address:x}:"
    return [("=>" if line.strip().startswith(wanted) else "  ") + line for line in shown]
