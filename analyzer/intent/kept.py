# SPDX-License-Identifier: GPL-2.0-or-later
"""The intent file of a user, to which types are added: it is replaced as a whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.base import durable
from linesmith.analyzer.errors import IntentError, OutputError
from linesmith.analyzer.intent.adding import added
from linesmith.analyzer.intent.reading import MOST_BYTES
from linesmith.analyzer.intent.regular_file import read_regular
from linesmith.analyzer.model import TypeIntent


def add_to(path: Path, wanted: Sequence[TypeIntent]) -> None:
    """Add the types to the file at ``path``, or make it; what it has stays to the byte.

    Raises ``IntentError`` where it is no intent file or has an entry for one of the types, ``OutputError``.
    """
    known = read_regular(path, MOST_BYTES) if path.exists() or path.is_symlink() else b""
    try:
        text = known.decode()
    except UnicodeDecodeError:
        raise IntentError(f"{path} is no UTF-8; save it as UTF-8, or name another file") from None
    put(path, added(text, wanted, str(path)))


def put(path: Path, text: str) -> None:
    """Make ``text`` the whole of the file at ``path``, which keeps its mode; raises ``OutputError``."""
    try:
        durable.replace(path, text.encode())
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; name another file") from None
