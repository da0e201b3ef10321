# SPDX-License-Identifier: GPL-2.0-or-later
"""A change of a source tree as steps that build one by one, each a patch with its message."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model.refusal import Refusal


@dataclass(frozen=True, slots=True)
class FileChange:
    """``file``, relative to the tree, with its bytes before and after a step; ``None`` where there is no file."""

    file: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class SeriesStep:
    """One patch of a series: its ``message`` (subject, empty line, body; no trailers) and the files it changes."""

    message: str
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class PatchSeries:
    """Steps in the order in which they apply; the tree builds after each.

    ``cover`` is the text of a cover letter, its first line the subject; empty where a single patch needs none.
    ``refusals`` are places that a person has to look at; ``notes`` are for who runs the command.
    """

    steps: tuple[SeriesStep, ...]
    cover: str = ""
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
