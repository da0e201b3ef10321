# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols that plugins implement; a plugin imports this module, the model and the errors, nothing else."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from linesmith.analyzer.model import Profile


@runtime_checkable
class ProfileSource(Protocol):
    """A reader of one kind of profile text."""

    name: str

    def recognises(self, head: str) -> bool:
        """Whether ``head`` (up to 64 KiB of the text) looks like this kind of profile."""

    def read(self, text: str, source: str) -> tuple[Profile, ...]:
        """Every report found in ``text``, in order; ``source`` names the file in messages.

        Raises ``ProfileError`` when the text holds no shared line, with the first line that was not understood.
        """
