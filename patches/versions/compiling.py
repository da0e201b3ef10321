# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a file of two versions alike, in a compiler that reaches nothing but the sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.errors import VerificationFailed
from linesmith.analyzer.layouts import LayoutTable
from linesmith.patches.kbuild import for_unit
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.matrix.probing import probes
from linesmith.patches.probe import Compiled, Probe, compiled_with
from linesmith.patches.versions.versions import Versions


@dataclass(frozen=True, slots=True)
class Both:
    """The records of a file and of what it includes, in the first version and in the second."""

    file: str
    before: LayoutTable
    after: LayoutTable


def compiled_both(versions: Versions, environment: Environment, file: str, readable: Sequence[Path]) -> Both | str:
    """What a compiler makes of ``file``; why the first version cannot be compiled, if so.

    Raises ``VerificationFailed`` where only the second cannot.
    """
    tried = probes(environment.build, file, "", None)
    complaints: list[VerificationFailed] = []
    reason = ""
    for probe in tried:
        try:
            before = _compiled(environment, probe, versions.before, readable)
        except VerificationFailed as failed:
            reason = reason or str(failed)
            continue
        try:
            after = _compiled(environment, probe, versions.after, readable)
        except VerificationFailed as failed:
            complaints.append(failed)
            continue
        return Both(file, _own(before), _own(after))
    if complaints:
        raise VerificationFailed(f"in {versions.head}, {complaints[0]}; mend that, then its layouts can be judged")
    return f"{file} was not compiled: in {versions.base}, {reason}"


def _compiled(
    environment: Environment, probe: Probe, contents: Mapping[str, bytes | None], readable: Sequence[Path]
) -> Compiled:
    build = for_unit(environment.build, probe.unit)
    own = {file: text for file, text in contents.items() if not file.endswith((".rst", ".toml"))}
    return compiled_with(build, probe, own, readable)


def _own(found: Compiled) -> LayoutTable:
    """The records with files as the tree names them."""
    original = found.overlay.original
    return LayoutTable(replace(one, file=original(one.file) if one.file else one.file) for one in found.layouts)
