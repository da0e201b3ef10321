# SPDX-License-Identifier: GPL-2.0-or-later
"""Frozen values of the model as text in the journal, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from linesmith.analyzer.errors import JournalError

T = TypeVar("T")


def encoded(value: object) -> str:
    """The value as JSON; paths become their text."""
    return msgspec.json.encode(value, enc_hook=_path_text).decode()


def decoded(text: object, kind: type[T]) -> T:
    """The value of this kind that ``encoded`` made the text of; raises ``JournalError``."""
    try:
        return msgspec.json.decode(str(text).encode(), type=kind, dec_hook=_path_of)
    except msgspec.MsgspecError as error:
        raise JournalError(
            f"the journal has no {kind.__name__} where one should be ({error}); begin another run"
        ) from error


def _path_text(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError


def _path_of(kind: type, value: object) -> Path:
    if issubclass(kind, Path) and isinstance(value, str):
        return Path(value)
    raise NotImplementedError
