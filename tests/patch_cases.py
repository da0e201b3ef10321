# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates and edits on records given as text, for the tests of ``linesmith.patches``."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from linesmith.analyzer.model import (
    Candidate,
    Finding,
    Layout,
    Member,
    Move,
    MoveKind,
    RecordKind,
    Residual,
    Triage,
    TriageKind,
)
from linesmith.patches.edit.edit import Attributes, edit
from linesmith.patches.source.atoms import Atom, scope
from linesmith.patches.source.pieces import SourceText
from linesmith.patches.source.records import records_named

FILE = "include/linux/one.h"


def atoms_of(source: bytes, name: str = "s") -> list[Atom]:
    """The atoms of the only record called ``name``."""
    (record,) = records_named(source, name)
    return list(scope(source, record)[0].atoms)


def behind(member: str, after: str | None) -> Move:
    """``member`` goes behind ``after``."""
    return Move(MoveKind.MOVE, member, after=after)


def layout(name: str, members: Sequence[tuple[str, int, int]], size: int = 0, **known: object) -> Layout:
    """A struct of (name, offset, size) triples."""
    placed = tuple(Member(member, "int", member, offset, bytes_) for member, offset, bytes_ in members)
    return Layout(1, name, RecordKind.STRUCT, size, placed, 8, **known)  # type: ignore[arg-type]


def ordered(names: str) -> Layout:
    """A layout that only says which members there are, in which order."""
    return layout("s", [(name, 0, 0) for name in names.split()])


def candidate(before: Layout, after: Layout, moves: Sequence[Move], residuals: Sequence[Residual] = ()) -> Candidate:
    """A candidate whose figures do not matter."""
    return Candidate(before.name, before, after, tuple(moves), tuple(residuals), 1)


def edited(
    source: bytes,
    moves: Sequence[Move],
    order: str,
    spelling: Attributes | None = None,
    remarks: Mapping[str, str] | None = None,
    file: str = FILE,
) -> bytes:
    """The file after the moves, which bring the members of the ELF file into ``order``."""
    (record,) = records_named(source, "s")
    names = [name for atom in atoms_of(source) for name in (*atom.names, *atom.inner) if name in order.split()]
    proposal = candidate(ordered(" ".join(names)), ordered(order), moves)
    return edit(SourceText(source, file), record, proposal, spelling, remarks)


def finding() -> Finding:
    """A hot line that names no member."""
    triage = Triage((TriageKind.FALSE_SHARING,), (), "lock and root share a line, and lock is written")
    return Finding(0, None, 0.5, 200, 100, (), (), triage)


def write_files(root: Path, files: dict[str, str]) -> Path:
    """A tree of files below ``root``."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return root


def git(tree: Path, *arguments: str) -> str:
    """What git prints in the tree, where Ann Other works."""
    who = ("-c", "user.name=Ann Other", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *arguments], cwd=tree, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout


def stamps(tree: Path) -> dict[str, tuple[int, bytes]]:
    """When each file of the tree was written, and its bytes."""
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in tree.rglob("*") if path.is_file()}
