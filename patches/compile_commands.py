# SPDX-License-Identifier: GPL-2.0-or-later
"""How a program was compiled, as ``compile_commands.json`` says."""

from __future__ import annotations

from pathlib import Path

import msgspec

from linesmith.analyzer.errors import TreeError
from linesmith.patches.source_bytes import source_bytes

NAME = "compile_commands.json"
_MOST_BYTES = 256 << 20


class Entry(msgspec.Struct, frozen=True):
    """One compilation: ``arguments``, or a ``command`` for a shell.

    Source: clang.llvm.org/docs/JSONCompilationDatabase.html.
    """

    directory: str
    file: str
    arguments: tuple[str, ...] = ()
    command: str = ""


def entries(database: Path) -> tuple[Entry, ...]:
    """Every compilation of the file; raises ``TreeError`` for one that is too large or cannot be read."""
    try:
        if database.stat().st_size > _MOST_BYTES:
            raise TreeError(f"{database} is larger than {_MOST_BYTES >> 20} MiB; make one of fewer units")
        text = source_bytes(database.parent, database.name, _MOST_BYTES)
        if text is None:
            raise TreeError(f"{database} is no file, or a link out of its folder, and is not read; name its own folder")
        return msgspec.json.decode(text, type=tuple[Entry, ...])
    except (OSError, RecursionError, msgspec.DecodeError) as error:
        raise TreeError(f"{database} cannot be read ({error}); make it anew") from error
