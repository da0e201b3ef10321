# SPDX-License-Identifier: GPL-2.0-or-later
"""Compilers under their own names that add what a build must have, whatever the project's makefiles say.

A placebo is the same source with other code alignment: each function, loop and jump target may begin elsewhere, so
code and data of the program lie elsewhere, while the layout of every record is the compiler's as before. See
``-falign-functions`` in gcc(1).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from linesmith.analyzer.base.durable import replace

_COMPILER = re.compile(r"(cc|c\+\+|gcc|g\+\+|clang|clang\+\+)(-\d+)?")
_OF_FUNCTIONS = (32, 64, 128)
_OF_LOOPS = (1, 8, 16, 32, 64)


def salt_flags(salt: int) -> tuple[str, ...]:
    """The compiler flags of a placebo: 15 sets that differ, then again; none for salt 0."""
    if not salt:
        return ()
    loops, functions = divmod(salt - 1, len(_OF_FUNCTIONS))
    return (
        f"-falign-functions={_OF_FUNCTIONS[functions]}",
        f"-falign-loops={_OF_LOOPS[loops % len(_OF_LOOPS)]}",
    )


def wrap(folder: Path, compiler: str, flags: Sequence[str]) -> None:
    """Put a wrapper that adds ``flags`` for every compiler of ``PATH``, and for ``compiler``, into ``folder``.

    Raises ``OSError``.
    """
    folder.mkdir(exist_ok=True)
    ccache = shutil.which("ccache")
    for name, program in _compilers(folder, compiler).items():
        words = [*((ccache,) if ccache else ()), program]
        text = f'#!/bin/sh\nexec {shlex.join(words)} "$@" {shlex.join(flags)}\n'
        wrapper = folder / name
        if not wrapper.is_file() or wrapper.read_text() != text:
            replace(wrapper, text.encode(), 0o777)


def _compilers(own: Path, compiler: str) -> Mapping[str, str]:
    """Name and path of every compiler: the first of its name in ``PATH``, past ccache's own links.

    A ``compiler`` that is asked for stands for the usual ones, which makefiles name.
    """
    found: dict[str, str] = {}
    if chosen := shutil.which(compiler) if compiler else None:
        found = dict.fromkeys((Path(compiler).name, "cc", "gcc"), chosen)
    for folder in map(Path, os.get_exec_path()):
        if folder == own or folder.name == "ccache" or not folder.is_dir():
            continue
        for path in sorted(folder.iterdir()):
            if _COMPILER.fullmatch(path.name) and os.access(path, os.X_OK):
                found.setdefault(path.name, str(path))
    return found
