# SPDX-License-Identifier: GPL-2.0-or-later
"""What documentation says of a record's members: the tables of Documentation/networking/net_cachelines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DocumentedMember:
    """A row: the member's ``name``, and how sending (``tx``) and receiving (``rx``) use it, empty where not at all."""

    name: str
    line: int
    tx: str = ""
    rx: str = ""


@dataclass(frozen=True, slots=True)
class GroupDoc:
    """The table of one record, called without ``struct``; ``line`` of ``file`` is where it begins."""

    record: str
    file: str
    line: int
    members: tuple[DocumentedMember, ...] = ()
